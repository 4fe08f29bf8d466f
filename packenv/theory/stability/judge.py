"""`packenv.judge`: the fraction of the maximum supportable workload ρ* that a policy keeps stable.

A bisection over the load. At each load, independent runs are repeated with more and more slots until their verdict is
certain or the longest length is reached. Instability shows early, so loads that are far too high cost little. Stability is
assumed to be monotone: all loads below a stable one are stable, and all above an unstable one are unstable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.options.fields import takes
from packenv.options.verbs import JudgeOptions
from packenv.policy import find_policy, guarantee_of, name_of
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, Verdict, combine, longer
from packenv.simulation import setting_of, simulate
from packenv.theory.capacity.configuration_bounds import vqs_bound
from packenv.theory.capacity.max_workload import LOAD_GAP, max_workload, supportable
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.report.pictures import Picture
    from packenv.report.tables import Tables

GRID = 200  # loads are multiples of 1 / GRID
MOST_TASKS, GROWTH, LENGTHS = JudgeOptions().tasks, 4, 4  # arrivals of the longest runs, factor to the next length, lengths
FIRST_TASKS = MOST_TASKS // GROWTH ** (LENGTHS - 1)  # arrivals of the first runs
FIRST_SERVICES = 500  # the first runs last at least this many mean services
HELD, BROKEN, NOT_CLAIMED = "held", "broken", "not claimed"
CLAIM = 1e-9  # rounding of the fraction that a policy claims


class PlannedRun(NamedTuple):
    """A run to make: everything that its outcome depends on."""

    workload: Workload
    policy: str | Any
    slots: int
    seed: int


class RunOutcome(NamedTuple):
    """The verdict and mean queue of a run, which the search needs."""

    verdict: Verdict
    mean_queue: float


Runner = Callable[[Sequence[PlannedRun]], Sequence[RunOutcome]]
"""Makes runs; see `run_here`."""
Plan = Callable[[float], Iterator[list[PlannedRun]]]
"""The runs to make at a load: first short ones, then longer ones."""
Progress = Callable[[float, float, float, int], None]
"""Is told the interval so far (low, high), the load that is tried, and the slots of its runs."""


class Evidence(NamedTuple):
    """The verdict on one load, from `seeds` runs of `slots` slots."""

    load: float
    verdict: Verdict
    slots: int
    seeds: int
    mean_queue: float


class Judged:
    """How judgments are shown: one, or several."""

    def _all(self) -> Sequence[Judgment]:
        raise NotImplementedError

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each judgment, as of `packenv judge --json`."""
        return [judgment.record for judgment in self._all()]

    @property
    def notices(self) -> list[str]:
        """What it would take to decide loads that stayed undecided, and where more is proved than runs of this length show."""
        return [notice for judgment in self._all() for notice in judgment.remarks]

    def table(self) -> Tables:
        """What `packenv judge` prints: a line for each judgment."""
        from packenv.report.judgment_tables import judgments_table
        from packenv.report.tables import Tables

        return Tables([judgments_table(self._all())], self.notices)

    def plot(self) -> Picture:
        """A figure of matplotlib: supported fractions of ρ* beside ½ and ⅔, pale where they are not decided."""
        from packenv.report.judgment_page import judgment_chart

        return judgment_chart(self._all())

    def to_frame(self, library: str = "arrow") -> Any:
        """A row for each load that was tried, as an Arrow table or a frame of "pandas" or "polars"."""
        from packenv.report.frames import frame_of

        tried = [(judgment, trial) for judgment in self._all() for trial in judgment.evidence]
        columns: dict[str, list[Any]] = {
            "workload": [judgment.workload for judgment, _ in tried],
            "policy": [judgment.policy for judgment, _ in tried],
            "low": [judgment.low for judgment, _ in tried],
            "high": [judgment.high for judgment, _ in tried],
            "load": [trial.load for _, trial in tried],
            "verdict": [trial.verdict.kind for _, trial in tried],
            "confidence": [trial.verdict.confidence for _, trial in tried],
            **{key: [getattr(trial, key) for _, trial in tried] for key in ("slots", "seeds", "mean_queue")},
        }
        return frame_of(columns, library)

    def __repr__(self) -> str:
        from packenv.report.frames import facts_text

        facts = [
            (f"{judgment.policy} on {judgment.workload}", f"{judgment.low:.3f} to {judgment.high:.3f}")
            for judgment in self._all()
        ]
        return facts_text("Supported fractions of ρ*", facts)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, repr=False)
