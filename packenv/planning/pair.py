"""`packenv.compare`: is one policy or server set worse than another?"""

from __future__ import annotations

import itertools
import math
import time as clock
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from packenv.api import at_a_rate
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table
from packenv.content.text import counted, estimate, listed, number
from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_SLOTS
from packenv.options.verbs import MEASURES, CompareOptions
from packenv.planning.goals import STATISTICS, Goal, check_goals, check_statistic
from packenv.planning.trials import AskRuns, RunValues, mean_of, run_values
from packenv.policy import find_policy, name_of
from packenv.results.stability import STABLE, UNSTABLE, combine
from packenv.runs.run import Run, seeds_for
from packenv.runs.runner import Runner
from packenv.runs.statistics import Interval, doubt_at, interval, mean_and_half, ratio_of_means
from packenv.workloads.find import workload as find_workload
from packenv.workloads.in_service import begins_busy
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

NOT_WORSE, WORSE, OPEN = "not worse", "worse", "not decided"
STATUS = {NOT_WORSE: 0, WORSE: 1, OPEN: 3}
"""Exit status of `packenv compare`."""

RATIO = "the {measure} with {first} is {ratio} times that with {second}"
BOTH = "the {measure} is {above} with {first} and {below} with {second}"
MISSING = "the {measure} with {unknown} is not known. In some run nothing was measured, or not all jobs ended"
STOPS = {
    "first unstable": (WORSE, "{trouble}, and not with {second}"),
    "second unstable": (NOT_WORSE, "{other_trouble}, and not with {first}"),
    "both stop": (OPEN, "{trouble}, and {other_trouble}"),
}
REASONS = STOPS | {
    "first unknown": (WORSE, MISSING),
    "second unknown": (NOT_WORSE, MISSING),
    "unknown": (OPEN, MISSING),
    "first zero": (NOT_WORSE, BOTH),
    "second zero": (WORSE, BOTH),
    "zero": (OPEN, BOTH),
    "one seed": (OPEN, RATIO + ", with one seed"),
    "below": (NOT_WORSE, RATIO + ". At most {limit:g} is allowed"),
    "above": (WORSE, RATIO + ". At most {limit:g} is allowed"),
    "within": (OPEN, RATIO + ". The limit {limit:g} lies within the interval"),
}
"""Verdict and reason of each case."""
GROWING = ". With both the queue grows without end, and its growth is compared"


@dataclass(frozen=True)
class Side:
    """A side and its runs by seed, one if nothing is random."""

    name: str
    policy: Any
    workload: Workload
    by_chance: bool  # whether the jobs or the policy depend on the seed
    runs: tuple[RunValues, ...] = ()

    @property
    def values(self) -> list[float | None]:
        return [run.values[0] for run in self.runs]

    @property
    def trouble(self) -> str:
        """Why it is unstable. On a table the reason that a run stopped."""
        stopped = next((run.stopped for run in self.runs if run.stopped and self.workload.jobs is not None), None)
        return f"with {self.name} {stopped}" if stopped else f"the queue grows without end with {self.name}"

    @property
    def stability(self) -> str | None:
        """Verdict on all runs of a stream.

        UNSTABLE also if a run stopped early, on a table too. None for a table otherwise.
        """
        if any(run.stopped for run in self.runs):
            return UNSTABLE
        return None if self.workload.jobs is not None else combine(run.verdict for run in self.runs).kind


