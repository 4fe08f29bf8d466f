"""List scheduling: a schedule from an order of the tasks.

It is serial schedule generation (Kolisch & Hartmann 1999). In a list each task stands behind its predecessors. One after the
other, every task starts as early as it fits among the earlier ones. If several servers allow that, it takes the one with the
least room left. The time of every server is cut into segments of constant free room. Compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.theory.makespan.tasks import Ints, Tasks

EARLY = 30.0  # weight of the mean end of the work against the makespan: servers that fill early can be done early
SCARCE = 6  # in that mean, a resource with a share x of the work of the scarcest one has weight x ** SCARCE

CURRENT, TRIAL, BEST = 0, 1, 2
"""Three schedules: of the current list, of the trial (a neighbour of it), and the best one so far."""


class FoundSchedule(NamedTuple):
    """A schedule, in ticks."""

    start: Ints  # (n,)
    server: Ints  # (n,)
    makespan: int


class ListSearch(NamedTuple):
    """Tasks, two lists, and the schedules CURRENT, TRIAL and BEST."""

    release: Ints  # (n,) ticks
    service: Ints  # (n,)
    demand: Ints  # (n, D)
    capacity: Ints  # (L, D)
    share: NDArray[np.float64]  # (L, D) of the server's capacity that a unit is; 0 where it has none
    allowed: NDArray[np.bool_]  # (n, L)
    offsets: Ints  # (n + 1,) predecessors of row i: waits_for[offsets[i] : offsets[i + 1]]
    waits_for: Ints
    weight: NDArray[np.float64]  # (n,) of a task's end in the cost
    order: Ints  # (2, n) rows: the current list, and the trial
    position: Ints  # (n,) of each row in the current list
    start: Ints  # (3, n)
    server: Ints  # (3, n)
    makespan: Ints  # (3,)
    cost: NDArray[np.float64]  # (3,)
    time: Ints  # (L, 2 n + 2) where each server's segments begin
    room: Ints  # (L, 2 n + 2, D) what is free in them
    segments: Ints  # (L,)
    word: NDArray[np.uint64]  # (1,) of random bits


def search_from(tasks: Tasks, order: Ints, seed: int) -> ListSearch:
    """Return a search from this list, without a schedule yet."""
    n, (servers, resources) = len(tasks), tasks.capacity.shape
    offsets, waits_for = tasks.waits_for
    work = tasks.demand / np.maximum(tasks.capacity.sum(axis=0), 1) * tasks.service[:, None]  # (n, D) ticks of the cluster
    scarcity = (work.sum(axis=0) / work.sum(axis=0).max()) ** SCARCE
    return ListSearch(
        release=tasks.release,
        service=tasks.service,
        demand=tasks.demand,
        capacity=tasks.capacity,
        share=np.where(tasks.capacity > 0, 1 / np.maximum(tasks.capacity, 1), 0.0),
        allowed=tasks.allowed,
        offsets=offsets,
        waits_for=waits_for,
        weight=EARLY * (work @ scarcity) / (work @ scarcity).sum(),
        order=np.stack([order, order]),
        position=np.argsort(order),
        start=np.zeros((3, n), np.int64),
        server=np.zeros((3, n), np.int64),
        makespan=np.zeros(3, np.int64),
        cost=np.full(3, np.inf),
        time=np.zeros((servers, 2 * n + 2), np.int64),
        room=np.zeros((servers, 2 * n + 2, resources), np.int64),
        segments=np.zeros(servers, np.int64),
        word=np.array([seed], np.uint64),
    )


@compiled
def segment_at(s: ListSearch, server: int, tick: int) -> int:
    """Return the segment of a server that contains a tick."""
    k = s.segments[server] - 1
    while s.time[server, k] > tick:
        k -= 1
    return k


@compiled
def split(s: ListSearch, server: int, tick: int) -> int:
    """Return the segment that begins at `tick`, cut from another if necessary."""
    k = segment_at(s, server, tick)
    if s.time[server, k] == tick:
        return k
    for m in range(s.segments[server], k, -1):
        s.time[server, m] = s.time[server, m - 1]
        for r in range(s.room.shape[2]):
            s.room[server, m, r] = s.room[server, m - 1, r]
    s.time[server, k + 1] = tick
    s.segments[server] += 1
    return k + 1


@compiled
def put(s: ListSearch, i: int, start: int, server: int) -> None:
    """Put task i on a server from `start`."""
    first = split(s, server, start)
    last = split(s, server, start + s.service[i])
    for k in range(first, last):
        for r in range(s.room.shape[2]):
            s.room[server, k, r] -= s.demand[i, r]


@compiled
def fits_segment(s: ListSearch, i: int, server: int, k: int) -> bool:
    """Return whether task i fits segment k of a server."""
    for r in range(s.room.shape[2]):
        if s.room[server, k, r] < s.demand[i, r]:
            return False
    return True


@compiled
def earliest(s: ListSearch, i: int, server: int, ready: int, latest: int) -> int:
    """Return task i's first start from `ready`, or a tick above `latest`."""
    k = segment_at(s, server, ready)
    start = ready
    while start <= latest and k < s.segments[server] and s.time[server, k] < start + s.service[i]:
        if not fits_segment(s, i, server, k):
            start = s.time[server, k + 1]  # the last segment is empty, so there is a next one
        k += 1
    return start


