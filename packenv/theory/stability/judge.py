"""`packenv.judge`: which fraction of the maximum supportable workload a policy keeps stable.

A sequential search over the load. At each load independent runs get longer until their verdict is certain or the
longest length is reached; an unstable one shows early, so a hopeless load costs little. Stability is taken to be
monotone in the load: below a stable load all are stable, above an unstable one all are unstable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.policy import find_policy, guarantee_of, name_of
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, Verdict, combine, longer
from packenv.simulation import setting_of, simulate
from packenv.theory.capacity.load import GAP as LOAD_GAP
from packenv.theory.capacity.load import supportable
from packenv.theory.capacity.max_workload import max_workload
from packenv.workloads.workload import Workload

GRID = 200  # loads are multiples of 1 / GRID
WIDTH = 0.01  # the search ends when the interval is this narrow
SEEDS = 8
FIRST_TASKS, GROWTH, MOST_TASKS = 40_000, 4, 2_560_000  # arrivals per run, first and at most; each length `GROWTH` times the last
FIRST_SERVICES = 500  # mean services that the first length lasts at least
HELD, BROKEN, NOT_CLAIMED = "held", "broken", "not claimed"
CLAIM = 1e-9


class PlannedRun(NamedTuple):
    """One run to be made: everything that it depends on."""

    workload: Workload
    policy: str | Any
    slots: int
    seed: int


class RunOutcome(NamedTuple):
    """What a run says."""

    verdict: Verdict
    mean_queue: float


Runner = Callable[[Sequence[PlannedRun]], Sequence[RunOutcome]]
Plan = Callable[[float], Iterator[list[PlannedRun]]]  # the runs at a load: some, then longer ones
Progress = Callable[[float, float, float, int], None]  # the interval so far, the load looked at, and the slots of its runs


class Evidence(NamedTuple):
    """The verdict on one load, from `seeds` runs of `slots` slots."""

    load: float
    verdict: Verdict
    slots: int
    seeds: int
    mean_queue: float


@dataclass(frozen=True)
class Judgment:
    """The policy supports at least `low`, and less than `high`, of ρ*; `rho` is the bracket on ρ* (tasks in service).

    `half`, `two_thirds`: held, broken or undecided; not claimed where the policy has no guarantee that large
    (`claimed`, a fraction of ρ*; 0 for none). `evidence`: every load that was looked at, in the order of the search.
    All of it is about runs of these lengths from an empty cluster: a queue that settles only later counts as unstable.
    """

    policy: str
    workload: str
    low: float
    high: float
    rho: tuple[float, float]
    claimed: float
    half: str
    two_thirds: str
    evidence: tuple[Evidence, ...]

    @property
    def needed(self) -> float | None:
        """About how many slots a run would have to last to decide the loads that stayed undecided; None if there are none."""
        open_loads = [seen for seen in self.evidence if seen.verdict.kind == UNDECIDED and self.low < seen.load < self.high]
        return max((seen.slots * longer(seen.verdict) for seen in open_loads), default=None)


def judge(
    workload: Workload,
    policy: str | Any,
    *,
    seeds: int = SEEDS,
    width: float = WIDTH,
    run: Runner | None = None,
    progress: Progress | None = None,
) -> Judgment:
    """Find the interval of ρ*-fractions that `policy` supports on a workload (whose own load does not matter).

    `run` makes the runs (one after the other if not given); `progress` hears of every look. The interval is `width`
    wide, or wider where loads remain undecided after the longest runs. A table of jobs is judged by one run at each
    load, its arrivals closer together or further apart: it cannot be made longer, see `Judgment.needed`.
    """
    if not 0 < width < 1 or seeds < 1:
        raise InputError(f"a judgment needs a width between 0 and 1 and at least 1 seed, not {width} and {seeds}")
    named = find_policy(policy) if isinstance(policy, str) else policy
    bracket = max_workload(workload, LOAD_GAP) if workload.jobs is not None else supportable(workload)
    rho = bracket.lower, bracket.upper
    plan = table_plan(workload, policy, rho) if workload.jobs is not None else random_plan(workload, policy, rho, seeds)
    search = LoadSearch(plan, run or run_here, progress or (lambda low, high, load, slots: None))
    low, high = search.interval(max(1, round(width * GRID)))
    supported = low / GRID * bracket.lower / bracket.upper, high / GRID
    claimed = guarantee_of(named, setting_of(workload))
    halves = status(1 / 2, *supported, claimed), status(2 / 3, *supported, claimed)
    return Judgment(name_of(named), workload.name, *supported, rho, claimed, *halves, tuple(search.evidence))


def random_plan(workload: Workload, policy: str | Any, rho: tuple[float, float], seeds: int) -> Plan:
    """At each load, `seeds` runs of random jobs, each time longer."""

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        at = workload.with_(load=load).knowing(*rho)
        tasks = FIRST_TASKS
        while tasks <= MOST_TASKS:
            slots = max(round(tasks / at.rate), round(FIRST_SERVICES * at.mean_service))
            yield [PlannedRun(at, policy, slots, seed) for seed in range(seeds)]
            tasks *= GROWTH

    return plan


def table_plan(workload: Workload, policy: str | Any, rho: tuple[float, float]) -> Plan:
    """At each load, the jobs of a table with their arrivals spread out or drawn together."""
    jobs = workload.jobs
    assert jobs is not None
    own = workload.rate * workload.mean_service / rho[0]

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        arrival = np.floor(jobs.arrival * (own / load)).astype(np.int64)
        at = workload.with_(jobs=dataclasses.replace(jobs, arrival=arrival))
        yield [PlannedRun(at, policy, int(arrival[-1]) + 1, 0)]

    return plan


def status(share: float, low: float, high: float, claimed: float) -> str:
    """Whether a guarantee of this share of ρ* holds, for a policy that supports a share in [low, high)."""
    if claimed < share - CLAIM:
        return NOT_CLAIMED
    return HELD if low >= share else BROKEN if high < share else UNDECIDED


class LoadSearch:
    """Bisection on the grid of loads, from below and above where loads in between stay undecided."""

    def __init__(self, plan: Plan, run: Runner, progress: Progress) -> None:
        self.plan, self.run, self.progress = plan, run, progress
        self.evidence: list[Evidence] = []

    def interval(self, width: int) -> tuple[int, int]:
        """(low, high) in grid steps: the largest load that is stable, the smallest that is not (GRID: none is beyond ρ*)."""
        low, high = 0, GRID
        doubtful: list[int] = []
        while high - low > width:
            between = [load for load in doubtful if low < load < high]
            if not between:
                load = (low + high) // 2
            elif min(between) - low > 1:
                load = (low + min(between)) // 2
            elif high - max(between) > 1:
                load = (max(between) + high) // 2
            else:
                break
            kind = self.look_at(load, low, high)
            if kind == STABLE:
                low = load
            elif kind == UNSTABLE:
                high = load
            else:
                doubtful.append(load)
        return low, high

    def look_at(self, load: int, low: int, high: int) -> str:
        """The verdict on a load, from runs that get longer until it is certain."""
        for runs in self.plan(load / GRID):
            self.progress(low / GRID, high / GRID, load / GRID, runs[0].slots)
            outcomes = self.run(runs)
            verdict = combine(outcome.verdict for outcome in outcomes)
            if verdict.kind != UNDECIDED:
                break
        queue = sum(outcome.mean_queue for outcome in outcomes) / len(outcomes)
        self.evidence.append(Evidence(load / GRID, verdict, runs[0].slots, len(runs), queue))
        return verdict.kind


def run_here(runs: Sequence[PlannedRun]) -> list[RunOutcome]:
    """Make the runs one after the other."""
    return [outcome_of(run) for run in runs]


def outcome_of(run: PlannedRun) -> RunOutcome:
    """Make one run."""
    result = simulate(run.workload, run.policy, run.slots, run.seed, warmup=0)
    assert result.mean_queue is not None
    return RunOutcome(result.verdict, result.mean_queue)
