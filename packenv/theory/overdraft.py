"""Schedules that overdraw the servers at a price, and moves of two tasks at a time: the machine code of `squeezing`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compile import compiled, fused, unlocked
from packenv.theory.annealing import Found, chance
from packenv.theory.tasks import Ints, Tasks

Floats = NDArray[np.floating[Any]]

EXACT = 2**24  # integers below are exact as 32-bit floats
LANES = 8  # of a vector instruction: loops over ticks go on to a multiple, so that none are left over
ZERO, NEVER = np.float32(0), np.float32(np.inf)


class Overdraft(NamedTuple):
    """Starts and servers of all tasks up to an end, and what they leave free. Room and demand are integers."""

    release: Ints  # (n,) ticks
    service: Ints  # (n,)
    demand: Floats  # (n, D) units
    capacity: Floats  # (L, D)
    share: Floats  # (L, D) of the capacity that a unit is; 0 where there is none
    allowed: NDArray[np.bool_]  # (n, L)
    offsets: Ints  # (n + 1,) predecessors of row i: waits_for[offsets[i] : offsets[i + 1]]
    waits_for: Ints
    behind: Ints  # (n + 1,) successors of row i: followers[behind[i] : behind[i + 1]]
    followers: Ints
    start: Ints  # (n,)
    server: Ints  # (n,)
    end: Ints  # (1,) tick
    room: Floats  # (L, D, H) free in each tick; negative: overdrawn
    price: Floats  # (L, H) of the starts of a task, from the first that it may have
    extra: Floats  # (H,) price of the ticks
    overdrawn: Ints  # (1,) ticks, of all servers and resources
    word: NDArray[np.uint64]  # (1,) of random bits


def overdraft_from(tasks: Tasks, found: Found, seed: int) -> Overdraft:
    """A search that stands at the schedule found."""
    n, (servers, resources) = len(tasks), tasks.capacity.shape
    offsets, waits_for = tasks.waits_for
    waiting = np.repeat(np.arange(n), np.diff(offsets))
    order = np.argsort(waits_for, kind="stable")
    demand, capacity = _units(tasks)
    ticks = found.makespan + LANES
    overdraft = Overdraft(
        release=tasks.release,
        service=tasks.service,
        demand=demand,
        capacity=capacity,
        share=np.where(capacity > 0, 1 / np.maximum(capacity, 1), 0).astype(demand.dtype),
        allowed=tasks.allowed,
        offsets=offsets,
        waits_for=waits_for,
        behind=np.searchsorted(waits_for[order], np.arange(n + 1)).astype(np.int64),
        followers=waiting[order],
        start=found.start.copy(),
        server=found.server.copy(),
        end=np.array([found.makespan]),
        room=np.zeros((servers, resources, ticks), demand.dtype),
        price=np.zeros((servers, ticks), demand.dtype),
        extra=np.zeros(ticks, demand.dtype),
        overdrawn=np.zeros(1, np.int64),
        word=np.array([seed], np.uint64),
    )
    put_all(overdraft)
    return overdraft


def _units(tasks: Tasks) -> tuple[Floats, Floats]:
    """Demands (n, D) and capacities (L, D) as integers in the shortest floats in which their sums are exact."""
    common = np.maximum(np.gcd.reduce(np.concatenate([tasks.capacity, tasks.demand])), 1)  # (D,)
    capacity, demand = tasks.capacity // common, tasks.demand // common
    size = np.float32 if max(int(capacity.max()), int(demand.sum(axis=0).max())) < EXACT else np.float64
    return demand.astype(size), capacity.astype(size)


def shorten(s: Overdraft, tasks: Tasks, end: int) -> None:
    """Begin to look for a schedule with this end: what would end too late for it, tails included, starts as late as it can."""
    s.start[:] = np.minimum(s.start, end - tasks.tail[: len(tasks)] - s.service)
    s.end[0] = end
    put_all(s)


@compiled
def put_all(s: Overdraft) -> None:
    """Take what the tasks need from empty servers."""
    s.overdrawn[0] = 0
    for server in range(s.room.shape[0]):
        for r in range(s.room.shape[1]):
            s.room[server, r, :] = s.capacity[server, r]
    for i in range(len(s.start)):
        put(s, i, 1)


@fused
def put(s: Overdraft, i: int, sign: int) -> None:
    """Put task i where its start and server say (sign 1), or take it out (−1)."""
    server, change = s.server[i], 0
    for r in range(s.room.shape[1]):
        taken, room = np.float32(sign) * s.demand[i, r], s.room[server, r]
        for tick in range(s.start[i], s.start[i] + s.service[i]):
            before = room[tick]
            after = before - taken
            room[tick] = after
            change += (after < ZERO) - (before < ZERO)
    s.overdrawn[0] += change


@fused
def price(missing: np.floating[Any], share: np.floating[Any]) -> np.floating[Any]:
    """Of a tick in which a server misses so many units of a resource."""
    return np.sqrt(missing * share if missing > ZERO else ZERO)


@fused
def price_here(s: Overdraft, i: int) -> np.floating[Any]:
    """What task i, which is out, adds to the price of all ticks where its start and server say."""
    server, total = s.server[i], ZERO
    for r in range(s.room.shape[1]):
        demand, share, room = s.demand[i, r], s.share[server, r], s.room[server, r]
        for tick in range(s.start[i], s.start[i] + s.service[i]):
            total += price(demand - room[tick], share) - price(-room[tick], share)
    return total


@fused
def first_start(s: Overdraft, i: int) -> int:
    """When the tasks that i waits for end, and i is there."""
    first = s.release[i]
    for m in range(s.offsets[i], s.offsets[i + 1]):
        before = s.waits_for[m]
        first = max(first, s.start[before] + s.service[before])
    return first


@fused
def starts_from(s: Overdraft, i: int, first: int) -> int:
    """At how many ticks from `first` on i may start so that it ends before what waits for it begins."""
    end = s.end[0]
    for m in range(s.behind[i], s.behind[i + 1]):
        end = min(end, s.start[s.followers[m]])
    return end - s.service[i] - first + 1


@fused
def whole(ticks: int) -> int:
    """So many ticks, up to a multiple of LANES."""
    return (ticks + LANES - 1) // LANES * LANES


@fused
def price_starts(s: Overdraft, i: int, first: int, starts: int) -> None:
    """Price these starts of task i, which is out, on every server."""
    ticks, wide = whole(starts + s.service[i] - 1), whole(starts)
    for server in range(s.room.shape[0]):
        prices = s.price[server]
        if not s.allowed[i, server]:
            for k in range(wide):
                prices[k] = NEVER
            continue
        for k in range(ticks):
            s.extra[k] = ZERO
        for r in range(s.room.shape[1]):
            demand, share, room = s.demand[i, r], s.share[server, r], s.room[server, r, first:]
            for k in range(ticks):
                s.extra[k] += price(demand - room[k], share) - price(-room[k], share)
        for k in range(wide):
            prices[k] = s.extra[k]
        for later in range(1, s.service[i]):
            extra = s.extra[later:]
            for k in range(wide):
                prices[k] += extra[k]
        for k in range(starts, wide):
            prices[k] = NEVER


@fused
def least_price(s: Overdraft, starts: int) -> np.floating[Any]:
    """The least of the prices: LANES of them at once, then among these."""
    least = s.extra
    for k in range(LANES):
        least[k] = NEVER
    for server in range(s.price.shape[0]):
        prices = s.price[server]
        for block in range(0, starts, LANES):
            for k in range(LANES):
                least[k] = prices[block + k] if prices[block + k] < least[k] else least[k]
    for k in range(1, LANES):
        least[0] = least[k] if least[k] < least[0] else least[0]
    return least[0]


@fused
def put_below(s: Overdraft, i: int, first: int, starts: int, limit: np.floating[Any]) -> np.floating[Any]:
    """Put task i at one of the starts with a price up to `limit`, drawn evenly; the price, infinite if there is none."""
    many = 0
    for server in range(s.price.shape[0]):
        prices = s.price[server]
        for k in range(whole(starts)):
            many += prices[k] <= limit
    if many == 0:
        return NEVER
    nth = int(many * chance(s.word))
    for server in range(s.price.shape[0]):
        prices = s.price[server]
        for k in range(starts):
            if prices[k] <= limit:
                if nth == 0:
                    s.start[i], s.server[i] = first + k, server
                    put(s, i, 1)
                    return prices[k]
                nth -= 1
    return NEVER


@fused
def linked(s: Overdraft, i: int, j: int) -> bool:
    """Whether one of two tasks waits for the other, or they are one."""
    for m in range(s.offsets[i], s.offsets[i + 1]):
        if s.waits_for[m] == j:
            return True
    for m in range(s.offsets[j], s.offsets[j + 1]):
        if s.waits_for[m] == i:
            return True
    return i == j


@fused
def risk(s: Overdraft, temperature: float) -> np.floating[Any]:
    """By how much a move may cost more than before (Metropolis)."""
    return np.float32(-temperature * math.log(chance(s.word)))


@fused
def put_elsewhere(s: Overdraft, i: int, limit: np.floating[Any], temperature: float) -> np.floating[Any]:
    """Put task i at another start or server than before, where it costs little, and up to `limit` more than there.

    What it costs more, infinite if there is no such place.
    """
    first = first_start(s, i)
    starts = starts_from(s, i, first)
    price_starts(s, i, first, starts)
    before = s.price[s.server[i], s.start[i] - first]
    s.price[s.server[i], s.start[i] - first] = NEVER
    least = least_price(s, starts)
    if least > limit + before:
        return NEVER
    return put_below(s, i, first, starts, min(limit + before, least + risk(s, temperature))) - before


@fused
def put_within(s: Overdraft, i: int, limit: np.floating[Any]) -> np.floating[Any]:
    """Put task i at any start that costs up to `limit`; its price, infinite if there is none."""
    first = first_start(s, i)
    starts = starts_from(s, i, first)
    price_starts(s, i, first, starts)
    return put_below(s, i, first, starts, limit)


@fused
def move_two(s: Overdraft, temperature: float) -> None:
    """Move two tasks that do not wait for one another, unless that costs too much for the temperature."""
    n = len(s.start)
    i, j = int(n * chance(s.word)), int(n * chance(s.word))
    if linked(s, i, j):
        return
    start_i, server_i, start_j, server_j = s.start[i], s.server[i], s.start[j], s.server[j]
    put(s, j, -1)
    limit = price_here(s, j) + risk(s, temperature)
    put(s, i, -1)
    spent = put_elsewhere(s, i, limit, temperature)
    if spent < NEVER:
        if put_within(s, j, limit - spent) < NEVER:
            return
        put(s, i, -1)
    s.start[i], s.server[i], s.start[j], s.server[j] = start_i, server_i, start_j, server_j
    put(s, i, 1)
    put(s, j, 1)


@unlocked
def look(s: Overdraft, temperature: float, trials: int) -> int:
    """Move pairs of tasks until no room is overdrawn or that many were looked at; how many were."""
    for made in range(trials):
        if s.overdrawn[0] == 0:
            return made
        move_two(s, temperature)
    return trials
