"""Policies beside the shortest schedule: makespans, a table, and JSON."""

from __future__ import annotations

from typing import Any

from packenv.report.tables import Column, Table, numbers
from packenv.results.result import Result
from packenv.theory.makespan.optimum import Optimum
from packenv.workloads.workload import Workload


def makespan_of(workload: Workload, result: Result) -> int | None:
    """Slots from the first arrival to the last end; None unless all tasks ended."""
    assert workload.jobs is not None and result.schedule is not None
    start, _, end, _ = result.schedule
    whole = len(start) == len(workload.jobs) and (start >= 0).all()
    return int(end.max() - workload.jobs.arrival[0]) if whole else None


def shortest(workload: Workload, results: list[Result]) -> Result | None:
    """The run of the policy that is done first; None if none has run all tasks."""
    spans = [(makespan_of(workload, result), result) for result in results]
    whole = [(span, n) for n, (span, _) in enumerate(spans) if span is not None]
    return results[min(whole)[1]] if whole else None


def progress_line(seconds: float, makespan: int, bound: int) -> str:
    """What the search has found so far."""
    return f"makespan {makespan}, at least {bound}: {makespan / bound - 1:.1%} above the bound after {seconds:.0f} s"


def optimum_table(workload: Workload, best: Optimum, results: list[Result]) -> Table:
    """Makespans, and how far each is above the bound."""
    table = Table("", [Column(""), *numbers("makespan", "above the bound"), Column("")])
    how = "proven" if best.proven else f"not proven in {best.seconds:.0f} s"
    table.add("optimum" if best.proven else "best found", str(best.makespan), f"{best.gap:.1%}", how)
    for result in results:
        span = makespan_of(workload, result)
        table.add(result.policy, *(("–", "–") if span is None else (str(span), f"{span / best.bound - 1:.1%}")), "")
    return table


def optimum_record(workload: Workload, best: Optimum, results: list[Result], seed: int, fixed: bool) -> dict[str, Any]:
    """The JSON of `packenv optimum`; slots, and gaps as shares of the bound."""
    assert workload.jobs is not None
    spans = {result.policy: makespan_of(workload, result) for result in results}
    return {
        "workload": workload.name,
        "servers": str(workload.servers),
        "tasks": len(workload.jobs),
        "seed": seed,
        "fixed_allocation": fixed,
        "makespan": best.makespan,
        "bound": best.bound,
        "gap": best.gap,
        "proven": best.proven,
        "seconds": best.seconds,
        "history": [list(step) for step in best.history],
        "policies": [
            {"policy": name, "makespan": span, "gap": None if span is None else span / best.bound - 1}
            for name, span in spans.items()
        ],
    }
