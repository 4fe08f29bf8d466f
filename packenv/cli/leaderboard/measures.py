"""What policies are compared by: their mean queue or, on a table of whole jobs, three measures of these."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """`key`: its field in `packenv.runs.measured.Measured`; less of it is better."""

    key: str
    name: str
    is_time: bool = False


QUEUE = Measure("mean_queue", "mean queue")
COMPLETION = Measure("mean_completion", "mean completion", is_time=True)
OF_JOBS = (COMPLETION, Measure("makespan", "makespan", is_time=True), Measure("unfairness", "unfairness"))
BEST = "best"
"""Stands for the policy with the least mean of the measure, as a reference."""
