"""Tasks in service, and use of servers (PAPERS §2, §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots
from packenv.results.schedule_table import Schedule
from packenv.workloads.network import Network

Ints = NDArray[np.int64]


class Occupation(NamedTuple):
    """k demands, each on one server for some slots."""

    server: Ints  # (k,)
    start: Ints  # (k,) first slot
    end: Ints  # (k,) slot in which it is over
    demand: Ints  # (k, D) units


def in_service(jobs: Jobs, schedule: Schedule, network: Network | None) -> Occupation:
    """Return demands of started rows, network reads included."""
    rows = np.flatnonzero(schedule.start >= 0)
    tasks = Occupation(schedule.server[rows].astype(np.int64), schedule.start[rows], schedule.end[rows], jobs.demand[rows])
    if schedule.source is None or network is None:
        return tasks
    reading, serving = network.units(jobs.resources)
    reads = rows[schedule.source[rows] >= 0]
    return Occupation(
        np.concatenate([tasks.server, schedule.server[reads], schedule.source[reads]]),
        np.concatenate([tasks.start, schedule.start[reads], schedule.start[reads]]),
        np.concatenate([tasks.end, schedule.end[reads], schedule.end[reads]]),
        np.concatenate([tasks.demand, np.tile(reading, (len(reads), 1)), np.tile(serving, (len(reads), 1))]),
    )


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Occupancy:
    """Use and queue from slot[k] to slot[k + 1]."""

    slot: Ints  # (k + 1,)
    used: Floats  # (k, D) share of the capacity in service
    waiting: Ints  # (k,) number of eligible tasks that wait

    @property
    def utilisation(self) -> Floats:
        """(D,) mean share of the capacity in service."""
        return np.average(self.used, axis=0, weights=np.diff(self.slot))

    @property
    def fragmentation(self) -> float:
        """Mean free share of the capacity while tasks wait."""
        weights = np.diff(self.slot) * (self.waiting > 0)
        return float(np.average(1 - self.used, axis=0, weights=weights).mean()) if weights.any() else 0.0


def occupancy(jobs: Jobs, schedule: Schedule, capacity: Ints, network: Network | None = None) -> Occupancy:
    """Return use and queue for capacities (L, D) in units.

    It covers the first arrival to the last end. `network`: the workload's, if remote reads take resources.
    """
    _, start, end, demand = in_service(jobs, schedule, network)
    eligible = eligible_slots(jobs, schedule)
    slot = np.unique(np.concatenate([eligible[eligible >= 0], start, end]))
    total = capacity.sum(axis=0)
    change = np.zeros((len(slot), jobs.resources), np.int64)
    np.add.at(change, np.searchsorted(slot, start), demand)
    np.add.at(change, np.searchsorted(slot, end), -demand)
    queue = np.zeros(len(slot), np.int64)
    np.add.at(queue, np.searchsorted(slot, eligible[eligible >= 0]), 1)
    np.add.at(queue, np.searchsorted(slot, schedule.start[schedule.start >= 0]), -1)
    used = np.cumsum(change, axis=0)[:-1] / np.where(total > 0, total, 1)
    return Occupancy(slot, used, np.cumsum(queue)[:-1])


def most_allocated(jobs: Jobs, schedule: Schedule, capacity: Ints, network: Network | None = None) -> Floats:
    """(D,) largest share of any server in service (overfull above 1)."""
    server, start, end, demand = in_service(jobs, schedule, network)
    server = np.concatenate([server] * 2)
    slot = np.concatenate([end, start])
    change = np.concatenate([-demand, demand])
    order = np.lexsort((np.arange(len(slot)), slot, server))  # ends before starts in the same slot
    server, held = server[order], np.cumsum(change[order], axis=0)  # the changes of a server add up to 0
    share = held / np.where(capacity > 0, capacity, 1)[server]
    return np.asarray(share.max(axis=0, initial=0.0))
