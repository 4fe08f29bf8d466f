"""How full the cluster and its servers were during a run, from its Jobs table and schedule (PAPERS §2, §3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots
from packenv.results.schedule import Schedule

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Occupancy:
    """Use and queue of the cluster over time: entry k holds from slot[k] up to slot[k + 1]."""

    slot: Ints  # (k + 1,)
    used: Floats  # (k, D) share of the capacity in service
    waiting: Ints  # (k,) number of eligible tasks that wait

    @property
    def utilisation(self) -> Floats:
        """(D,) mean share of the capacity in service, from the first slot to the last."""
        return np.average(self.used, axis=0, weights=np.diff(self.slot))

    @property
    def fragmentation(self) -> float:
        """Mean share of the capacity, over resources and time, that is free while tasks wait."""
        weights = np.diff(self.slot) * (self.waiting > 0)
        return float(np.average(1 - self.used, axis=0, weights=weights).mean()) if weights.any() else 0.0


def occupancy(jobs: Jobs, schedule: Schedule, capacity: Ints) -> Occupancy:
    """Use and queue of a cluster with capacities (L, D) in units, from the first arrival to the last end."""
    started = schedule.start >= 0
    start, end, demand = schedule.start[started], schedule.end[started], jobs.demand[started]
    eligible = eligible_slots(jobs, schedule)
    slot = np.unique(np.concatenate([eligible[eligible >= 0], start, end]))
    total = capacity.sum(axis=0)
    change = np.zeros((len(slot), jobs.resources), np.int64)
    np.add.at(change, np.searchsorted(slot, start), demand)
    np.add.at(change, np.searchsorted(slot, end), -demand)
    queue = np.zeros(len(slot), np.int64)
    np.add.at(queue, np.searchsorted(slot, eligible[eligible >= 0]), 1)
    np.add.at(queue, np.searchsorted(slot, start), -1)
    used = np.cumsum(change, axis=0)[:-1] / np.where(total > 0, total, 1)
    return Occupancy(slot, used, np.cumsum(queue)[:-1])


def most_allocated(jobs: Jobs, schedule: Schedule, capacity: Ints) -> Floats:
    """(D,) the largest share of its capacity that any server ever had in service; above 1 it was overfull."""
    rows = np.flatnonzero(schedule.start >= 0)
    server = np.concatenate([schedule.server[rows]] * 2)
    slot = np.concatenate([schedule.end[rows], schedule.start[rows]])
    change = np.concatenate([-jobs.demand[rows], jobs.demand[rows]])
    order = np.lexsort((np.arange(len(slot)), slot, server))  # ends before starts in the same slot
    server, held = server[order], np.cumsum(change[order], axis=0)  # the changes of a server add up to 0
    share = held / np.where(capacity > 0, capacity, 1)[server]
    return np.asarray(share.max(axis=0, initial=0.0))
