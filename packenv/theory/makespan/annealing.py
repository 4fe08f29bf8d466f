"""Schedules by list scheduling, and simulated annealing over the lists: the offline search's warm start.

A list is a permutation of the tasks in which each stands behind those that it waits for. Every task in turn starts as
early as it fits beside those before it, on the tightest server (serial schedule generation, Kolisch & Hartmann 1999).
A neighbour has one task moved or two exchanged.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import inner, unlocked
from packenv.theory.makespan.tasks import Ints, Tasks
from packenv.workloads.sampling import another, uniform

WARMTH = 0.4  # first temperature, in mean services
EARLY = 30.0  # weight of the mean end of the work against the makespan: what fills the servers early leaves room to end early
SCARCE = 6  # a resource with a share x of the work of the scarcest one counts x ** SCARCE in that
TRIALS = 400  # neighbours looked at, for every pair of tasks
SLICE = 200_000_000  # steps between two looks at the clock, a neighbour of n tasks on L servers being n (n + L) of them

HERE, TRIAL, BEST = 0, 1, 2


class ListSearch(NamedTuple):
    """The tasks, the list and schedule that the search stands at, the trial, and the best one."""

    release: Ints  # (n,) ticks
    service: Ints  # (n,)
    demand: Ints  # (n, D)
    capacity: Ints  # (L, D)
    share: NDArray[np.float64]  # (L, D) of the server's capacity that a unit is; 0 where it has none
    allowed: NDArray[np.bool_]  # (n, L)
    offsets: Ints  # (n + 1,) predecessors of row i: waits_for[offsets[i] : offsets[i + 1]]
    waits_for: Ints
    weight: NDArray[np.float64]  # (n,) of a task's end in the cost
    order: Ints  # (2, n) rows: the list here, and the trial
    position: Ints  # (n,) of each row in the list here
    start: Ints  # (3, n)
    server: Ints  # (3, n)
    makespan: Ints  # (3,)
    cost: NDArray[np.float64]  # (3,)
    time: Ints  # (L, 2 n + 2) where each server's segments begin
    room: Ints  # (L, 2 n + 2, D) what is free in them
    segments: Ints  # (L,)
    word: NDArray[np.uint64]  # (1,) of random bits


def search_from(tasks: Tasks, order: Ints, seed: int) -> ListSearch:
    """A search that has not begun, at this list."""
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


@inner
def segment_at(s: ListSearch, server: int, tick: int) -> int:
    """The segment of a server in which a tick lies."""
    k = s.segments[server] - 1
    while s.time[server, k] > tick:
        k -= 1
    return k


@inner
def split(s: ListSearch, server: int, tick: int) -> int:
    """The segment of a server that begins at `tick`: one is cut in two if none does."""
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


@inner
def put(s: ListSearch, i: int, start: int, server: int) -> None:
    """Take task i's demand on a server from `start` until its end."""
    first = split(s, server, start)
    last = split(s, server, start + s.service[i])
    for k in range(first, last):
        for r in range(s.room.shape[2]):
            s.room[server, k, r] -= s.demand[i, r]


@inner
def fits_segment(s: ListSearch, i: int, server: int, k: int) -> bool:
    for r in range(s.room.shape[2]):
        if s.room[server, k, r] < s.demand[i, r]:
            return False
    return True


@inner
def earliest(s: ListSearch, i: int, server: int, ready: int, latest: int) -> int:
    """The first tick from `ready` on in which task i can start on a server; above `latest` if there is none up to there."""
    k = segment_at(s, server, ready)
    start = ready
    while start <= latest and k < s.segments[server] and s.time[server, k] < start + s.service[i]:
        if not fits_segment(s, i, server, k):
            start = s.time[server, k + 1]  # the last segment is empty, so there is a next one
        k += 1
    return start


@inner
def room_left(s: ListSearch, i: int, server: int, start: int) -> float:
    """What is free, in shares of the server, while task i would run."""
    k = segment_at(s, server, start)
    end = start + s.service[i]
    free = 0.0
    while k < s.segments[server] and s.time[server, k] < end:
        until = min(end, s.time[server, k + 1]) if k + 1 < s.segments[server] else end
        for r in range(s.room.shape[2]):
            free += (until - max(s.time[server, k], start)) * s.room[server, k, r] * s.share[server, r]
        k += 1
    return free


@inner
def ready_at(s: ListSearch, i: int) -> int:
    """When the tasks that i waits for end in the trial, and i is there."""
    ready = s.release[i]
    for m in range(s.offsets[i], s.offsets[i + 1]):
        before = s.waits_for[m]
        ready = max(ready, s.start[TRIAL, before] + s.service[before])
    return ready


@inner
def choose(s: ListSearch, i: int) -> None:
    """Where and when task i starts in the trial: as early as possible, then where least is left free."""
    ready = ready_at(s, i)
    start, server, least = np.iinfo(np.int64).max >> 1, -1, 0.0
    for candidate in range(s.capacity.shape[0]):
        if s.allowed[i, candidate]:
            found = earliest(s, i, candidate, ready, start)
            if found <= start:
                free = room_left(s, i, candidate, found)
                if found < start or free < least:
                    start, server, least = found, candidate, free
    s.start[TRIAL, i], s.server[TRIAL, i] = start, server