class Judgment(Judged):
    """The policy supports at least the fraction `low` of ρ*, and less than `high`.

    rho               lower and upper bound on ρ*, in tasks in service
    claimed           the fraction of ρ* that the policy's guarantee claims; 0 without a guarantee
    half, two_thirds  whether that guarantee was held, broken, or undecided; not claimed if it is smaller than that
    evidence          the verdict on every load tried, in the order of the search
    played            the workload, at no load in particular

    All of it is about runs of these lengths that begin with an empty cluster: a queue that would settle only later counts
    as unstable.
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
    played: Workload | None = field(default=None, compare=False)

    def _all(self) -> Sequence[Judgment]:
        return (self,)

    @property
    def needed(self) -> float | None:
        """About how many slots a run must have to decide all loads that stayed undecided; None if there are none."""
        open_loads = [tried for tried in self.evidence if tried.verdict.kind == UNDECIDED and self.low < tried.load < self.high]
        return max((tried.slots * longer(tried.verdict) for tried in open_loads), default=None)

    @property
    def proved(self) -> float | None:
        """The share of ρ* that VQS supports at least, by the program over K_RED; None for other policies and settings."""
        workload = self.played
        if workload is None or self.policy.split(":")[0] != "vqs" or workload.D > 1 or len(workload.servers.kinds) > 1:
            return None
        levels = getattr(find_policy(self.policy), "J", 0) or None
        return vqs_bound(workload, levels) / self.rho[1]

    @property
    def remarks(self) -> list[str]:
        """The lines of `notices` on this judgment."""
        where, remarks = f"{self.policy} on {self.workload}", []
        if self.needed is not None:
            remarks.append(f"{where}: some loads stay undecided, about {self.needed:.2g} slots would decide")
            jobs = None if self.played is None else self.played.jobs
            if jobs is not None:
                remarks[-1] += f"; too short for that, the table has {int(jobs.arrival[-1]) + 1:.2g} at its own rate"
        if self.proved is not None and self.proved > self.high:
            remarks.append(f"{where}: proved stable up to {self.proved:.3f}, where runs of this length still grow")
        return remarks

    @property
    def record(self) -> dict[str, Any]:
        """The judgment in plain values."""
        keys = ("policy", "workload", "low", "high", "rho", "claimed", "half", "two_thirds")
        record = {key: getattr(self, key) for key in keys} | {"rho": list(self.rho), "needed": self.needed}
        parts = ("kind", "confidence", "drift", "level")
        verdicts = [{key: getattr(tried.verdict, key) for key in parts} for tried in self.evidence]
        evidence = [tried._asdict() | {"verdict": verdict} for tried, verdict in zip(self.evidence, verdicts, strict=True)]
        return record | {"evidence": evidence}

    def to_dict(self) -> dict[str, Any]:
        """The judgment in plain values, ready for JSON."""
        return self.record


@dataclass(frozen=True, repr=False)
class Judgments(Judged):
    """Judgments of several policies, or on several workloads."""

    judgments: tuple[Judgment, ...]

    def _all(self) -> Sequence[Judgment]:
        return self.judgments

    def __iter__(self) -> Iterator[Judgment]:
        return iter(self.judgments)

    def __len__(self) -> int:
        return len(self.judgments)

    def __getitem__(self, place: int) -> Judgment:
        return self.judgments[place]

    def to_dict(self) -> dict[str, Any]:
        """All in plain values, ready for JSON: `judgments`."""
        return {"judgments": self.records}


@takes(JudgeOptions)
def judge(
    workload: Workload,
    policy: str | Any,
    *,
    options: JudgeOptions,
    run: Runner | None = None,
    progress: Progress | None = None,
) -> Judgment:
    """Find the fraction of ρ* that `policy` supports on a workload, whose own load does not matter.

    The interval of the judgment is `width` wide, or wider if loads remain undecided after the longest runs, in which `tasks`
    arrive; in the first ones, a 64th of them. A queue that settles at a high level only, such as that of `msr`, grows until then:
    give more tasks, as a shorter first run would call it unstable. `run` makes the runs (by default one after the other in
    this process); `progress` is called for every set of runs. A Jobs table is judged by one run at each load, with its
    arrivals spread out or drawn together; its runs have the tasks that it has, see `Judgment.needed`. Raises InputError for
    a width outside (0, 1), no seed, or fewer tasks than by default.
    """
    seeds, width, tasks = options.seeds, options.width, options.tasks
    if not 0 < width < 1 or seeds < 1:
        raise InputError(f"a judgment needs a width between 0 and 1 and at least 1 seed, not {width} and {seeds}")
    if tasks < MOST_TASKS:
        raise InputError(f"the longest runs of a judgment have at least {MOST_TASKS:,} tasks, not {tasks:,}")
    named = find_policy(policy) if isinstance(policy, str) else policy
    bracket = max_workload(workload, LOAD_GAP) if workload.jobs is not None else supportable(workload)
    rho = bracket.lower, bracket.upper
    plan = table_plan(workload, policy, rho) if workload.jobs is not None else random_plan(workload, policy, rho, seeds, tasks)
    search = LoadSearch(plan, run or run_here, progress or (lambda low, high, load, slots: None))
    low, high = search.interval(max(1, round(width * GRID)))
    supported = low / GRID * bracket.lower / bracket.upper, high / GRID
    claimed = guarantee_of(named, setting_of(workload))
    halves = status(1 / 2, *supported, claimed), status(2 / 3, *supported, claimed)
    return Judgment(name_of(named), workload.name, *supported, rho, claimed, *halves, tuple(search.evidence), workload)


def random_plan(workload: Workload, policy: str | Any, rho: tuple[float, float], seeds: int, most: int) -> Plan:
    """At each load, `seeds` runs of random tasks, repeated with GROWTH times as many slots until `most` tasks arrive."""

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        at = workload.with_(load=load).knowing(*rho)
        for longer_ones in range(LENGTHS - 1, -1, -1):
            slots = max(round(most / GROWTH**longer_ones / at.rate), round(FIRST_SERVICES * at.mean_service))
            yield [PlannedRun(at, policy, slots, seed) for seed in range(seeds)]

    return plan


def table_plan(workload: Workload, policy: str | Any, rho: tuple[float, float]) -> Plan:
    """At each load, one run of the table, with its arrivals spread out or drawn together."""
    jobs = workload.jobs
    assert jobs is not None
    table_load = workload.rate * workload.mean_service / rho[0]

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        arrival = np.floor(jobs.arrival * (table_load / load)).astype(np.int64)
        at = workload.with_(jobs=dataclasses.replace(jobs, arrival=arrival))
        yield [PlannedRun(at, policy, int(arrival[-1]) + 1, 0)]

    return plan


def status(share: float, low: float, high: float, claimed: float) -> str:
    """Whether a guarantee of the fraction `share` of ρ* holds, for a policy that supports a fraction in [low, high)."""
    if claimed < share - CLAIM:
        return NOT_CLAIMED
    return HELD if low >= share else BROKEN if high < share else UNDECIDED


class LoadSearch:
    """Bisection on the grid of loads; around loads that stay undecided it goes on below and above."""

    def __init__(self, plan: Plan, run: Runner, progress: Progress) -> None:
        self.plan, self.run, self.progress = plan, run, progress
        self.evidence: list[Evidence] = []

    def interval(self, width: int) -> tuple[int, int]:
        """(low, high) in grid steps: the largest load found stable, and the smallest found unstable, or GRID (ρ*)."""
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
            kind = self.verdict_at(load, low, high)
            if kind == STABLE:
                low = load
            elif kind == UNSTABLE:
                high = load
            else:
                doubtful.append(load)
        return low, high

    def verdict_at(self, load: int, low: int, high: int) -> str:
        """The kind of the verdict on a load (grid steps), from runs that get longer until it is certain."""
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
    """Make the runs one after the other in this process."""
    return [outcome_of(run) for run in runs]


def outcome_of(run: PlannedRun) -> RunOutcome:
    """Make one run, measured from its first slot on."""
    result = simulate(run.workload, run.policy, run.slots, run.seed, warmup=0)
    assert result.mean_queue is not None
    return RunOutcome(result.verdict, result.mean_queue)
