"""Evolve `agent:analytics` again: jobs of up to three phases that read, shuffle or compute.

    python agents/analytics.py --out analytics            # 90 million tasks: a quarter of an hour on one core
    python agents/analytics.py --out analytics --quick    # a first look

The agent fills one server at a time: it chooses the group of identical tasks of a job that the next one starts from, or
passes. A score is a weighted sum of the group's features; the weights start as those of Tetris. CMA-ES draws 14 candidates a
generation, lets each schedule the same eight tables, and moves towards the half whose jobs end soonest.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import evolve_on_jobs
from packenv.learning.settings import Settings

SETTINGS = Settings(
    packenv.workload("analytics"),
    environment="JobFill",
    network="sum",
    reward="completion",
    samples=90_000_000,  # tasks that candidates start, in all
)
FIRST_WEIGHTS = {"alignment": 1.0, "work": -2.0, "waits": -3.0}
AGAINST = "tetris:f=0,m=2"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Evolve, save, and show the agent's mean completion time beside that of Tetris."""
    evolve_on_jobs(main, arguments, SETTINGS, AGAINST, FIRST_WEIGHTS)


if __name__ == "__main__":
    main()
