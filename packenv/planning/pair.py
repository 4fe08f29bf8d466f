"""`packenv.compare`: two policies, or two sets of servers, on the same tasks: is the first one worse?"""

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
from packenv.options.verbs import MEASURES, CompareOptions
from packenv.planning.goals import STATISTICS, Goal, check_goals, check_statistic
from packenv.planning.trials import AskRuns, RunValues, mean_of, run_values
from packenv.policy import find_policy, name_of
from packenv.results.stability import STABLE, UNSTABLE, combine
from packenv.runs.chance import seeds_for
from packenv.runs.comparison import DEFAULT_SLOTS
from packenv.runs.run import Run
from packenv.runs.runner import Runner
from packenv.runs.statistics import Interval, doubt_at, interval, mean_and_half, ratio_of_means
from packenv.workloads.find import workload as find_workload
from packenv.workloads.in_service import begins_busy
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

NOT_WORSE, WORSE, OPEN = "not worse", "worse", "not decided"
STATUS = {NOT_WORSE: 0, WORSE: 1, OPEN: 3}
"""Exit status of `packenv compare`."""


@dataclass(frozen=True)
class Side:
    """One of the two, and its runs so far, seed by seed; one where nothing is drawn by chance."""

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
        """Why it is unstable: on a table what stopped a run, such as tasks that never start."""
        stopped = next((run.stopped for run in self.runs if run.stopped and self.workload.jobs is not None), None)
        return f"with {self.name} {stopped}" if stopped else f"the queue grows without end with {self.name}"

    @property
    def stability(self) -> str | None:
        """The verdict on all runs of a stream; a run that was stopped, as too much waited, is unstable, that of a table too. Of a
        table that was not there is nothing to say: None.
        """
        if any(run.stopped for run in self.runs):
            return UNSTABLE
        return None if self.workload.jobs is not None else combine(run.verdict for run in self.runs).kind


