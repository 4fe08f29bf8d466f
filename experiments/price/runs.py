"""What the figures of Zhang and Yao (PAPERS §3) have in common: schedulers, their runs on the same instances, and measures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from experiments.comparators import MARK
from experiments.finding import Row, Settings
from packenv.content.charts import COLOURS
from packenv.policy import registered
from packenv.results.result import Result
from packenv.runs.run import by_policy
from packenv.runs.run import runs_of as every_run
from packenv.runs.runner import run_all
from packenv.runs.statistics import Interval, interval, ratio
from packenv.workloads.workload import Workload

SAT_SECONDS = 30  # the search of each instance, on one core
SAT = f"sat:limit={SAT_SECONDS},workers=1"
FIXED_SAT = f"sat:limit={SAT_SECONDS},workers=1,fixed"
NAMES = {
    "price": "price, welfare 0.1",
    "price:welfare=1": "price, welfare 1",
    "priority": "priority",
    "capacity": "capacity",
    "fifo": "FIFO, blocking",
    "fifo:blocking=false": "FIFO, not blocking",
    "bf-js": "BF-J/S",
    "drf": "DRF",
    "tetris": "Tetris",
    "tetris:m=0,f=0": "Tetris, packing only",
    "price:blocking": "price, blocking",
    SAT: "SAT",
    FIXED_SAT: "SAT, servers fixed",
}
LOOKS = {
    "price": (COLOURS[0], "-"),
    "price:welfare=1": (COLOURS[0], "--"),
    "price:blocking": (COLOURS[0], ":"),
    "priority": (COLOURS[1], "-"),
    "capacity": (COLOURS[2], "-"),
    "fifo": (COLOURS[4], "-"),
    "fifo:blocking=false": (COLOURS[4], "--"),
    "bf-js": (COLOURS[5], "-"),
    "drf": (COLOURS[5], "--"),
    "tetris": (COLOURS[3], "-"),
    "tetris:m=0,f=0": (COLOURS[3], "--"),
    SAT: (COLOURS[6], "--"),
    FIXED_SAT: (COLOURS[6], "-"),
}
"""Colour and line of a policy; the same policy with another parameter differs in the line."""
PRICES = ("price", "price:welfare=1")
COMPARED = ("priority", "capacity", "fifo")
"""The schedulers with which Zhang and Yao compare their own."""
NOT_COMPARED = ("fifo:blocking=false", "bf-js", "drf", "tetris", "tetris:m=0,f=0")
"""Those with which it does not."""
IN_PAPER = ("price", *COMPARED, SAT, FIXED_SAT)
POLICIES = (*PRICES, *COMPARED, *NOT_COMPARED)
SEEDS, QUICK_SEEDS = 20, 5
LEFT_OUT = "left out: policy `sat` and OR-tools are not installed"
Runs = dict[str, list[Result]]


def has_sat() -> bool:
    """Whether the optimum can be asked for."""
    return "sat" in registered() and find_spec("ortools") is not None


def runs_of(figure: str, setting: Workload, policies: Sequence[str], settings: Settings, seeds: int = SEEDS) -> Runs:
    """By policy, one result per seed, with schedules. A workload that is not drawn has a single seed."""
    count = settings.seeds_or(seeds, QUICK_SEEDS) if setting.draw else 1
    runs = every_run(setting, policies, range(count), options={"schedule": True})
    return by_policy(policies, run_all(runs, settings.runs, figure))


def makespans(results: Sequence[Result]) -> list[float | None]:
    return [None if result.jobs is None else result.jobs.makespan for result in results]


def shorter(runs: Runs, policy: str, other: str) -> Interval:
    """Makespan over that of another policy on the same instances."""
    return ratio(makespans(runs[policy]), makespans(runs[other]))


def longest_job(setting: Workload, seed: int) -> int:
    """The slots that the longest job takes on its own: no schedule is shorter. One task per phase."""
    jobs = setting.at(seed).jobs
    assert jobs is not None and jobs.job is not None
    return max(int(jobs.service[jobs.job == name].sum()) for name in set(jobs.job.tolist()))


def least_makespan(setting: Workload, seed: int) -> int:
    """No schedule is shorter: the longest job, or the work of all phases on all machines, in any resource."""
    jobs = setting.at(seed).jobs
    assert jobs is not None
    work, capacity = jobs.service @ jobs.demand, setting.servers.units.sum(axis=0)
    return max(longest_job(setting, seed), *(-(-int(w) // int(k)) for w, k in zip(work, capacity, strict=True) if k > 0))


def row(policy: str, measure: str, values: Sequence[float | None]) -> Row:
    """A measure of a policy, over the seeds."""
    over_seeds, in_paper = interval(values), "yes" if policy in IN_PAPER else "no"
    about: Row = {"policy": policy, "in_paper": in_paper, "measure": measure}
    return about | {"mean": over_seeds.mean, "low": over_seeds.low, "high": over_seeds.high, "seeds": len(values)}


def label(policy: str) -> str:
    """In pictures; LEGEND says what the mark is."""
    return NAMES[policy] if policy in IN_PAPER else NAMES[policy] + MARK


def completions(results: Sequence[Result]) -> list[float | None]:
    """Mean completion times of jobs, in slots."""
    return [None if result.jobs is None else result.jobs.mean for result in results]