@compiled
def room_left(s: ListSearch, i: int, server: int, start: int) -> float:
    """Sum the free room during task i."""
    k = segment_at(s, server, start)
    end = start + s.service[i]
    free = 0.0
    while k < s.segments[server] and s.time[server, k] < end:
        until = min(end, s.time[server, k + 1]) if k + 1 < s.segments[server] else end
        for r in range(s.room.shape[2]):
            free += (until - max(s.time[server, k], start)) * s.room[server, k, r] * s.share[server, r]
        k += 1
    return free


@compiled
def ready_at(s: ListSearch, i: int) -> int:
    """Return task i's eligible tick in the trial."""
    ready = s.release[i]
    for m in range(s.offsets[i], s.offsets[i + 1]):
        before = s.waits_for[m]
        ready = max(ready, s.start[TRIAL, before] + s.service[before])
    return ready


@compiled
def choose(s: ListSearch, i: int) -> None:
    """Choose task i's earliest start, then tightest server."""
    ready = ready_at(s, i)
    start, server, least = np.iinfo(np.int64).max >> 1, -1, 0.0
    for candidate in range(s.capacity.shape[0]):
        if s.allowed[i, candidate]:
            tick = earliest(s, i, candidate, ready, start)
            if tick <= start:
                free = room_left(s, i, candidate, tick)
                if tick < start or free < least:
                    start, server, least = tick, candidate, free
    s.start[TRIAL, i], s.server[TRIAL, i] = start, server


@compiled
def decode(s: ListSearch, first: int, limit: float) -> bool:
    """Compute the trial, changed from `first` on; False above cost `limit`."""
    # All servers are free for all time.
    for server in range(s.capacity.shape[0]):
        s.segments[server] = 1
        s.time[server, 0] = 0
        for r in range(s.room.shape[2]):
            s.room[server, 0, r] = s.capacity[server, r]
    makespan, early = 0, 0.0
    # In the order of the list each task takes its earliest start; the part that has not changed keeps it.
    for k in range(s.order.shape[1]):
        i = s.order[TRIAL, k]
        if k < first:
            s.start[TRIAL, i], s.server[TRIAL, i] = s.start[CURRENT, i], s.server[CURRENT, i]
        else:
            choose(s, i)
        put(s, i, s.start[TRIAL, i], s.server[TRIAL, i])
        end = s.start[TRIAL, i] + s.service[i]
        makespan = max(makespan, end)
        early += s.weight[i] * end
        if makespan + early > limit:
            return False
    s.makespan[TRIAL], s.cost[TRIAL] = makespan, makespan + early
    return True
