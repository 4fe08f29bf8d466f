"""How short waits and the makespan of a cluster's queue can be under any policy: by area, for the times of one seed.

A pod that is in service for s slots, and has started in one of the slots 0 … t, has taken its demand for min(s, h) slots at least
by slot t + h, for every h. A pod that ran already goes on. So no more pods have started by then than fit, the smallest first,
into what the nodes have in t + h slots and the running pods leave of it: in each resource, for every h. These numbers bound
every quantile of the waits, and their sum the mean. The makespan takes the work of all pods that end.
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
"""Areas are sums of doubles: what there is, is taken to be larger by this factor."""

LENGTHS = 16
"""Services that are tried as h: what a pod takes grows with h up to its service, so these are where it bends."""

FINER, EACH = 1.2, 64
"""Ratio of slots that follow each other in the sum of waits, after the first ones, of which each is looked at."""


AT_ONCE = 65
"""Slots that are looked at in one step of a search."""


class WaitBound:
    """The bounds for one workload that begins in a cluster as it is, and one seed."""

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
        if len(started.lower):  # who may be preempted may have started and be gone again
            self.service[started.lower] = 1.0
        if len(started.loose):  # of these nothing is known
            self.demand[started.loose] = 0.0
        self.loose = started.loose if len(started.loose) else np.zeros_like(endless)
        self.capacity = workload.servers.units.sum(axis=0) * SAFE  # (D,)
        staying = started.sure(seed)
        self.running, self.left = staying.demand.astype(np.float64), staying.remaining.astype(np.float64)  # units, slots
        self.slots = long_enough(workload, seed)

    def least(self, goal: QueueGoal) -> float | None:
        """No policy has a smaller value of the goal's measure; None if under no policy all pods start."""
        n = len(self.demand)
        if goal.measure == "makespan":
            return self._first(self._work_fits) if self.ends.any() else 0.0
        if goal.statistic == "mean":
            return None if self.most_started(np.array([self.slots]))[0] < n else self._mean()
        pods = place(goal.statistic, n)
        return self._first(lambda slots: self.most_started(slots) >= pods)

    def most_started(self, slots: Ints) -> Ints:
        """(m,) for each slot (m,), more pods than these have not started by its end under any policy."""
        most = np.full(len(slots), len(self.demand))
        for h, areas in self._areas:
            free = self._free(slots + h)
            for d in range(free.shape[1]):
                most = np.minimum(most, np.searchsorted(areas[:, d], free[:, d], side="right"))
        return most

    @cached_property
    def _areas(self) -> list[tuple[float, Floats]]:
        """For each h, some pod's service, what the smallest pods take together (n, D), resource by resource."""
        steps = np.unique(np.quantile(self.service, np.linspace(0, 1, LENGTHS), method="nearest"))
        return [(h, np.cumsum(np.sort(self.demand * np.minimum(self.service, h)[:, None], axis=0), axis=0)) for h in steps]

    @cached_property
    def _running_sums(self) -> tuple[Floats, Floats, Floats]:
        """Slots left of the running pods in order of their ends, and sums of demand, and of demand · slots, of the first."""
        order = np.argsort(self.left)
        zero = np.zeros((1, self.demand.shape[1]))
        whole = np.concatenate([zero, np.cumsum(self.running[order] * self.left[order, None], axis=0)])
        return self.left[order], np.concatenate([zero, np.cumsum(self.running[order], axis=0)]), whole

    def _free(self, slots: NDArray[Any]) -> Floats:
        """(m, D) what running pods leave of the nodes in the first slots (m,)."""
        left, amount, whole = self._running_sums
        ended = np.searchsorted(left, slots, side="right")  # how many end within
        used = whole[ended] + slots[:, None] * (amount[-1] - amount[ended])
        return slots[:, None] * self.capacity - used / SAFE

    def _work_fits(self, slots: Ints) -> Bools:
        """(m,) whether the pods that end can all have ended after `slots` (m,)."""
        work = (self.demand * self.whole[:, None])[self.ends].sum(axis=0)
        longest = self.whole[self.ends & ~self.loose].max(initial=0.0)
        return np.asarray((slots >= longest) & (work <= self._free(slots)).all(axis=1), np.bool_)

    def _mean(self) -> float:
        """Sum over slots of the pods that have not started by then, over their number."""
        n, waited, begin = len(self.demand), 0.0, 0
        steps = int(np.log(self.slots + 1) / np.log(FINER)) + 2
        slots = np.concatenate([np.arange(1, EACH), (FINER ** np.arange(steps)).astype(np.int64)])
        ends = np.unique(np.minimum(slots, self.slots))
        for end, started in zip(ends.tolist(), self.most_started(ends - 1).tolist(), strict=True):
            waited += (end - begin) * (n - started)  # as few wait in the slots before the last of them
            begin = end
        return waited / n

    def _first(self, holds: Callable[[Ints], Bools]) -> float | None:
        """The first slot, up to the last of a run, from which on something holds; None if it never does."""
        low, high = -1, self.slots
        if not holds(np.array([high]))[0]:
            return None
        while high - low > 1:
            points = np.unique(np.linspace(low + 1, high, AT_ONCE).astype(np.int64))
            n = int(np.argmax(holds(points)))
            low, high = (int(points[n - 1]) if n else low), int(points[n])
        return float(high)
