"""Workloads whose servers are not empty at the start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.results.schedule_table import Schedule

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InService:
    """Tasks in service in slot 0, one a row."""

    demand: Ints  # (n, D) units
    server: Ints  # (n,)
    remaining: Ints  # (n,) slots, >= 1: each leaves at the start of this slot
    devices: Ints | None = None  # (n, 4) as `Jobs.devices`, and those of its server that it has, as bits; None: it has none

    @classmethod
    def of(cls, rows: Iterable[tuple[Sequence[int], int, int]], resources: int) -> Self:
        """Build the table from demands in units, servers and remaining slots."""
        demand, server, remaining = zip(*rows, strict=True) if (rows := [*rows]) else ((), (), ())
        demands = np.array(demand, np.int64).reshape(-1, resources)
        return cls(demands, np.array(server, np.int64), np.array(remaining, np.int64))

    def __len__(self) -> int:
        return len(self.server)


@runtime_checkable
class BeginsBusy(Protocol):
    """Methods of a `draw` with tasks in service at the start."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines on assumptions and omissions for these tasks."""
        ...

    def in_service(self, seed: int) -> InService:
        """Return the tasks in service in slot 0 of a seed."""
        ...

    def times(self, seed: int, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return starts and ends (n,) of waiting tasks, -1 for never."""
        ...


@runtime_checkable
class CountsOthers(Protocol):
    """The method of a `draw` whose measures count other tasks than the rows of its table."""

    def counted(self, seed: int, jobs: Jobs, start: Ints, end: Ints) -> tuple[Jobs, Ints, Ints] | None:
        """Return the tasks that measures count, with starts and ends (n,), -1 for never. None: the rows of `jobs`."""
        ...


def begins_busy(workload: Workload) -> bool:
    """Return whether runs of the workload begin with tasks in service."""
    return isinstance(workload.draw, BeginsBusy)


def counted_tasks(draw: Any, seed: int, jobs: Jobs, schedule: Schedule, last: int) -> tuple[Jobs, Schedule]:
    """Return the tasks that measures of a run count, and their times, by default `jobs` and `schedule`.

    last  starts from this slot on are beyond the run
    """
    counts = isinstance(draw, CountsOthers) and len(schedule.start) == len(jobs)
    counted = draw.counted(seed, jobs, schedule.start, schedule.end) if counts else None
    if counted is None:
        return jobs, schedule
    tasks, start, end = counted
    begun = (start >= 0) & (start < last)
    return tasks, schedule._replace(start=np.where(begun, start, -1), end=np.where(begun, end, -1))


def in_service_of(workload: Workload, seed: int) -> InService:
    """Return the tasks in service in slot 0, perhaps none."""
    if isinstance(workload.draw, BeginsBusy):
        return workload.draw.in_service(seed)
    return InService.of((), workload.servers.units.shape[1])
