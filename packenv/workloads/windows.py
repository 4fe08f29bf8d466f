"""Tables made from others: windows of a log, and arrivals that are faster or slower."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from packenv.errors import InputError
from packenv.jobs import Jobs

if TYPE_CHECKING:
    from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class Windows:
    """Function from a seed to a window of a workload's table.

    If tables are drawn, it is a window of the seed's own table. Arrivals count from the window's first job.

    between  the shares of the table's jobs to take windows from: (0, 0.5) is its first half

    Raises InputError for a workload without a table, with tasks that wait for others, or with fewer jobs than a window.
    """

    workload: Workload
    jobs: int
    between: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        table, name = self.workload.jobs, self.workload.name
        if table is None:
            raise InputError(f"windows: {name} is a stream of tasks, but windows are parts of a table of jobs")
        if any(column is not None for column in (table.job, table.phase, table.predecessors, table.home, table.gang)):
            raise InputError(f"windows: the tasks of {name} belong to jobs or have home servers, but windows need single tasks")
        if not 0 <= self.between[0] < self.between[1] <= 1:
            raise InputError(f"windows: between must be two shares of the table, the lower one first, not {self.between}")
        first, last = self._ends(len(table))
        there = "" if self.between == (0.0, 1.0) else f" in {self.between}"
        if not 1 <= self.jobs <= last - first:
            most = f"{last - first:,}"
            raise InputError(f"jobs={self.jobs}: {name} has {most} jobs{there}; give `jobs` from 1 to {most}")

    def __call__(self, seed: int) -> Jobs:
        return self.window(seed)[0]

    def window(self, seed: int) -> tuple[Jobs, float]:
        """Return a window's table, and its start in the log, in s."""
        log = self.workload.at(seed)
        table = log.jobs
        assert table is not None
        at = self._first(seed, len(table))
        chosen = np.zeros(len(table), np.bool_)
        chosen[at : at + self.jobs] = True
        part, begins = table.only(chosen), int(table.arrival[at])
        return replace(part, arrival=part.arrival - begins), log.began + begins * (log.slot_seconds or 1.0)

    @property
    def is_only_one(self) -> bool:
        """Whether all seeds have the same window, of all jobs."""
        first, last = self._ends(0 if self.workload.jobs is None else len(self.workload.jobs))
        return self.workload.draw is None and last - first == self.jobs

    def overlap(self, seeds: Iterable[int]) -> bool:
        """Return whether windows of these seeds share jobs."""
        if self.workload.draw is not None:  # a table for each
            return False
        assert self.workload.jobs is not None
        firsts = sorted(self._first(seed, len(self.workload.jobs)) for seed in seeds)
        return any(after - before < self.jobs for before, after in pairwise(firsts))

    def _first(self, seed: int, rows: int) -> int:
        first, last = self._ends(rows)
        return int(np.random.Generator(np.random.Philox(key=[seed, 0])).integers(first, last - self.jobs + 1))

    def _ends(self, jobs: int) -> tuple[int, int]:
        return round(self.between[0] * jobs), round(self.between[1] * jobs)


def spread(jobs: Jobs, times: float) -> Jobs:
    """Multiply the arrival slots by `times`."""
    return replace(jobs, arrival=np.floor(jobs.arrival * times).astype(np.int64))


def spread_draw(draw: Callable[[int], Jobs], times: float) -> Callable[[int], Jobs]:
    """Spread the tables of a function, which stays `Lasting`."""
    return (LastingSpread if isinstance(draw, Lasting) else Spread)(draw, times)


@runtime_checkable
class Lasting(Protocol):
    """Function from a seed to a part of an endless stream."""

    def longer(self, times: int) -> Callable[[int], Jobs]:
        """Return the function whose tables are `times` as long."""
        ...


@dataclass(frozen=True)
class Spread:
    """Function from a seed to a table with spread arrivals."""

    draw: Any  # a function from a seed to a table
    times: float

    def __call__(self, seed: int) -> Jobs:
        return spread(self.draw(seed), self.times)


@dataclass(frozen=True)
class LastingSpread(Spread):
    """Spread of a function whose tables can be longer."""

    def longer(self, times: int) -> LastingSpread:
        return replace(self, draw=self.draw.longer(times))
