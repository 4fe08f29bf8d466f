"""`packenv.judge`: which fraction of the maximum supportable workload a policy keeps stable.

A sequential search over the load. At each load independent runs get longer until their verdict is certain or the
longest length is reached; an unstable one shows early, so a hopeless load costs little. Stability is taken to be
monotone in the load: below a stable load all are stable, above an unstable one all are unstable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.policy import find_policy, guarantee_of, name_of
from packenv.simulation import setting_of, simulate
from packenv.theory.load import supportable
from packenv.theory.stability import STABLE, UNDECIDED, UNSTABLE, Verdict, combine
from packenv.workloads.workload import Workload

GRID = 200  # loads are multiples of 1 / GRID
WIDTH = 0.01  # the search ends when the interval is this narrow
SEEDS = 8
FIRST_TASKS, GROWTH, MOST_TASKS = 40_000, 4, 2_560_000  # arrivals per run, first and at most; each length `GROWTH` times the last
FIRST_SERVICES = 500  # mean services that the first length lasts at least
HELD, BROKEN, NOT_CLAIMED = "held", "broken", "not claimed"
CLAIM = 1e-9


class Run(NamedTuple):
    """One run to be made: everything that it depends on."""

    workload: Workload
    policy: str | Any
    slots: int
    seed: int


class Outcome(NamedTuple):
    """What a run says."""

    verdict: Verdict
    mean_queue: float


Runner = Callable[[Sequence[Run]], Sequence[Outcome]]


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


def judge(workload: Workload, policy: str | Any, *, seeds: int = SEEDS, width: float = WIDTH, run: Runner | None = None) -> Judgment:
    """Find the interval of ρ*-fractions that `policy` supports on a random workload (its own load does not matter).

    `run` makes the runs (packenv.theory.judge.run_here, one after the other, if not given). The interval is `width`
    wide, or wider where loads remain undecided after the longest runs. Raises InputError for a table of jobs.
    """
    if workload.jobs is not None:
        raise InputError(f"workload {workload.name} is a finite table of jobs: judge a law fitted to it, or see judge_table")
    bracket = supportable(workload)
    search = Search(workload.with_(load=1.0).knowing(bracket.lower, bracket.upper), policy, seeds, run or run_here)
    low, high = search.interval(max(1, round(width * GRID)))
    named = find_policy(policy) if isinstance(policy, str) else policy
    claimed = guarantee_of(named, setting_of(workload))
    low, high = low / GRID * bracket.lower / bracket.upper, high / GRID
    halves = status(1 / 2, low, high, claimed), status(2 / 3, low, high, claimed)
    rho = bracket.lower, bracket.upper
    return Judgment(name_of(named), workload.name, low, high, rho, claimed, *halves, tuple(search.evidence))


def status(share: float, low: float, high: float, claimed: float) -> str:
    """Whether a guarantee of this share of ρ* holds, for a policy that supports a share in [low, high)."""
    if claimed < share - CLAIM:
        return NOT_CLAIMED
    return HELD if low >= share else BROKEN if high < share else UNDECIDED


class Search:
    """Bisection on the grid of loads, from below and above where loads in between stay undecided."""

    def __init__(self, workload: Workload, policy: str | Any, seeds: int, run: Runner) -> None:
        self.workload, self.policy, self.seeds, self.run = workload, policy, seeds, run
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
            kind = self.look_at(load)
            if kind == STABLE:
                low = load
            elif kind == UNSTABLE:
                high = load
            else:
                doubtful.append(load)
        return low, high

    def look_at(self, load: int) -> str:
        """The verdict on a load, from runs that get longer until it is certain."""
        workload = self.workload.with_(load=load / GRID).knowing(*self.workload.rho)  # type: ignore[misc]
        tasks = FIRST_TASKS
        while True:
            slots = max(round(tasks / workload.rate), round(FIRST_SERVICES * workload.mean_service))
            outcomes = self.run([Run(workload, self.policy, slots, seed) for seed in range(self.seeds)])
            verdict = combine(outcome.verdict for outcome in outcomes)
            tasks *= GROWTH
            if verdict.kind != UNDECIDED or tasks > MOST_TASKS:
                queue = sum(outcome.mean_queue for outcome in outcomes) / len(outcomes)
                self.evidence.append(Evidence(load / GRID, verdict, slots, self.seeds, queue))
                return verdict.kind


def run_here(runs: Sequence[Run]) -> list[Outcome]:
    """Make the runs one after the other."""
    return [outcome_of(run) for run in runs]


def outcome_of(run: Run) -> Outcome:
    """Make one run."""
    result = simulate(run.workload, run.policy, run.slots, run.seed, warmup=0)
    assert result.mean_queue is not None
    return Outcome(result.verdict, result.mean_queue)