@inner
def decode(s: ListSearch, first: int, limit: float) -> bool:
    """Schedule the trial, which is the list here up to position `first`; False as soon as its cost is above `limit`."""
    for server in range(s.capacity.shape[0]):
        s.segments[server] = 1
        s.time[server, 0] = 0
        for r in range(s.room.shape[2]):
            s.room[server, 0, r] = s.capacity[server, r]
    makespan, early = 0, 0.0
    for k in range(s.order.shape[1]):
        i = s.order[TRIAL, k]
        if k < first:
            s.start[TRIAL, i], s.server[TRIAL, i] = s.start[HERE, i], s.server[HERE, i]
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


@inner
def keep(s: ListSearch, place: int) -> None:
    """Copy the trial's schedule."""
    for i in range(s.order.shape[1]):
        s.start[place, i], s.server[place, i] = s.start[TRIAL, i], s.server[TRIAL, i]
    s.makespan[place], s.cost[place] = s.makespan[TRIAL], s.cost[TRIAL]


@inner
def accept(s: ListSearch) -> None:
    """Go on from the trial."""
    keep(s, HERE)
    for k in range(s.order.shape[1]):
        s.order[HERE, k] = s.order[TRIAL, k]
        s.position[s.order[HERE, k]] = k
    if s.makespan[TRIAL] < s.makespan[BEST] or (s.makespan[TRIAL] == s.makespan[BEST] and s.cost[TRIAL] < s.cost[BEST]):
        keep(s, BEST)


@inner
def chance(word: NDArray[np.uint64]) -> float:
    """A number from (0, 1)."""
    word[0] = another(word[0])
    return uniform(word[0])


@inner
def may_stand(s: ListSearch, i: int, place: int) -> bool:
    """Whether row i can be moved from its position to another one without passing what it waits for, or what waits for it."""
    here = s.position[i]
    if place < here:
        for m in range(s.offsets[i], s.offsets[i + 1]):
            if s.position[s.waits_for[m]] >= place:
                return False
        return True
    for k in range(here + 1, place + 1):
        j = s.order[HERE, k]
        for m in range(s.offsets[j], s.offsets[j + 1]):
            if s.waits_for[m] == i:
                return False
    return True


@inner
def propose(s: ListSearch) -> int:
    """Make the trial a neighbour of the list here; the first position in which they differ, or -1 for none."""
    n = s.order.shape[1]
    a, b = int(n * chance(s.word)), int(n * chance(s.word))
    i, j = s.order[HERE, a], s.order[HERE, b]
    exchanged = chance(s.word) < 0.5
    if a == b or not may_stand(s, i, b) or (exchanged and not may_stand(s, j, a)):
        return -1
    for k in range(n):
        s.order[TRIAL, k] = s.order[HERE, k]
    if exchanged:
        s.order[TRIAL, a] = j
    else:
        step = 1 if a < b else -1
        for k in range(a, b, step):
            s.order[TRIAL, k] = s.order[HERE, k + step]
    s.order[TRIAL, b] = i
    return min(a, b)


@unlocked
def look(s: ListSearch, temperature: float, trials: int, target: int) -> None:
    """Look at some neighbours, up to a makespan of `target`; before the first, schedule the list here."""
    if s.makespan[HERE] == 0:
        s.makespan[BEST] = np.iinfo(np.int64).max
        decode(s, 0, np.inf)
        accept(s)
    for _ in range(trials):
        if s.makespan[BEST] <= target:
            return
        first = propose(s)
        if first >= 0 and decode(s, first, s.cost[HERE] - temperature * math.log(1 - chance(s.word))):
            accept(s)


class FoundSchedule(NamedTuple):
    """A schedule, in ticks."""

    start: Ints  # (n,)
    server: Ints  # (n,)
    makespan: int


def schedule_list(tasks: Tasks, order: Ints) -> FoundSchedule:
    """What a list gives as it is."""
    return anneal(tasks, order, 0, 0)


def anneal(
    tasks: Tasks,
    order: Ints,
    seconds: float,
    target: int,
    seed: int = 0,
    improved: Callable[[int], None] = lambda makespan: None,
    stop: threading.Event | None = None,
) -> FoundSchedule:
    """The best schedule found from the list `order`: after TRIALS · n² neighbours, at `target`, out of time, or on `stop`.

    The temperature falls with the share of trials or time that is used up, whichever is more.
    """
    search = search_from(tasks, order, seed)
    n, began = len(tasks), time.monotonic()
    look(search, 0.0, 0, target)
    trials, made, best = TRIALS * n * n, 0, np.iinfo(np.int64).max
    while True:
        if search.makespan[BEST] < best:
            best = search.makespan[BEST]
            improved(int(best))
        used = max(made / trials, (time.monotonic() - began) / seconds if seconds > 0 else 1)
        if used >= 1 or best <= target or (stop is not None and stop.is_set()):
            return FoundSchedule(search.start[BEST], search.server[BEST], int(best))
        some = min(max(SLICE // (n * (n + len(tasks.capacity))), 1), trials - made)
        look(search, WARMTH * float(tasks.service.mean()) * (1 - used), some, target)
        made += some


def anneal_beside(
    tasks: Tasks,
    orders: list[Ints],
    seconds: float,
    target: int,
    seed: int = 0,
    improved: Callable[[int], None] = lambda makespan: None,
) -> FoundSchedule:
    """The best of several searches side by side, one from each list."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(orders)) as pool:
        runs = [pool.submit(anneal, tasks, order, seconds, target, seed + k, improved, stop) for k, order in enumerate(orders)]
        try:
            return min((run.result() for run in runs), key=lambda found: found.makespan)
        finally:  # on Ctrl-C too
            stop.set()
