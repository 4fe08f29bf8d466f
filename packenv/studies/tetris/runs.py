"""Tetris and its comparators: the runs, and what each did to its jobs."""

from __future__ import annotations

from typing import NamedTuple

from packenv.results.fairness import unfairness
from packenv.results.occupancy import most_allocated, occupancy
from packenv.results.result import Result
from packenv.runs.run import by_policy, runs_of
from packenv.runs.runner import run_all
from packenv.runs.statistics import interval
from packenv.studies.finding import Row, columns
from packenv.workloads.workload import Workload

FAIR = ("drf", "slot-fair")
TWO = tuple(f"{policy}:checked=2" for policy in FAIR)  # cpu and memory only
PACKING, LEFT = "tetris:m=0,f=0", "tetris:packing=0,f=0"
COMPARED = ("tetris", PACKING, LEFT, *FAIR, *TWO, "bf-js", "fifo-ff")
KNOBS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
RESOURCES = (1, 2, 3, 4)
FRAGMENTED = ("tetris:m=0,f=0", "drf", "fifo-ff")
SEEDS, QUICK_SEEDS = 8, 3
JOBS, QUICK_JOBS = 500, 200
SMALL = 200  # jobs of a run in the panel of fragmentation


class Measures(NamedTuple):
    """What a run did to its jobs."""

    makespan: float
    mean: float  # completion time
    p95: float
    unfairness: float
    fragmentation: float
    most: float  # the largest share of a resource of a server that was ever allocated
    slowed: float  # share of jobs that took over a tenth longer than under DRF


def measures_by_policy(workload: Workload, policies: list[str], seeds: int, processes: int | None) -> dict[str, list[Measures]]:
    """What each policy does to the jobs of each seed; DRF, with which they are compared, is among the policies."""
    policies = list(dict.fromkeys(policies))
    runs = runs_of(workload, policies, range(seeds), options={"schedule": True, "drain": True})
    results = by_policy(policies, run_all(runs, processes, f"tetris, {workload.D} resources"))
    return {
        policy: [measures_of(workload, result, fair) for result, fair in zip(group, results["drf"], strict=True)]
        for policy, group in results.items()
    }


def measures_of(workload: Workload, result: Result, fair: Result) -> Measures:
    jobs, capacity = workload.at(result.seed).jobs, workload.servers.units
    times, schedule = result.jobs, result.schedule
    assert jobs is not None and times is not None and schedule is not None and fair.jobs is not None
    assert times.makespan is not None and times.mean is not None
    return Measures(
        makespan=float(times.makespan),
        mean=times.mean,
        p95=times.quantile(0.95) or 0.0,
        unfairness=unfairness(jobs, schedule, capacity),
        fragmentation=occupancy(jobs, schedule, capacity).fragmentation,
        most=float(most_allocated(jobs, schedule, capacity).max()),
        slowed=times.slowed(fair.jobs),
    )


def row_of(policy: str, found: list[Measures]) -> Row:
    """Means over the seeds with their 95 % intervals."""
    row: Row = {"policy": policy, "seeds": len(found)}
    for name in Measures._fields:
        row |= columns(name, interval(getattr(each, name) for each in found))
    return row
