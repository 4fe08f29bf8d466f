"""`packenv optimum --objective completion`: policies beside a lower bound on the mean completion time of jobs."""

from __future__ import annotations

from typing import Any

from packenv.report.tables import Column, Table, numbers
from packenv.results.job_times import job_times
from packenv.results.result import Result
from packenv.theory.completion.bound import CompletionBound
from packenv.theory.completion.cp_sat import LeastCompletion
from packenv.workloads.workload import Workload


def mean_completion(workload: Workload, result: Result) -> float | None:
    """Mean slots from the first arrival of a job to its end; None unless all jobs ended."""
    assert workload.jobs is not None and result.schedule is not None
    whole = len(result.schedule.start) == len(workload.jobs) and bool((result.schedule.start >= 0).all())
    return job_times(workload.jobs, result.schedule, int(result.schedule.end.max())).mean if whole else None


def completion_table(workload: Workload, bound: float, found: LeastCompletion | None, jobs: int, results: list[Result]) -> Table:
    """Mean completion times in slots, and how far each is above the bound."""
    table = Table("", [Column(""), *numbers("mean completion", "above the bound")])
    rows = [] if found is None else [("optimum" if found.proven else "best found", found.total / jobs)]
    for name, mean in [*rows, *((result.policy, mean_completion(workload, result)) for result in results)]:
        table.add(name, *(("–", "–") if mean is None else (f"{mean:.2f}", f"{mean / bound - 1:.1%}")))
    return table


def completion_record(
    workload: Workload, least: CompletionBound, found: LeastCompletion | None, results: list[Result], seed: int
) -> dict[str, Any]:
    """The JSON of `packenv optimum --objective completion`; slots, and gaps as shares of the bound."""
    assert workload.jobs is not None
    bound = best_bound(least, found)
    means = {result.policy: mean_completion(workload, result) for result in results}
    return {
        "workload": workload.name,
        "servers": str(workload.servers),
        "tasks": len(workload.jobs),
        "jobs": least.jobs,
        "seed": seed,
        "objective": "completion",
        "bound": bound,
        "bound_pooled": least.pooled / least.jobs,
        "bound_paths": least.paths / least.jobs,
        "best": None if found is None else found.total / least.jobs,
        "proven": found is not None and found.proven,
        "policies": [
            {"policy": name, "mean_completion": mean, "gap": None if mean is None else mean / bound - 1}
            for name, mean in means.items()
        ],
    }


def best_bound(least: CompletionBound, found: LeastCompletion | None) -> float:
    """The larger bound on the mean: of the relaxation, or of the solver, which does not preempt."""
    return least.mean if found is None else max(least.total, found.bound) / least.jobs