@dataclass(frozen=True, repr=False)
class Pair(Showable):
    """Two sides on the same tasks, and whether the first is worse than the second by more than the margin.

    `packenv compare` ends with `status`.
    """

    first: Side
    second: Side
    measure: Goal  # its limit says nothing
    margin: float
    looks: int = 1

    @property
    def ratio(self) -> Interval:
        """The mean of the measure of the first over that of the second, paired seed by seed. Its interval is one of 95 % however
        often the seeds doubled; None at its ends where there was one run, which is all there is.
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
        """Why, in a sentence."""
        return self._judged[1]

    @property
    def status(self) -> int:
        """0 if the first is not worse, 1 if it is, 3 if it is not decided."""
        return STATUS[self.verdict]

    @property
    def by_chance(self) -> bool:
        """Whether other seeds give other runs."""
        return self.first.by_chance or self.second.by_chance

    @property
    def _judged(self) -> tuple[str, str]:
        first, second = self.first, self.second
        unstable = [side.name for side in (first, second) if side.stability == UNSTABLE]
        if unstable == [first.name] and second.stability in (STABLE, None):
            return WORSE, f"{first.trouble}, and not with {second.name}"
        if unstable == [second.name] and first.stability in (STABLE, None):
            return NOT_WORSE, f"{second.trouble}, and not with {first.name}"
        if len(unstable) == 2 and first.workload.jobs is not None:
            return OPEN, f"{first.trouble}, and {second.trouble}"
        growing = "; with both the queue grows without end: how fast is compared" if len(unstable) == 2 else ""
        verdict, reason = self._by_ratio()
        return verdict, reason + growing

    def _by_ratio(self) -> tuple[str, str]:
        above, below = (mean_of(side.values) for side in (self.first, self.second))
        what = f"the {self.measure.title}"
        if above is None or below is None:
            verdict = WORSE if below is not None else OPEN if above is None else NOT_WORSE
            unknown = [side.name for side, mean in ((self.first, above), (self.second, below)) if mean is None]
            return verdict, f"{what} with {listed(unknown)} is not known: in some run nothing was measured, or not all jobs ended"
        if below == 0 or above == 0:
            low = interval(self.first.values, doubt_at(self.looks)).low if self.by_chance else above
            verdict = NOT_WORSE if above == 0 else WORSE if low is not None and low > 0 else OPEN
            return verdict, f"{what} is {number(above)} with {self.first.name} and {number(below)} with {self.second.name}"
        ratio, limit = self.ratio, 1 + self.margin
        low, high = (ratio.mean if end is None else end for end in ratio[1:])
        assert low is not None and high is not None
        reason = f"{what} with {self.first.name} is {ratio} times that with {self.second.name}"
        if self.by_chance and ratio.low is None:
            return OPEN, f"{reason}, of one seed"
        if high <= limit:
            return NOT_WORSE, f"{reason}, at most {limit:g} is allowed"
        if low > limit:
            return WORSE, f"{reason}, and at most {limit:g} is allowed"
        return OPEN, f"{reason}, and at most {limit:g} is allowed, which lies within"

    def facts(self) -> list[tuple[str, str]]:
        """The comparison for people: headings and texts."""
        slot = self.first.workload.shown_slot if self.measure.is_time else None
        unit = (" seconds" if slot else " slots") if self.measure.is_time else ""
        means = []
        for side in (self.first, self.second):
            values = [None if value is None else value * (slot or 1.0) for value in side.values]
            stability = f"{side.stability}, " if side.stability is not None else ""
            means.append((side.name, f"{stability}{self.measure.title} {estimate(*mean_and_half(values))}{unit}"))
        return [*means, ("verdict", f"{self.verdict}: {self.reason}")]

    @property
    def title(self) -> str:
        seeds = counted(max(len(self.first.runs), len(self.second.runs)), "seed") if self.by_chance else "one run"
        return f"{self.first.name} beside {self.second.name} on {self.first.workload.label}, {seeds}"

    def tables(self) -> list[Table]:
        """A row for each side: its measure over the seeds, and whether it is stable."""
        slot = self.first.workload.shown_slot if self.measure.is_time else None
        unit = (" (s)" if slot else " (slots)") if self.measure.is_time else ""
        stream = self.first.workload.jobs is None
        columns = [Column(""), Column(f"{self.measure.title}{unit}", numeric=True)]
        table = Table(self.title, [*columns, Column("verdict")] if stream else columns)
        for side in (self.first, self.second):
            values = [None if value is None else value * (slot or 1.0) for value in side.values]
            table.add(side.name, estimate(*mean_and_half(values)), *([side.stability or ""] if stream else []))
        return [table]

    def footnotes(self) -> list[str]:
        """The verdict."""
        return [f"{self.verdict}: {self.reason}."]

    @property
    def plain(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """In plain values, ready for JSON; times are in slots."""
        sides = [
            {"name": side.name, "servers": len(side.workload.servers), "values": side.values, "stability": side.stability}
            for side in (self.first, self.second)
        ]
        return {
            **self.first.workload.record,
            "slot_seconds": self.first.workload.shown_slot,
            "measure": self.measure.title,
            "margin": self.margin,
            "sides": sides,
            "ratio": [*self.ratio],
            "verdict": self.verdict,
            "status": self.status,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Pairing:
    """The comparison that `compare` runs: both sides on the same seeds, which double."""

    pair: Pair
    seeds: int
    slots: int | None
    time: float

    def run(self, ask: AskRuns) -> Pair:
        """Run until it is decided, or the next doubling would end after `time` seconds."""
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
        """Both sides with the runs of these seeds too, made together."""
        sides = pair.first, pair.second
        runs = [self._runs(side, seeds) for side in sides]
        of_runs: list[RunValues] = ask([*itertools.chain(*runs)], partial(run_values, goals=(pair.measure,)))
        cut = len(runs[0])
        more = of_runs[:cut], of_runs[cut:]
        return [replace(side, runs=(*side.runs, *of_side)) for side, of_side in zip(sides, more, strict=True)]

    def _runs(self, side: Side, seeds: range) -> list[Run]:
        """None beyond the first where nothing is drawn by chance."""
        endless = side.workload.jobs is None or begins_busy(side.workload)
        slots = DEFAULT_SLOTS if self.slots is None and endless else self.slots
        options = {} if endless or self.slots is not None else {"drain": True}
        of_side = seeds if side.by_chance else range(min(seeds.start, 1), 1)
        return [Run(side.workload, side.policy, seed, slots, options) for seed in of_side]


def pairing(workload: Any, first: Any, second: Any, options: CompareOptions, **changes: Any) -> Pairing:
    """The checked comparison that `compare` runs, from its arguments. Raises InputError."""
    margin, seeds, time = options.margin, options.seeds, options.time
    if not 0 <= margin < math.inf:
        raise ArgumentError(f"`margin` is a share of at least 0, such as 0.05, not {margin:g}")
    if not 0 < time < math.inf or seeds < 1:
        raise ArgumentError(f"`time` is a number of seconds above 0 and `seeds` at least 1, not {time:g} and {seeds}")
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
        raise InputError(f"both are {names[0]}")
    goal = measure_of(options.measure or default_measure(workloads[0], options.slots))
    check_goals([goal], workloads[0])
    chance = [len(seeds_for(side_policy, side, range(2))) > 1 for side_policy, side in zip(policies, workloads, strict=True)]
    sides = [Side(*parts) for parts in zip(names, policies, workloads, chance, strict=True)]
    return Pairing(Pair(sides[0], sides[1], goal, margin), seeds, options.slots, time)


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
    """Run two policies, or one policy on two sets of servers, on the same tasks: is the first worse than the second?

    workload       a Workload, or what `packenv.workload` takes: a name, a file, a trace, a table, a cluster as kubectl prints it.
                   Its arguments, such as `servers`, `slot_seconds` or `intensity`, go along here
    first, second  names of policies ("vqs:J=4") or objects; or two sets of servers: numbers, texts such as "3x1,2x0.5", or
                   `Servers`. A `load` or an `intensity` is then one of the second's, and both see the same arrivals
    options        fields of CompareOptions; measures are as in goals of a plan
    executor       where the runs are made, as of `packenv.simulate_many`: None is this process

    An unstable side beside a stable one is worse. Raises InputError for what cannot be compared, and what a run raises.
    """
    prepared = pairing(workload, first, second, options, **changes)
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        return prepared.run(runner.all)


def is_servers(side: Any) -> bool:
    """Whether one of the two names servers, not a policy: no policy begins with a digit, or is the name of a file
    alone, but for that of a rule, FILE.py.
    """
    if not isinstance(side, str):
        return isinstance(side, (int, Servers))
    return side[:1].isdigit() or (Path(side).is_file() and not side.endswith(".py"))


def _text(servers: Any) -> str:
    return counted(int(servers), "server") if str(servers).isdigit() else str(servers)


def _with_servers(workload: Any, first: Any, second: Any, changes: dict[str, Any]) -> list[Workload]:
    """The same work on both: the workload with the second's servers, and that with the first's."""
    if changes.get("servers") is not None:
        raise ArgumentError("leave out `servers` when you compare two sets of servers")
    changes = {key: value for key, value in changes.items() if key != "servers"}
    base = at_a_rate(workload, servers=_servers(second), **changes)
    rate: dict[str, Any] = {} if base.jobs is not None else {"rate": base.rate}
    return [find_workload(base, servers=_servers(first), **rate), base]


def _servers(servers: Any) -> Any:
    return int(servers) if isinstance(servers, str) and servers.isdigit() else servers


def default_measure(workload: Workload, slots: int | None) -> str:
    """The measure that decides which of two runs is better: the mean queue counts tasks that never start, too."""
    if workload.jobs is None or slots is not None or begins_busy(workload):
        return "mean queue"
    return "mean completion" if workload.jobs.job is not None else "mean wait"


def measure_of(text: str) -> Goal:
    """A measure from its words. Raises InputError for one that is not known, or of which more is better."""
    statistic, _, measure = text.strip().rpartition(" ")
    if measure not in STATISTICS or measure == "utilisation":
        raise InputError(f"measure {text!r}: not compared; measures are {MEASURES}")
    statistic = check_statistic(text, statistic.strip(), measure, STATISTICS[measure], "measure")
    return Goal(text, statistic, measure, math.inf)
