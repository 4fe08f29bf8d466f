"""Schedules squeezed into fewer and fewer ticks: annealing over starts and servers, with room that may be overdrawn at a price.

Where a list decides the order alone, and one exchange in it moves all that comes after, here every task keeps its start
and server until it is moved itself. Two tasks at a time are taken out and put back, the first where it costs little, the
second where both together cost little more than before. Once no room is overdrawn the schedule is one that the servers
can run, and the next one must be a tick shorter. Made for few ticks: a trial looks at every tick of every server.
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

from packenv.compile import Inner, compiled, unlocked
from packenv.theory.annealing import Found, chance
from packenv.theory.tasks import Ints, Tasks

Floats = NDArray[np.float32]

MOST_TICKS = 4096  # of all servers together
WARM, COLD = 0.15, 0.035  # temperatures: what a tick costs that is overdrawn by a share x of the capacity is the root of x
TRIALS = 250  # pairs looked at, for every three tasks
LANES = 8
COOLINGS = 100  # temperatures, at least
SLICE = 20_000_000  # steps between two looks at the clock, a trial being a step for every tick of every server
EXACT = 2**24  # integers up to here are exact as 32-bit floats

def inlined(f): return Inner(f, forceinline=True)
outlined = inlined
ZERO = np.float32(0)
NEVER = np.float32(np.inf)


class Squeeze(NamedTuple):
    """Starts and servers of all tasks up to an end, and what they leave free. Room and demand are integers."""

    release: Ints  # (n,) ticks
    service: Ints  # (n,)
    demand: Floats  # (L, n, D) units of the server's own
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


def can_squeeze(tasks: Tasks, makespan: int) -> bool:
    """Whether a schedule of this length is short enough."""
    return len(tasks) > 1 and len(tasks.capacity) * makespan <= MOST_TICKS


def squeeze_from(tasks: Tasks, found: Found, seed: int) -> Squeeze:
    """A search that stands at the schedule found, with nothing put on the servers yet."""
    n, (servers, resources) = len(tasks), tasks.capacity.shape
    offsets, waits_for = tasks.waits_for
    waiting = np.repeat(np.arange(n), np.diff(offsets))
    order = np.argsort(waits_for, kind="stable")
    demand, capacity = _units(tasks)
    ticks = found.makespan + int(tasks.service.max()) + 4 * LANES
    return Squeeze(
        release=tasks.release,
        service=tasks.service,
        demand=demand,
        capacity=capacity,
        share=np.where(capacity > 0, 1 / np.maximum(capacity, 1), 0).astype(np.float32),
        allowed=tasks.allowed,
        offsets=offsets,
        waits_for=waits_for,
        behind=np.searchsorted(waits_for[order], np.arange(n + 1)).astype(np.int64),
        followers=waiting[order],
        start=found.start.copy(),
        server=found.server.copy(),
        end=np.array([found.makespan]),
        room=np.zeros((servers, resources, ticks), np.float32),
        price=np.zeros((servers, ticks), np.float32),
        extra=np.zeros(ticks, np.float32),
        overdrawn=np.zeros(1, np.int64),
        word=np.array([seed], np.uint64),
    )


def _units(tasks: Tasks) -> tuple[Floats, Floats]:
    """Demands (L, n, D) and capacities (L, D) in units whose sums are exact: demands are rounded up where they must be."""
    most = EXACT // (len(tasks) + 1)
    common = np.maximum(np.gcd.reduce(np.concatenate([tasks.capacity, tasks.demand])), 1)  # (D,)
    capacity, demand = tasks.capacity // common, tasks.demand // common
    units = np.minimum(capacity, most)  # (L, D)
    scaled = -(-demand * units[:, None, :] // np.maximum(capacity, 1)[:, None, :])
    return scaled.astype(np.float32), units.astype(np.float32)


def shorten(s: Squeeze, tasks: Tasks, end: int) -> None:
    """Begin to look for a schedule with this end: what would end too late for it, tails included, starts as late as it can."""
    s.start[:] = np.minimum(s.start, end - tasks.tail[: len(tasks)] - s.service)
    s.end[0] = end
    put_all(s)


@compiled
def put_all(s: Squeeze) -> None:
    """Take what the tasks need from empty servers."""
    s.overdrawn[0] = 0
    for server in range(s.room.shape[0]):
        for r in range(s.room.shape[1]):
            s.room[server, r, :] = s.capacity[server, r]
    for i in range(len(s.start)):
        put(s, i, 1)


@inlined
def put(s: Squeeze, i: int, sign: int) -> None:
    """Put task i where its start and server say (sign 1), or take it out (−1)."""
    server, change = s.server[i], 0
    for r in range(s.room.shape[1]):
        taken, room = np.float32(sign) * s.demand[server, i, r], s.room[server, r]
        for tick in range(s.start[i], s.start[i] + s.service[i]):
            before = room[tick]
            after = before - taken
            room[tick] = after
            change += (after < ZERO) - (before < ZERO)
    s.overdrawn[0] += change


@inlined
def price(missing: np.float32, share: np.float32) -> np.float32:
    """Of a tick in which a server misses so many units of a resource."""
    return np.sqrt(missing * share if missing > ZERO else ZERO)


@inlined
def price_here(s: Squeeze, i: int) -> np.float32:
    """What task i, which is out, adds to the price of all ticks where its start and server say."""
    server, total = s.server[i], ZERO
    for r in range(s.room.shape[1]):
        demand, share, room = s.demand[server, i, r], s.share[server, r], s.room[server, r]
        for tick in range(s.start[i], s.start[i] + s.service[i]):
            total += price(demand - room[tick], share) - price(-room[tick], share)
    return total


@inlined
def first_start(s: Squeeze, i: int) -> int:
    """When the tasks that i waits for end, and i is there."""
    first = s.release[i]
    for m in range(s.offsets[i], s.offsets[i + 1]):
        before = s.waits_for[m]
        first = max(first, s.start[before] + s.service[before])
    return first


@inlined
def starts_from(s: Squeeze, i: int, first: int) -> int:
    """At how many ticks from `first` on i may start so that it ends before what waits for it begins."""
    end = s.end[0]
    for m in range(s.behind[i], s.behind[i + 1]):
        end = min(end, s.start[s.followers[m]])
    return end - s.service[i] - first + 1


@inlined
def price_starts(s: Squeeze, i: int, first: int, starts: int) -> None:
    """Price these starts of task i, which is out, on every server."""
    ticks = (starts + s.service[i] - 1 + 7) & ~7
    wide = (starts + 7) & ~7
    for server in range(s.room.shape[0]):
        prices = s.price[server]
        if not s.allowed[i, server]:
            for k in range(wide):
                prices[k] = NEVER
            continue
        for k in range(ticks):
            s.extra[k] = ZERO
        for r in range(s.room.shape[1]):
            demand, share, room = s.demand[server, i, r], s.share[server, r], s.room[server, r, first:]
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


@inlined
def least_price(s: Squeeze, starts: int) -> np.float32:
    """The least of the prices: halves are laid upon one another, which vector instructions do at once."""
    least = s.extra
    starts = (starts + 7) & ~7
    for k in range(starts):
        least[k] = s.price[0, k]
    for server in range(1, s.price.shape[0]):
        prices = s.price[server]
        for k in range(starts):
            least[k] = prices[k] if prices[k] < least[k] else least[k]
    for block in range(8, starts, 8):
        for k in range(8):
            least[k] = least[block + k] if least[block + k] < least[k] else least[k]
    smallest = least[0]
    for k in range(1, 8):
        smallest = least[k] if least[k] < smallest else smallest
    return smallest


@inlined
def put_below(s: Squeeze, i: int, first: int, starts: int, limit: np.float32) -> np.float32:
    """Put task i at one of the starts with a price up to `limit`, drawn evenly; the price, infinite if there is none."""
    many = 0
    for server in range(s.price.shape[0]):
        prices = s.price[server]
        for k in range((starts + 7) & ~7):
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


@inlined
def linked(s: Squeeze, i: int, j: int) -> bool:
    """Whether one of two tasks waits for the other, or they are one."""
    for m in range(s.offsets[i], s.offsets[i + 1]):
        if s.waits_for[m] == j:
            return True
    for m in range(s.offsets[j], s.offsets[j + 1]):
        if s.waits_for[m] == i:
            return True
    return i == j


@outlined
def price_all(s: Squeeze, i: int) -> None:
    first = first_start(s, i)
    price_starts(s, i, first, starts_from(s, i, first))


@inlined
def move_two(s: Squeeze, temperature: float) -> None:
    """Move two tasks that do not wait for one another, unless that costs too much for the temperature."""
    n = len(s.start)
    i, j = int(n * chance(s.word)), int(n * chance(s.word))
    if linked(s, i, j):
        return
    start_i, server_i, start_j, server_j = s.start[i], s.server[i], s.start[j], s.server[j]
    put(s, i, -1)
    limit = price_here(s, i) - np.float32(temperature * math.log(chance(s.word)))
    put(s, j, -1)
    limit += price_here(s, j)
    first = first_start(s, i)
    starts = starts_from(s, i, first)
    price_all(s, i)
    s.price[server_i, start_i - first] = NEVER
    least = least_price(s, starts)
    if least <= limit:
        limit -= put_below(s, i, first, starts, min(limit, least - np.float32(temperature * math.log(chance(s.word)))))
        first = first_start(s, j)
        starts = starts_from(s, j, first)
        price_all(s, j)
        if put_below(s, j, first, starts, limit) < NEVER:
            return
        put(s, i, -1)
    s.start[i], s.server[i], s.start[j], s.server[j] = start_i, server_i, start_j, server_j
    put(s, i, 1)
    put(s, j, 1)


@unlocked
def look(s: Squeeze, temperature: float, trials: int) -> int:
    """Move pairs of tasks until no room is overdrawn or that many were looked at; how many were."""
    for made in range(trials):
        if s.overdrawn[0] == 0:
            return made
        move_two(s, temperature)
    return trials


class Reached:
    """The shortest schedule of searches side by side, which each of them is to better."""

    def __init__(self, found: Found, improved: Callable[[int], None]) -> None:
        self.found, self.improved, self.lock = found, improved, threading.Lock()

    def hear(self, found: Found) -> None:
        with self.lock:
            if found.makespan < self.found.makespan:
                self.found = found
                self.improved(found.makespan)


def squeeze(tasks: Tasks, reached: Reached, seconds: float, target: int, seed: int, stop: threading.Event) -> None:
    """Better what is reached until TRIALS · n³ pairs were looked at, at `target`, out of time, or on `stop`."""
    s, began = squeeze_from(tasks, reached.found, seed), time.monotonic()
    look(s, WARM, 0)
    trials, made = TRIALS * len(tasks) ** 3, 0
    some = min(max(SLICE // (len(tasks.capacity) * reached.found.makespan), 1), trials // COOLINGS + 1)
    while True:
        used = max(made / trials, (time.monotonic() - began) / seconds if seconds > 0 else 1)
        if used >= 1 or reached.found.makespan <= target or stop.is_set():
            return
        if reached.found.makespan <= s.end[0]:
            shorten(s, tasks, reached.found.makespan - 1)
        made += look(s, WARM * (COLD / WARM) ** used, some)
        if s.overdrawn[0] == 0:
            reached.hear(Found(s.start.copy(), s.server.copy(), int((s.start + s.service).max())))


def squeeze_beside(
    tasks: Tasks,
    found: Found,
    searches: int,
    seconds: float,
    target: int,
    seed: int = 0,
    improved: Callable[[int], None] = lambda makespan: None,
) -> Found:
    """The best of several searches side by side from a known schedule, or that."""
    stop, reached = threading.Event(), Reached(found, improved)
    with ThreadPoolExecutor(searches) as pool:
        runs = [pool.submit(squeeze, tasks, reached, seconds, target, seed + k, stop) for k in range(searches)]
        try:
            for run in runs:
                run.result()
        finally:  # on Ctrl-C too
            stop.set()
    return reached.found
