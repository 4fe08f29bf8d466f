"""`packenv.simulate`: the simulation of a workload, which may be a name, and its arrivals a `load`, a share of ρ*.

The simulator itself (`packenv.simulation`) needs a rate of arrivals and knows no theory. Everything that runs
workloads of a user goes through here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from packenv.results.result import Result
from packenv.simulation import simulate as simulate_at_a_rate
from packenv.workloads.named.registry import workload as find_workload
from packenv.workloads.workload import Workload

Run = TypeVar("Run", bound=Callable[..., Result])


def _at_a_rate(run: Run) -> Run:
    """The same function, for workloads that are given by name, or by their load: that is turned into a rate first."""

    @functools.wraps(run)
    def run_at_a_rate(workload: Workload | str, *args: Any, **options: Any) -> Result:
        if isinstance(workload, str):
            workload = find_workload(workload)
        if workload.load is not None:
            from packenv.theory.capacity.load import resolved  # loads the linear-programming solver, which few runs need

            workload = resolved(workload)
        return run(workload, *args, **options)

    return cast(Run, run_at_a_rate)


simulate = _at_a_rate(simulate_at_a_rate)
