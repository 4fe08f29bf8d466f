"""Tetris and its comparators: the runs, and what each did to its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from experiments.comparators import BOUND, added
from experiments.finding import Row, columns
from packenv.results.fairness import unfairness
from packenv.results.occupancy import most_allocated, occupancy
from packenv.results.result import Result
from packenv.runs.run import by_policy, runs_of
from packenv.runs.runner import RunOptions, run_all
from packenv.runs.statistics import interval
from packenv.workloads.named.analytics import analytics
from packenv.workloads.workload import Workload

FAIR = ("drf", "task-fair")  # check every resource
TWO = ("drf:checked=2", "slot-fair")  # check cpu and memory only
PACKING, LEFT = "tetris:m=0", "tetris:packing=0"
OWN = ("tetris", "tetris:m=0.25", PACKING, LEFT, "bf-js", *FAIR, "slot-fair:checked=4", *TWO, "fifo-ff")
COMPARED = (*OWN, *added(OWN))
NOT_IN_PAPER = ("bf-js", "fifo-ff", "price", "fifo:blocking=false")
KNOBS = {f: f"tetris:f={f:g}" for f in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)}
WEIGHTS = {0.0: PACKING, 0.1: "tetris:m=0.1", 0.25: "tetris:m=0.25", 0.5: "tetris:m=0.5", 1.0: "tetris", 2.0: "tetris:m=2"}
OF_DEMANDS = tuple(dict.fromkeys([*WEIGHTS.values(), "bf-js", *FAIR, *TWO]))  # compared with both kinds of demands
DEMANDS = {"correlated": True, "independent": False}  # name: whether each phase mainly needs the resources of its kind
RESOURCES = (1, 2, 3, 4)
FRAGMENTED = (PACKING, "bf-js", "drf", "fifo-ff")
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


def measures_by_policy(workload: Workload, policies: Iterable[str], seeds: int, options: RunOptions) -> dict[str, list[Measures]]:
    """What each policy does to the jobs of each seed, and DRF, with which they are compared."""
    policies = list(dict.fromkeys([*policies, "drf"]))
    runs = runs_of(workload, policies, range(seeds), options={"schedule": True, "drain": True})
    results = by_policy(policies, run_all(runs, options, f"tetris, {workload.D} resources"))
    return {
        policy: [measures_of(workload, result, fair) for result, fair in zip(group, results["drf"], strict=True)]
        for policy, group in results.items()
    }


def measures_by_demands(jobs: int, seeds: int, options: RunOptions) -> dict[str, dict[str, list[Measures]]]:
    """What the policies do with each kind of demands."""
    policies = {"correlated": (*COMPARED, *KNOBS.values(), *OF_DEMANDS), "independent": OF_DEMANDS}
    return {
        name: measures_by_policy(analytics(jobs=jobs, kinds=kinds), policies[name], seeds, options)
        for name, kinds in DEMANDS.items()
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


def row_of(policy: str, measures: list[Measures]) -> Row:
    """Means over the seeds with their 95 % intervals."""
    row: Row = {"policy": policy, "in_paper": "no" if policy in NOT_IN_PAPER else "yes", "seeds": len(measures)}
    for name in Measures._fields:
        row |= columns(name, interval(getattr(run, name) for run in measures))
    return row


def bound_row(bounds: list[float]) -> Row:
    """The lower bound on the mean completion time; of nothing else."""
    row = row_of(BOUND, []) | {"seeds": len(bounds), "in_paper": "no"}
    return row | columns("mean", interval(bounds))
