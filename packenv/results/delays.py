"""A histogram of delays. Merge runs before you take quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def rank(share: float, count: int) -> int:
    """Return the least number >= this share of `count`, at least 1."""
    # A share of a whole number may come out a little above one: 0.55 · 100 does.
    return max(math.ceil(share * count * (1 - 1e-12)), 1)


class Delays(NamedTuple):
    """Delays in increasing order, and their numbers of tasks."""

    slots: NDArray[np.float64]  # (n,) exact in a table, else below 2,048 slots; above, the middle of a bin of at most 1/1,024
    tasks: NDArray[np.int64]  # (n,)

    @classmethod
    def together(cls, runs: Sequence[Delays]) -> Delays:
        """Return the delays of several runs together."""
        slots, place = np.unique(np.concatenate([run.slots for run in runs]), return_inverse=True)
        tasks = np.zeros(len(slots), np.int64)
        np.add.at(tasks, place, np.concatenate([run.tasks for run in runs]))
        return cls(slots, tasks)

    @property
    def total(self) -> int:
        return int(self.tasks.sum())

    def quantile(self, share: float) -> float | None:
        """Return a quantile of the delays, in slots, or None."""
        if not len(self.tasks):
            return None
        up_to = np.cumsum(self.tasks)
        return float(self.slots[np.searchsorted(up_to, rank(min(share, 1.0), int(up_to[-1])))])

    def within(self, slots: float) -> int:
        """Count the tasks with at most this delay."""
        return int(self.tasks[: np.searchsorted(self.slots, slots, side="right")].sum())

    def coarser(self, bits: int) -> Delays:
        """Round delays from 2^bits slots on to `bits` binary digits."""
        step = 2.0 ** np.maximum(np.frexp(self.slots)[1] - bits, 0)
        return Delays.together([Delays(np.rint(self.slots / step) * step, self.tasks)])

    def plain(self) -> list[list[float]]:
        return [self.slots.tolist(), self.tasks.tolist()]

    @classmethod
    def from_plain(cls, plain: Any) -> Delays:
        """Read what `plain` made. ValueError or TypeError for anything else."""
        slots, tasks = plain
        return cls(np.array(slots, np.float64), np.array(tasks, np.int64))