@dataclass(frozen=True, repr=False)
class Pair(Showable):
    """Two sides on the same tasks: is the first worse?"""

    first: Side
    second: Side
    measure: Goal  # its limit says nothing
    margin: float
    looks: int = 1

    @property
    def ratio(self) -> Interval:
        """Ratio of the first side's mean to the second's, paired by seed.

        The 95 % interval accounts for the doublings of the seeds. Its ends are None after a single run.
        """
        count = max(len(self.first.runs), len(self.second.runs))
        above, below = (side.values * count if len(side.runs) == 1 else side.values for side in (self.first, self.second))
        return ratio_of_means(above, below, doubt_at(self.looks))

    @property
    def verdict(self) -> str:
        """NOT_WORSE, WORSE or OPEN."""
        return self._judged[0]

    @property
    def reason(self) -> str:
        """Reason for the verdict, in a sentence."""
        return self._judged[1]

    @property
    def status(self) -> int:
        """0 if the first is not worse, 1 if worse, 3 if undecided."""
        return STATUS[self.verdict]

    @property
    def by_chance(self) -> bool:
        """Whether other seeds give other runs."""
        return self.first.by_chance or self.second.by_chance

    @property
    def _judged(self) -> tuple[str, str]:
        """Verdict and reason: by stability, then by the ratio of the means."""
        first, second = self.first, self.second
        facts = {"first": first.name, "second": second.name, "measure": self.measure.title, "limit": 1 + self.margin}
        facts |= {"trouble": first.trouble, "other_trouble": second.trouble}
        unstable = [side.stability == UNSTABLE for side in (first, second)]
        known = [side.stability in (STABLE, None) for side in (first, second)]
        if all(unstable) and first.workload.jobs is not None:
            case = "both stop"
        elif (unstable[0] and known[1]) or (unstable[1] and known[0]):
            case = "first unstable" if unstable[0] else "second unstable"
        else:
            case, of_ratio = self._by_ratio()
            facts |= of_ratio
        verdict, reason = REASONS[case]
        growing = case not in STOPS and all(unstable)
        return verdict, reason.format_map(facts) + (GROWING if growing else "")

    def _by_ratio(self) -> tuple[str, dict[str, Any]]:
        """Return the case of REASONS, and its facts."""
        above, below = (mean_of(side.values) for side in (self.first, self.second))
        if above is None or below is None:
            unknown = [side.name for side, mean in ((self.first, above), (self.second, below)) if mean is None]
            case = "first unknown" if below is not None else "unknown" if above is None else "second unknown"
            return case, {"unknown": listed(unknown)}
        if below == 0 or above == 0:
            low = interval(self.first.values, doubt_at(self.looks)).low if self.by_chance else above
            case = "first zero" if above == 0 else "second zero" if low is not None and low > 0 else "zero"
            return case, {"above": number(above), "below": number(below)}
        ratio, limit = self.ratio, 1 + self.margin
        low, high = (ratio.mean if end is None else end for end in ratio[1:])
        assert low is not None and high is not None
        one_seed = self.by_chance and ratio.low is None
        case = "one seed" if one_seed else "below" if high <= limit else "above" if low > limit else "within"
        return case, {"ratio": ratio}

    def _measures(self) -> list[str]:
        """Return the measure of each side, with its interval."""
        slot = (self.first.workload.slot_seconds if self.measure.is_time else None) or 1.0
        values = [[None if value is None else value * slot for value in side.values] for side in (self.first, self.second)]
        return [estimate(*mean_and_half(of_side)) for of_side in values]

    def facts(self) -> list[tuple[str, str]]:
        """Return headings and texts of the comparison."""
        facts, unit = [], self.measure.unit(self.first.workload.slot_seconds)
        for side, measure in zip((self.first, self.second), self._measures(), strict=True):
            stability = f"{side.stability}, " if side.stability is not None else ""
            facts.append((side.name, f"{stability}{self.measure.title} {measure}{unit}"))
        return [*facts, ("verdict", f"{self.verdict}: {self.reason}")]

    @property
    def title(self) -> str:
        seeds = counted(max(len(self.first.runs), len(self.second.runs)), "seed") if self.by_chance else "one run"
        return f"{self.first.name} and {self.second.name} on {self.first.workload.label}, {seeds}"

    def tables(self) -> list[Table]:
        """Return a row for each side: its measure and its stability."""
        unit, stream = self.measure.unit(self.first.workload.slot_seconds).strip(), self.first.workload.jobs is None
        unit = f" ({unit.replace('seconds', 's')})" if unit else ""
        columns = [Column(""), Column(f"{self.measure.title}{unit}", numeric=True)]
        table = Table(self.title, [*columns, Column("verdict")] if stream else columns)
        for side, measure in zip((self.first, self.second), self._measures(), strict=True):
            table.add(side.name, measure, *([side.stability or ""] if stream else []))
        return [table]

    def footnotes(self) -> list[str]:
        return [f"{self.verdict}: {self.reason}."]

    @property
    def plain(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. Times are in slots."""
        sides = [
            {"name": side.name, "servers": len(side.workload.servers), "values": side.values, "stability": side.stability}
            for side in (self.first, self.second)
        ]
        return {
            **self.first.workload.record,
            "slot_seconds": self.first.workload.slot_seconds,
            "measure": self.measure.title,
            "margin": self.margin,
            "sides": sides,
            "ratio": [*self.ratio],
            "verdict": self.verdict,
            "status": self.status,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class PairedRuns:
    """The comparison behind `compare`: both sides on the same, doubling seeds."""

    pair: Pair
    seeds: int
    slots: int | None
    time: float

    def run(self, ask: AskRuns) -> Pair:
        """Run until decided, or the next doubling would exceed `time` seconds."""
        pair, began, first = self.pair, clock.monotonic(), 0
        for looks in itertools.count(1):
            at = clock.monotonic()
            seeds = range(first, max(2 * first, self.seeds))
            first = seeds.stop
            first_side, second_side = self._longer(pair, seeds, ask)
            pair = Pair(first_side, second_side, pair.measure, pair.margin, looks)
            now = clock.monotonic()
            if pair.verdict != OPEN or not pair.by_chance or now - began + 2 * (now - at) > self.time:
                return pair
        raise AssertionError

    def _longer(self, pair: Pair, seeds: range, ask: AskRuns) -> list[Side]:
        """Return both sides with the runs of these seeds, made together."""
        sides = pair.first, pair.second
        runs = [self._runs(side, seeds) for side in sides]
        of_runs: list[RunValues] = ask([*itertools.chain(*runs)], partial(run_values, goals=(pair.measure,)))
        cut = len(runs[0])
        more = of_runs[:cut], of_runs[cut:]
        return [replace(side, runs=(*side.runs, *of_side)) for side, of_side in zip(sides, more, strict=True)]

    def _runs(self, side: Side, seeds: range) -> list[Run]:
        """Return the runs to make, only the first if nothing is random."""
        endless = side.workload.jobs is None or begins_busy(side.workload)
        slots = DEFAULT_SLOTS if self.slots is None and endless else self.slots
        options = {} if endless or self.slots is not None else {"drain": True}
        of_side = seeds if side.by_chance else range(min(seeds.start, 1), 1)
        return [Run(side.workload, side.policy, seed, slots, options) for seed in of_side]


def pairing(workload: Any, first: Any, second: Any, options: CompareOptions, **changes: Any) -> PairedRuns:
    """Return the comparison from `compare`'s arguments. Raises InputError."""
    margin, seeds, time = options.margin, options.seeds, options.time
    if not 0 <= margin < math.inf:
        raise ArgumentError(f"`margin` must be a share of at least 0, such as 0.05, not {margin:g}")
    if not 0 < time < math.inf or seeds < 1:
        raise ArgumentError(f"`time` must be a number of seconds above 0 and `seeds` at least 1, not {time:g} and {seeds}")
    # Two policies on one workload, or one policy on two sets of servers.
    of_servers = [is_servers(side) for side in (first, second)]
    if any(of_servers) and not all(of_servers):
        raise InputError("compare two policies, or two sets of servers")
    if all(of_servers):
        workloads = [*_with_servers(workload, first, second, changes)]
        policies, names = [options.policy, options.policy], [_text(first), _text(second)]
    else:
        workloads, policies = [at_a_rate(workload, **changes)] * 2, [first, second]
        names = [side if isinstance(side, str) else name_of(side) for side in policies]
    for side_policy in policies:
        find_policy(side_policy) if isinstance(side_policy, str) else None
    if names[0] == names[1]:
        raise InputError(f"both sides are {names[0]}")
    goal = measure_of(options.measure or default_measure(workloads[0], options.slots))
    check_goals([goal], workloads[0])
    chance = [len(seeds_for(side_policy, side, range(2))) > 1 for side_policy, side in zip(policies, workloads, strict=True)]
    sides = [Side(*parts) for parts in zip(names, policies, workloads, chance, strict=True)]
    return PairedRuns(Pair(sides[0], sides[1], goal, margin), seeds, options.slots, time)


@takes(CompareOptions)
def compare(
    workload: Any,
    first: Any,
    second: Any,
    *,
    options: CompareOptions,
    executor: Executor | None = None,
    **changes: Any,
) -> Pair:
    """Compare two policies, or one policy on two server sets.

    The question is whether the first is worse than the second on the same tasks.
    workload       a Workload, or an argument of `packenv.workload`: a name, a file, a trace, a table, a cluster as kubectl
                   prints it. Arguments such as `servers`, `slot_seconds` or `intensity` follow as keywords
    first, second  names of policies ("vqs:J=4") or objects, or two sets of servers: numbers, texts such as "3x1,2x0.5", or
                   `Servers`. A `load` or an `intensity` then refers to the second, and both see the same arrivals
    options        fields of CompareOptions. Measures are written as in goals of a plan
    executor       where the runs are made (`packenv.simulate_many`). None is this process
    An unstable side is worse than a stable one. Raises InputError for sides that cannot be compared, and errors of runs.
    """
    prepared = pairing(workload, first, second, options, **changes)
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        return prepared.run(runner.all)


def is_servers(side: Any) -> bool:
    """Return whether a side is servers and not a policy.

    Texts of servers begin with a digit or name a file, other than a rule's FILE.py.
    """
    if not isinstance(side, str):
        return isinstance(side, (int, Servers))
    return side[:1].isdigit() or (Path(side).is_file() and not side.endswith(".py"))


def _text(servers: Any) -> str:
    return counted(int(servers), "server") if str(servers).isdigit() else str(servers)


def _with_servers(workload: Any, first: Any, second: Any, changes: dict[str, Any]) -> list[Workload]:
    """Return the workload on both server sets, with equal arrivals."""
    if changes.get("servers") is not None:
        raise ArgumentError("leave out `servers` when you compare two sets of servers")
    changes = {key: value for key, value in changes.items() if key != "servers"}
    base = at_a_rate(workload, servers=_servers(second), **changes)
    rate: dict[str, Any] = {} if base.jobs is not None else {"rate": base.rate}
    return [find_workload(base, servers=_servers(first), **rate), base]


def _servers(servers: Any) -> Any:
    return int(servers) if isinstance(servers, str) and servers.isdigit() else servers


def default_measure(workload: Workload, slots: int | None) -> str:
    """Return the measure; the mean queue counts tasks that never start."""
    if workload.jobs is None or slots is not None or begins_busy(workload):
        return "mean queue"
    return "mean completion" if workload.jobs.job is not None else "mean wait"


def measure_of(text: str) -> Goal:
    """Return a measure from its text. Raises InputError."""
    statistic, _, measure = text.strip().rpartition(" ")
    if measure not in STATISTICS or measure == "utilisation":
        raise InputError(f"measure {text!r}: not compared; measures are {MEASURES}")
    statistic = check_statistic(text, statistic.strip(), measure, STATISTICS[measure], "measure")
    return Goal(text, statistic, measure, math.inf)
