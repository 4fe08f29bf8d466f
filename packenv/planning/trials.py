"""Trials of a plan: values of each run, and whether goals are met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from packenv.planning.goals import Goal
from packenv.results.delays import Delays
from packenv.results.result import Result
from packenv.results.stability import Verdict
from packenv.runs.run import Run
from packenv.runs.statistics import DOUBT, UNKNOWN, Interval, interval, share_within
from packenv.workloads.workload import Workload


class RunValues(NamedTuple):
    """The values that a plan needs from one run."""

    values: list[float | None]  # of each goal
    verdict: Verdict
    stopped: str | None
    max_queue: int
    mean_queue: float | None = None
    delays: Delays | None = None  # if a goal is a quantile of the waits

    def plain(self) -> dict[str, Any]:
        """Return the values in JSON's types."""
        delays = None if self.delays is None else self.delays.plain()
        return self._asdict() | {"verdict": list(self.verdict), "delays": delays}

    @classmethod
    def from_plain(cls, plain: Any) -> RunValues:
        """Read `plain`. Raises ValueError, KeyError or TypeError."""
        delays = None if plain.get("delays") is None else Delays.from_plain(plain["delays"])
        return cls(**plain | {"verdict": Verdict(*plain["verdict"]), "delays": delays})


class Trial(NamedTuple):
    """One number of servers, with all seeds."""

    servers: int
    values: list[list[float | None]]  # of each goal, one for each seed
    stable: bool  # no run was stopped; a stream: the verdict of all seeds together is not "unstable"
    queued: bool  # whether a task ever waited for others in the last slot of any event
    met: list[bool]  # of each goal: by its `value`
    mean_queues: tuple[float | None, ...] = ()  # of each seed
    pooled: tuple[Interval | None, ...] = ()  # of each goal that is a quantile of the waits: over all runs
    decided: tuple[bool | None, ...] = ()  # of each goal: certainly met, or missed. None: noise leaves it open
    settled: bool = True  # a stream: the verdict of all seeds together is one
    stopped: str | None = None  # why a run ended early

    @property
    def meets(self) -> bool:
        return self.stable and all(self.met)

    def value(self, n: int) -> float | None:
        """Return goal n's measure, pooled or a mean, None if one lacks."""
        pooled = self.pooled[n] if self.pooled else None
        return mean_of(self.values[n]) if pooled is None else pooled.mean

    def estimate(self, n: int) -> Interval:
        """Return goal n's measure with its interval, of known values."""
        pooled = self.pooled[n] if self.pooled else None
        return interval(self.values[n]) if pooled is None else pooled

    def same_queue(self, other: Trial) -> bool:
        """Return whether the mean queues are known and equal, seed by seed."""
        return bool(self.mean_queues) and None not in self.mean_queues and self.mean_queues == other.mean_queues


class AskRuns(Protocol):
    """Makes runs in parallel, and extracts values from each."""

    def __call__(self, runs: Sequence[Run], extract: Callable[[Workload, Result], Any]) -> list[Any]: ...


def run_values(workload: Workload, result: Result, goals: Sequence[Goal]) -> RunValues:
    """Extract a run's values, unknown waits if tasks never start."""
    if result.stopped is not None and workload.jobs is not None:
        return RunValues([None for _ in goals], result.verdict, result.stopped, result.max_queue or 0)
    delays = result.delays if any(goal.pooled is not None for goal in goals) else None
    values = [goal.value(result) for goal in goals]
    return RunValues(values, result.verdict, result.stopped, result.max_queue or 0, result.mean_queue, delays)


def is_met(goal: Goal, values: Sequence[float | None], delays: Sequence[Delays] = (), doubt: float = DOUBT) -> bool | None:
    """Return whether a goal is met, with at most `doubt` chance of error.

    None if noise leaves it open. A run that measured nothing misses it. A goal on a quantile of the waits is one on the share
    of tasks that wait no longer than its limit.
    """
    if goal.pooled is not None:
        share, low, high = share_within(delays, goal.limit, doubt)
        limit, least = float(goal.pooled), True
    else:
        share, low, high = UNKNOWN if None in values else interval(values, doubt)
        limit, least = goal.limit, goal.measure == "utilisation"
    if share is None:
        return False
    if low is None or high is None:
        return None
    if low >= limit if least else high <= limit:
        return True
    return False if (high < limit if least else low > limit) else None


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean over the seeds, None unless each has a value."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers and len(numbers) == len(values) else None
