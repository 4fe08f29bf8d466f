"""Workloads that do not begin with empty servers: which tasks are in service in slot 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from packenv.workloads.workload import Workload

InService = tuple[Sequence[float], int, int]
"""Demands in units of capacity, the server's number, and the slots that remain: `initial` of `packenv.simulate`."""


@runtime_checkable
class BeginsBusy(Protocol):
    """What a workload's function from a seed to a table offers besides, if the workload begins with tasks in service."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines that say what is assumed of these tasks, and what is ignored."""
        ...

    def in_service(self, seed: int) -> list[InService]:
        """The tasks in service in slot 0 of a run with this seed."""
        ...

    def times(self, seed: int, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of all waiting tasks (n,) in a run with this seed, from those of the table; -1: never."""
        ...


def begins_busy(workload: Workload) -> bool:
    """Whether runs of the workload begin with tasks in service."""
    return isinstance(workload.draw, BeginsBusy)


def in_service_of(workload: Workload, seed: int) -> list[InService]:
    """The tasks in service in slot 0 of a run with this seed; none for a workload that begins with empty servers."""
    return workload.draw.in_service(seed) if isinstance(workload.draw, BeginsBusy) else []
