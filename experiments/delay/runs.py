"""Delay scheduling: the runs. Locality of small jobs by D, completion times by policy and network, and sticky slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from experiments.comparators import BESIDE, BOUND
from experiments.finding import Row, Settings, columns
from packenv.results.result import Result
from packenv.runs.run import by_policy, runs_of
from packenv.runs.runner import run_all
from packenv.runs.statistics import interval
from packenv.workloads.named.blocks import OVERHEAD, SLOT_SECONDS, Readers, head_of_line
from packenv.workloads.network import NODE
from packenv.workloads.workload import Workload

CLUSTERS = (100, 1000)
TASKS, COPIES, GOAL = 20, 3, 0.95
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.2310, 0.3)  # D over the number of servers; the closed form's is ln 2 / 3
SMALL_JOBS = 100
FAIR, FIXED, DYNAMIC = "fair", "delay", "delay-dynamic"
OTHERS = tuple(f"delay:interval={seconds}" for seconds in (1, 10, 30, 1000))  # the last never leaves home
IN_PAPER = (FAIR, OTHERS[0], FIXED, *OTHERS[1:], "delay:paper", DYNAMIC, "delay-dynamic:paper")
COMPARED = (*IN_PAPER, *BESIDE)
NETWORKS = {
    "constant": "delay/facebook",
    "changing": "delay/changing",
    "hot blocks": "delay/hot",
    "hot blocks, changing": "delay/hot-changing",
}
"""By what is said of them, the workloads on which intervals are compared."""
STICKY = (FAIR, OTHERS[0], FIXED)
STICKY_JOBS = (1, 2, 5, 10, 20, 50)
STICKY_SERVERS, STICKY_TASKS = 100, 5000
SEEDS, QUICK_SEEDS = 8, 2


class Measures(NamedTuple):
    """Means of one run, in seconds, the share of tasks that ran where their data lie, and that beyond the seed's bound."""

    locality: float
    completion: float  # of jobs
    task_completion: float
    overhead: float
    scheduling_delay: float
    beyond_bound: float  # share of the tasks whose overhead and scheduling delay exceed twice the usual overhead
    makespan: float


def skips_for(servers: int) -> int:
    """D of the closed form: ⌈−(M/R) ln((1 − l) N / (1 + (1 − l) N))⌉."""
    missed = (1 - GOAL) * TASKS
    return math.ceil(-servers / COPIES * math.log(missed / (1 + missed)))


def closed_form(servers: int, skips: int) -> float:
    """Mean locality of a job of N tasks, launched at random offers, of which it refuses D at most while k tasks are left."""
    nowhere = 1 - COPIES / servers
    return 1 - sum(nowhere ** (k * (skips + 1)) for k in range(1, TASKS + 1)) / TASKS


def run_policies(
    workload: Workload, policies: Sequence[str], seeds: int, settings: Settings, drain: bool
) -> dict[str, list[Result]]:
    """Each policy's run of every seed."""
    runs = runs_of(workload, policies, range(seeds), options={"drain": drain})
    return by_policy(policies, run_all(runs, settings.runs, workload.name))


def locality_rows(servers: int, seeds: int, settings: Settings) -> list[Row]:
    """The small jobs' locality for each D, in both variants."""
    counts = sorted({*(round(share * servers) for share in SHARES), skips_for(servers)})
    variants = {f"delay:skips={skips}{paper}": (paper, skips) for paper in (",paper", "") for skips in counts}
    runs = run_policies(head_of_line(servers, SMALL_JOBS), [*variants], seeds, settings, drain=False)
    rows = []
    for policy, results in runs.items():
        paper, skips = variants[policy]
        locality = interval(result.data.share(NODE) for result in results if result.data is not None)
        row: Row = {"servers": servers, "variant": "paper" if paper else "robust", "skips": skips, "seeds": seeds}
        rows.append(row | columns("locality", locality) | {"closed_form": closed_form(servers, skips)})
    return rows


def measures_by_policy(workload: Workload, policies: Sequence[str], seeds: int, settings: Settings) -> dict[str, list[Measures]]:
    """Runs until all jobs have ended."""
    return {
        name: [*map(measures_of, results)]
        for name, results in run_policies(workload, policies, seeds, settings, drain=True).items()
    }


def measures_of(result: Result) -> Measures:
    data, jobs = result.data, result.jobs
    assert data is not None and jobs is not None and jobs.mean is not None and jobs.makespan is not None
    slots = (jobs.mean, data.completion.mean(), data.overhead.mean(), data.scheduling_delay.mean())
    lost = data.overhead + data.scheduling_delay
    beyond = float((lost > 2 * round(OVERHEAD / SLOT_SECONDS) + 1).mean())  # a slot more: the one of the next offer
    return Measures(
        *[data.share(NODE) or 0.0, *(float(SLOT_SECONDS * each) for each in slots), beyond, SLOT_SECONDS * jobs.makespan]
    )


def row_of(policy: str, measures: list[Measures]) -> Row:
    """Means over the seeds with their 95 % intervals."""
    row: Row = {"policy": policy, "in_paper": "yes" if policy in IN_PAPER else "no", "seeds": len(measures)}
    for name in Measures._fields:
        row |= columns(name, interval(getattr(run, name) for run in measures))
    return row


def bound_row(bounds: list[float]) -> Row:
    """The lower bound on the mean completion time of jobs, in seconds; of nothing else."""
    return row_of(BOUND, []) | {"seeds": len(bounds)} | columns("completion", interval(bounds))


def sticky_rows(jobs: int, seeds: int, settings: Settings) -> list[Row]:
    """So many jobs of equal size, all there from the start, on a cluster that takes one task per server."""
    table = partial(Readers, servers=STICKY_SERVERS, intensity=0.0, overhead=0.0)
    workload = Workload(
        jobs=table(jobs, bins=((STICKY_TASKS // jobs, 1.0),)),
        servers=STICKY_SERVERS,
        slot_seconds=SLOT_SECONDS,
        name=f"{jobs} equal jobs",
    )
    runs = run_policies(workload, STICKY, seeds, settings, drain=True)
    shares = {name: interval(each.data.share(NODE) for each in results if each.data) for name, results in runs.items()}
    return [{"jobs": jobs, "policy": name, "seeds": seeds} | columns("locality", each) for name, each in shares.items()]
