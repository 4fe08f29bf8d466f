"""Tasks' distance to their data, and its cost (PAPERS §5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots, job_numbers
from packenv.results.occupancy import Occupation, in_service
from packenv.results.schedule_table import Schedule
from packenv.workloads.network import ANY, NODE, RACK, Network
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = (1, 10, 100)
"""Bins of jobs by their number of tasks: up to each of these numbers, and one more bin for larger jobs."""


@dataclass(frozen=True)
class DataLocality:
    """Times (slots) of k started tasks with home servers.

    A completion time has four parts: service, overhead, scheduling delay, and time without room for the task on any server.
    The scheduling delay (PAPERS §5) is waiting time although some server has room. Under delay scheduling it is a wait for
    locality. Otherwise it is 0 for policies that leave no room unused.
    """

    row: Ints  # (k,) row in the Jobs table
    level: Ints  # (k,) how near: NODE, RACK or ANY
    tasks: Ints  # (k,) number of tasks of the task's job
    completion: Ints  # (k,) from when it was eligible to its end
    service: Ints  # (k,) service at home
    overhead: Ints  # (k,) slots in service beyond that
    scheduling_delay: Ints  # (k,) slots that it waited although some server had room for it

    @property
    def no_room(self) -> Ints:
        """(k,) slots of waiting without room on any server."""
        return self.completion - self.service - self.overhead - self.scheduling_delay

    def share(self, level: int, least: int = 1, most: float = math.inf) -> float | None:
        """Return the level's share, for `least` to `most` tasks a job; or None."""
        chosen = (self.tasks >= least) & (self.tasks <= most)
        return float((self.level[chosen] == level).mean()) if chosen.any() else None

    def by_size(self, level: int) -> dict[str, float | None]:
        """Return the share of tasks at this level, per bin."""
        edges = [(low + 1, high) for low, high in zip((0, *BINS), (*BINS, math.inf), strict=True)]
        names = ["1", *(f"{low}-{high}" for low, high in edges[1:-1]), f">{BINS[-1]}"]
        return {name: self.share(level, *edge) for name, edge in zip(names, edges, strict=True)}


def data_locality(workload: Workload, schedule: Schedule) -> DataLocality | None:
    """Return locality in a run of `Workload.at(seed)`, or None."""
    jobs = workload.jobs
    if jobs is None or jobs.home is None:
        return None
    row = np.flatnonzero((schedule.start >= 0) & (np.diff(jobs.home.offsets)[: len(schedule.start)] > 0))
    job, eligible = job_numbers(jobs), eligible_slots(jobs.first(len(schedule.start)), schedule)
    stay = schedule.end[row] - schedule.start[row]
    idle = idle_slots(jobs, schedule, eligible, workload.servers.units, workload.network)
    return DataLocality(
        row=row,
        level=levels(jobs, workload.network or Network(), len(workload.servers), row, schedule.server[row]),
        tasks=np.bincount(job)[job[row]],
        completion=schedule.end[row] - eligible[row],
        service=jobs.service[row],
        overhead=stay - jobs.service[row],
        scheduling_delay=idle[row],
    )


def levels(jobs: Jobs, network: Network, servers: int, row: Ints, server: NDArray[np.int32]) -> Ints:
    """(k,) levels of rows with home servers on their servers."""
    assert jobs.home is not None
    rack = network.rack_of(servers)
    level = np.full(len(row), ANY)
    counts = np.diff(jobs.home.offsets)[row]
    for n in range(int(counts.max(initial=0))):
        has = counts > n
        home = jobs.home.values[jobs.home.offsets[row[has]] + n]
        near = np.where(home == server[has], NODE, np.where(rack[home] == rack[server[has]], RACK, ANY))
        level[has] = np.minimum(level[has], near)
    return level


def idle_slots(jobs: Jobs, schedule: Schedule, eligible: Ints, capacity: Ints, network: Network | None) -> Ints:
    """(n,) slots of waiting although some server had room.

    0 if it never started. Room means room for its demand, without network reads. `capacity` (L, D) in units.
    """
    started, held = np.flatnonzero(schedule.start >= 0), in_service(jobs, schedule, network)
    idle = np.zeros(len(eligible), np.int64)
    for demand in np.unique(jobs.demand[started], axis=0):
        alike = started[(jobs.demand[started] == demand).all(axis=1)]
        slot, total = time_with_room(held, demand, capacity)
        idle[alike] = np.interp(schedule.start[alike], slot, total) - np.interp(eligible[alike], slot, total)
    return idle


def time_with_room(held: Occupation, demand: Ints, capacity: Ints) -> tuple[Ints, Ints]:
    """Return slots, and numbers of earlier ones with room (after scheduling)."""
    last = int(held.end.max(initial=0)) + 1
    # Changes of each server's use, in order of time.
    server = np.concatenate([np.arange(len(capacity)), held.server, held.server])
    slot = np.concatenate([np.full(len(capacity), -1), held.start, held.end])
    used = np.concatenate([np.zeros_like(capacity), held.demand, -held.demand])
    order = np.lexsort((slot, server))
    server, slot = server[order], slot[order]
    free = capacity[server] - _running_sums(used[order], server)
    settled = np.append((np.diff(server) != 0) | (np.diff(slot) != 0), True)  # the last change of a server in a slot
    # Whether a server has room after its last change in a slot.
    server, slot, room = server[settled], slot[settled], (free[settled] >= demand).all(axis=1)
    first = np.diff(server, prepend=-1) != 0
    change = room.astype(np.int64) - np.where(first, 0, np.append(0, room[:-1]))
    # Add up over servers, and count slots with room on at least one.
    moments, where = np.unique(np.append(slot, last), return_inverse=True)
    with_room = np.cumsum(np.bincount(where[:-1], change, len(moments)))[:-1] > 0.5
    return moments, np.append(0, np.cumsum(np.diff(moments) * with_room))


def _running_sums(rows: Ints, server: NDArray[np.int64]) -> Ints:
    sums = np.cumsum(rows, axis=0)
    first = np.flatnonzero(np.diff(server, prepend=-1))
    before = np.vstack([np.zeros_like(rows[:1]), sums])[first]
    return np.asarray(sums - np.repeat(before, np.diff(np.append(first, len(server))), axis=0))
