"""Lower bounds on waits and makespan of a queue, for one seed's times.

A pod with s slots of service and a start in a slot 0 … t has taken its demand for at least min(s, h) slots by slot t + h, for
every h. Running pods go on. So at most as many pods have started as fit, smallest first, into the rest of the nodes' t + h
slots, in each resource, for every h. These numbers bound every quantile of the waits, and their sum the mean. The makespan
takes the work of all ending pods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv import Workload
from packenv.extend import to_units
from packenv_kubernetes.planning.queue import QueueGoal, long_enough, place
from packenv_kubernetes.started import Started

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SAFE = 1 + 1e-9
"""Safety factor on areas, which are sums of doubles."""

LENGTHS = 16
"""Number of services tried as h. A pod's area grows with h up to its service, so it bends there."""

FINER, EACH = 1.2, 64
"""Ratio of successive slots in the sum of waits, and number of first slots without gaps."""


AT_ONCE = 65
"""Slots evaluated in one step of a search."""


class WaitBound:
    """The bounds for a cluster's workload and one seed."""

    def __init__(self, workload: Workload, seed: int) -> None:
        started = workload.draw
        assert isinstance(started, Started)
        slots = started.slots(seed)
        again = np.array(started.again, np.int64)
        queued, service = len(started.queued), started.in_queue_order(started(seed).service)
        demand = np.concatenate([started.demand, started.again_demand[: len(again)]]) if len(again) else started.demand
        self.demand = to_units(demand).astype(np.float64)  # (n, D) units
        self.service = np.concatenate([slots, service[queued : queued + len(again)]]).astype(np.float64)
        endless = np.concatenate([started.endless, started.running_endless[again]])
        self.ends = ~endless if started.services else np.zeros_like(endless)
        self.whole = self.service.copy()
        if len(started.lower):  # pods that may be preempted may have started and be gone
            self.service[started.lower] = 1.0
        if len(started.loose):  # without known demand and time
            self.demand[started.loose] = 0.0
        self.loose = started.loose if len(started.loose) else np.zeros_like(endless)
        self.capacity = workload.servers.units.sum(axis=0) * SAFE  # (D,)
        staying = started.sure(seed)
        self.running, self.left = staying.demand.astype(np.float64), staying.remaining.astype(np.float64)  # units, slots
        self.slots = long_enough(workload, seed)

    def least(self, goal: QueueGoal) -> float | None:
        """Return a measure's bound for all policies, None if none starts all pods."""
        n = len(self.demand)
        if goal.measure == "makespan":
            return self._first(self._work_fits) if self.ends.any() else 0.0
        if goal.statistic == "mean":
            return None if self.most_started(np.array([self.slots]))[0] < n else self._mean()
        pods = place(goal.statistic, n)
        return self._first(lambda slots: self.most_started(slots) >= pods)

    def most_started(self, slots: Ints) -> Ints:
        """Return each slot's most starts under any policy, (m,)."""
        most = np.full(len(slots), len(self.demand))
        for h, areas in self._areas:
            free = self._free(slots + h)
            for d in range(free.shape[1]):
                most = np.minimum(most, np.searchsorted(areas[:, d], free[:, d], side="right"))
        return most

    @cached_property
    def _areas(self) -> list[tuple[float, Floats]]:
        """For services h, cumulative areas (n, D) of the smallest pods."""
        steps = np.unique(np.quantile(self.service, np.linspace(0, 1, LENGTHS), method="nearest"))
        return [(h, np.cumsum(np.sort(self.demand * np.minimum(self.service, h)[:, None], axis=0), axis=0)) for h in steps]

    @cached_property
    def _running_sums(self) -> tuple[Floats, Floats, Floats]:
        """Running pods' slots left, ascending, and sums of demand and area."""
        order = np.argsort(self.left)
        zero = np.zeros((1, self.demand.shape[1]))
        whole = np.concatenate([zero, np.cumsum(self.running[order] * self.left[order, None], axis=0)])
        return self.left[order], np.concatenate([zero, np.cumsum(self.running[order], axis=0)]), whole

    def _free(self, slots: NDArray[Any]) -> Floats:
        """Return the area free of running pods in the first slots, (m, D)."""
        left, amount, whole = self._running_sums
        ended = np.searchsorted(left, slots, side="right")  # how many end within
        used = whole[ended] + slots[:, None] * (amount[-1] - amount[ended])
        return slots[:, None] * self.capacity - used / SAFE

    def _work_fits(self, slots: Ints) -> Bools:
        """Return whether all ending pods can have ended after `slots`, (m,)."""
        work = (self.demand * self.whole[:, None])[self.ends].sum(axis=0)
        longest = self.whole[self.ends & ~self.loose].max(initial=0.0)
        return np.asarray((slots >= longest) & (work <= self._free(slots)).all(axis=1), np.bool_)

    def _mean(self) -> float:
        """Return the sum over slots of unstarted pods, per pod."""
        n, waited, begin = len(self.demand), 0.0, 0
        steps = int(np.log(self.slots + 1) / np.log(FINER)) + 2
        slots = np.concatenate([np.arange(1, EACH), (FINER ** np.arange(steps)).astype(np.int64)])
        ends = np.unique(np.minimum(slots, self.slots))
        for end, started in zip(ends.tolist(), self.most_started(ends - 1).tolist(), strict=True):
            waited += (end - begin) * (n - started)  # as few wait in the slots before the last of them
            begin = end
        return waited / n

    def _first(self, holds: Callable[[Ints], Bools]) -> float | None:
        """Return the first slot from which something holds, or None."""
        low, high = -1, self.slots
        if not holds(np.array([high]))[0]:
            return None
        while high - low > 1:
            points = np.unique(np.linspace(low + 1, high, AT_ONCE).astype(np.int64))
            n = int(np.argmax(holds(points)))
            low, high = (int(points[n - 1]) if n else low), int(points[n])
        return float(high)
