"""Beam searches forward in time, with random weights (Ow & Morton 1988).

A state is a partial schedule. At every tick, server after server, each state is extended by sets of tasks that can start on
that server now. The W cheapest extensions, over all states, become the next states. Free room has a cost, by resource. Starting a
task lowers the cost. It lowers it more for tasks that are hard to place later: large ones, and those with many successors.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled, unlocked
from packenv.theory.makespan.annealing import chance, in_threads, schedule_list
from packenv.theory.makespan.list_schedule import FoundSchedule
from packenv.theory.makespan.tasks import Ints, Tasks
from packenv.workloads.sampling import another

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

LEAST = 32  # sets tried in each state, at least
TOGETHER = 24  # tasks that start on one server in one tick, at most
WAITS = -1  # start of a task that is not scheduled yet


class Beam(NamedTuple):
    """W states around a step, and its best extensions."""

    release: Ints  # (n,) ticks
    service: Ints  # (n,)
    tail: Ints  # (n,) ticks that must follow the end of a task
    demand: Ints  # (n, D) units
    capacity: Ints  # (L, D)
    kind: Ints  # (L,) the same for servers of equal capacity
    allowed: NDArray[np.bool_]  # (n, L)
    offsets: Ints  # (n + 1,) predecessors of row i: waits_for[offsets[i] : offsets[i + 1]]
    waits_for: Ints
    gain: Floats  # (n,) by which starting a task lowers the cost
    order: Ints  # (n,) rows, in the order in which tasks are tried
    price: Floats  # (D,) cost of a unit that is free for a tick
    noise: float  # largest random addition to the cost of a set
    start: NDArray[np.int32]  # (2, W, n) ticks, or WAITS
    server: NDArray[np.int32]  # (2, W, n)
    room: Ints  # (2, W, L, D) units that are free now
    cost: Floats  # (2, W)
    key: Words  # (2, W) hash of which tasks started when
    sets: Ints  # (1,) number of sets kept in this step
    heap: Floats  # (W,) their costs; once there are W, a heap with the largest first
    place: Ints  # (W,) where the set of each entry of the heap is stored
    parent: Ints  # (W,) state that a set extends
    chosen: Ints  # (W, TOGETHER) its tasks
    size: Ints  # (W,) how many tasks it has
    key_of: Words  # (W,) key of the extended state
    hashes: Words  # (a power of 2,) hash table: salted keys of sets kept in this and earlier steps
    salt: Words  # (1,) of this step
    ready: Ints  # (n,) tasks that may start now
    picked: Ints  # (TOGETHER,) positions in `ready` of the current set
    free: Ints  # (D,) room that it leaves
    word: Words  # (1,) of random bits


@compiled
def is_ready(b: Beam, start: NDArray[np.int32], i: int, tick: int) -> bool:
    """Return whether waiting task i is eligible at this tick."""
    for m in range(b.offsets[i], b.offsets[i + 1]):
        before = b.waits_for[m]
        if start[before] == WAITS or start[before] + b.service[before] > tick:
            return False
    return b.release[i] <= tick


@compiled
def list_ready(b: Beam, start: NDArray[np.int32], server: int, tick: int, end: int) -> int:
    """List tasks for a server in `ready`, and return their number, -1 if late."""
    count = 0
    for i in b.order:
        if start[i] == WAITS and is_ready(b, start, i, tick):
            if tick + b.service[i] + b.tail[i] > end:
                return -1
            if b.allowed[i, server]:
                b.ready[count] = i
                count += 1
    return count


@compiled
def fits(b: Beam, i: int) -> bool:
    """Return whether task i fits the remaining room."""
    for r in range(len(b.free)):
        if b.demand[i, r] > b.free[r]:
            return False
    return True


@compiled
def charge(b: Beam, i: int, sign: int) -> None:
    """Take (sign 1) or return (sign -1) task i's demand."""
    for r in range(len(b.free)):
        b.free[r] -= sign * b.demand[i, r]


@compiled
def sink(b: Beam, at: int) -> None:
    """Sink the entry `at` until the heap is in order."""
    size = len(b.heap)
    while True:
        child = 2 * at + 1
        if child + 1 < size and b.heap[child + 1] > b.heap[child]:
            child += 1
        if child >= size or b.heap[child] <= b.heap[at]:
            return
        b.heap[at], b.heap[child] = b.heap[child], b.heap[at]
        b.place[at], b.place[child] = b.place[child], b.place[at]
        at = child


@compiled
def offer(b: Beam, state: int, count: int, cost: float, key: np.uint64) -> None:
    """Keep the current set if new and among W cheapest."""
    # What stays free costs its price; noise breaks ties in another way in each search.
    for r in range(len(b.free)):
        cost += b.price[r] * b.free[r]
    width, sets = len(b.heap), b.sets[0]
    if sets == width and cost >= b.heap[0]:
        return
    cost += b.noise * chance(b.word)
    # A set that leads to a state which is there already (the same hash) is no new one.
    salted = another(key ^ b.salt[0])
    slot = int(salted & np.uint64(len(b.hashes) - 1))
    if (sets == width and cost >= b.heap[0]) or b.hashes[slot] == salted:
        return
    b.hashes[slot] = salted
    # It takes a free place, or that of the most expensive of W sets, which is the root of the heap.
    place = sets if sets < width else b.place[0]
    b.parent[place], b.size[place], b.key_of[place] = state, count, key
    for k in range(count):
        b.chosen[place, k] = b.ready[b.picked[k]]
    if sets == width:
        b.heap[0] = cost
        sink(b, 0)
        return
    # The W-th set makes a heap of them.
    b.heap[sets], b.place[sets] = cost, place
    b.sets[0] += 1
    if b.sets[0] == width:
        for at in range(width // 2, -1, -1):
            sink(b, at)


@compiled
def key_of_start(b: Beam, i: int, server: int, tick: int) -> np.uint64:
    """Hash a task's start, alike for equal servers."""
    return another(another(another(np.uint64(i)) ^ np.uint64(tick)) ^ np.uint64(b.kind[server]))


@compiled
def offer_sets(b: Beam, generation: int, state: int, server: int, tick: int, count: int, sets: int) -> None:
    """Offer up to `sets` sets of `count` ready tasks, the empty set first."""
    depth, candidate, cost, key = 0, 0, b.cost[generation, state], b.key[generation, state]
    for r in range(len(b.free)):
        b.free[r] = b.room[generation, state, server, r]
    for _ in range(sets):
        offer(b, state, depth, cost, key)
        # The next set, depth first: add the next task that fits, or take back the last one and go on behind it.
        while True:
            while candidate < count and not fits(b, b.ready[candidate]):
                candidate += 1
            if candidate < count and depth < TOGETHER:
                break
            if depth == 0:
                return
            depth -= 1
            candidate = b.picked[depth]
            i = b.ready[candidate]
            charge(b, i, -1)
            cost += b.gain[i]
            key -= key_of_start(b, i, server, tick)
            candidate += 1
        # Add it.
        i = b.ready[candidate]
        charge(b, i, 1)
        cost -= b.gain[i]
        key += key_of_start(b, i, server, tick)
        b.picked[depth] = candidate
        depth += 1
        candidate += 1


@compiled
def extend_states(b: Beam, generation: int, server: int, tick: int) -> None:
    """Make the next states from the sets that were kept."""
    following = 1 - generation
    for at in range(b.sets[0]):
        place = b.place[at]
        state = b.parent[place]
        start, room = b.start[following, at], b.room[following, at]
        for i in range(len(start)):
            start[i], b.server[following, at, i] = b.start[generation, state, i], b.server[generation, state, i]
        for s in range(room.shape[0]):
            for r in range(room.shape[1]):
                room[s, r] = b.room[generation, state, s, r]
        b.cost[following, at], b.key[following, at] = b.heap[at], b.key_of[place]
        for k in range(b.size[place]):
            i = b.chosen[place, k]
            start[i], b.server[following, at, i] = tick, server
            for r in range(room.shape[1]):
                room[server, r] -= b.demand[i, r]


@compiled
def pass_tick(b: Beam, generation: int, states: int, tick: int) -> int:
    """End tasks, and return the shortest schedule or -1."""
    final, shortest = -1, np.iinfo(np.int64).max
    for state in range(states):
        start, server, room = b.start[generation, state], b.server[generation, state], b.room[generation, state]
        waiting, last = 0, 0
        for i in range(len(start)):
            end = start[i] + b.service[i]
            if start[i] == WAITS:
                waiting += 1
            elif end == tick + 1:
                for r in range(room.shape[1]):
                    room[server[i], r] += b.demand[i, r]
            last = max(last, end)
        if waiting == 0 and last < shortest:
            final, shortest = state, last
    return final


@compiled
def begin(b: Beam) -> None:
    """Begin with one state: all tasks wait."""
    b.start[0, 0, :] = WAITS
    for s in range(b.room.shape[2]):
        for r in range(b.room.shape[3]):
            b.room[0, 0, s, r] = b.capacity[s, r]
    b.cost[0, 0], b.key[0, 0] = 0.0, np.uint64(0)


@unlocked
def search(b: Beam, end: int, sets: int) -> tuple[int, int]:
    """Return a schedule's (generation, state) by tick `end`, or (-1, -1)."""
    begin(b)
    generation, states = 0, 1
    for tick in range(end):
        # Server by server, each state is extended by the best sets of tasks that start on it in this tick.
        for server in range(b.capacity.shape[0]):
            b.word[0] = another(b.word[0])
            b.salt[0], b.sets[0] = b.word[0], 0
            for state in range(states):
                count = list_ready(b, b.start[generation, state], server, tick, end)
                if count >= 0:
                    offer_sets(b, generation, state, server, tick, count, max(sets // states, LEAST))
            if b.sets[0] == 0:
                return -1, -1
            extend_states(b, generation, server, tick)
            generation, states = 1 - generation, b.sets[0]
        # A state in which nothing waits is a schedule.
        final = pass_tick(b, generation, states, tick)
        if final >= 0:
            return generation, final
    return -1, -1


NARROWEST, WIDEST = 16, 10_000  # fewest and most states of a beam
STEPS = 40_000_000  # limit on states × tasks × servers × ticks of one beam: about a second
SETS = 100_000  # sets of tasks tried for one server and tick, at most
CUBED = 200  # steps at most, times tasks³: for few tasks CP-SAT proves more in less time


def can_search(tasks: Tasks, makespan: int) -> bool:
    """Return whether NARROWEST beams are fast enough."""
    return NARROWEST * _steps(tasks, makespan) <= STEPS


def _steps(tasks: Tasks, makespan: int) -> int:
    """Steps of a beam with one state."""
    return len(tasks) * len(tasks.capacity) * makespan


def _width(tasks: Tasks, makespan: int) -> int:
    """The most states that a beam can afford."""
    affordable = min(STEPS, CUBED * len(tasks) ** 3) // _steps(tasks, makespan)
    return min(max(affordable, NARROWEST), WIDEST)


class ShortestSoFar:
    """The shortest schedule of all parallel searches so far."""

    def __init__(self, first: FoundSchedule, improved: Callable[[int], None]) -> None:
        self.best, self.improved, self.lock = first, improved, threading.Lock()

    def offer(self, schedule: FoundSchedule) -> None:
        """Keep the schedule if it is shorter (thread-safe)."""
        with self.lock:
            if schedule.makespan < self.best.makespan:
                self.best = schedule
                self.improved(schedule.makespan)


def beam_from(tasks: Tasks, width: int, end: int, backward: bool, rng: np.random.Generator) -> Beam:
    """Return a beam of `width` states, with random weights, up to tick `end`.

    If `backward`, time runs from `end` to the first arrival. The weights' ranges did well on figure 3 of Zhang and Yao.
    """
    n, (servers, resources) = len(tasks), tasks.capacity.shape
    offsets, waits_for = tasks.followed_by if backward else tasks.waits_for
    # Backward in time, heads and tails change roles, and no task has a release.
    release, tail = tasks.release, tasks.tail[:n]
    if backward:
        release, tail = np.zeros_like(release), tasks.head[:n]
    # Room of a scarce resource is expensive: the less it would idle until `end`, the higher its price.
    capacity = np.maximum(tasks.capacity.mean(axis=0), 1)  # (D,)
    idle = np.maximum(end - (tasks.demand * tasks.service[:, None]).sum(axis=0) / (servers * capacity), 0.5)
    scarcity = idle ** -rng.uniform(0, 1)
    # Starting a task gains by its size, and by the chain that must follow it.
    size = ((tasks.demand / capacity) ** rng.uniform(1.5, 4)).sum(axis=1)
    large = tasks.service * size / max((tasks.service * size).mean(), 1e-300) * tasks.service.mean()
    gain = _between(rng, 0.007, 0.035) * large + _between(rng, 0.001, 0.008) * (tail + tasks.service)
    return Beam(
        release=release,
        service=tasks.service,
        tail=tail,
        demand=tasks.demand,
        capacity=tasks.capacity,
        kind=np.unique(tasks.capacity, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64),
        allowed=tasks.allowed,
        offsets=offsets,
        waits_for=waits_for,
        gain=gain,
        order=np.argsort(-gain, kind="stable"),
        price=scarcity / scarcity.mean() / capacity,
        noise=_between(rng, 0.01, 0.2),
        start=np.zeros((2, width, n), np.int32),
        server=np.zeros((2, width, n), np.int32),
        room=np.zeros((2, width, servers, resources), np.int64),
        cost=np.zeros((2, width)),
        key=np.zeros((2, width), np.uint64),
        sets=np.zeros(1, np.int64),
        heap=np.zeros(width),
        place=np.zeros(width, np.int64),
        parent=np.zeros(width, np.int64),
        chosen=np.zeros((width, TOGETHER), np.int64),
        size=np.zeros(width, np.int64),
        key_of=np.zeros(width, np.uint64),
        hashes=np.zeros(1 << (16 * width).bit_length(), np.uint64),
        salt=np.zeros(1, np.uint64),
        ready=np.zeros(n, np.int64),
        picked=np.zeros(TOGETHER, np.int64),
        free=np.zeros(resources, np.int64),
        word=rng.integers(2**63, size=1, dtype=np.uint64),
    )


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A random number from [low, high] whose logarithm is uniform."""
    return float(low * (high / low) ** rng.random())


def searched(tasks: Tasks, width: int, end: int, backward: bool, rng: np.random.Generator) -> FoundSchedule | None:
    """Return one beam's schedule by `end`, moved early, or None."""
    beam = beam_from(tasks, width, end, backward, rng)
    generation, state = search(beam, end, min(SETS, STEPS // (len(tasks.capacity) * max(end, 1))))
    if state < 0:
        return None
    start, server = beam.start[generation, state].astype(np.int64), beam.server[generation, state].astype(np.int64)
    if backward:
        start = end - start - tasks.service
    return schedule_list(dataclasses.replace(tasks, fixed=server), np.argsort(start, kind="stable"))


def search_until(tasks: Tasks, reached: ShortestSoFar, seconds: float, target: int, seed: int, stop: threading.Event) -> None:
    """Search for shorter schedules; double the width after a failure.

    Ends when n beams have found nothing, when the makespan is at most `target`, after `seconds`, or when `stop` is set.
    """
    rng, width, failed = np.random.default_rng(seed), NARROWEST, 0
    until, took = time.monotonic() + seconds, 0.0
    while failed < len(tasks) and time.monotonic() + took < until and not stop.is_set():
        end, began = reached.best.makespan - 1, time.monotonic()
        if end < target:
            return
        schedule = searched(tasks, width, end, rng.random() < 0.5, rng)
        if schedule is None:
            width, failed = min(2 * width, _width(tasks, end)), failed + 1
        else:
            reached.offer(schedule)
            failed = 0
        took = time.monotonic() - began


def search_in_parallel(
    tasks: Tasks,
    first: FoundSchedule,
    searches: int,
    seconds: float,
    target: int,
    seed: int = 0,
    improved: Callable[[int], None] = lambda makespan: None,
) -> FoundSchedule:
    """Return the shortest schedule of parallel searches from a known one."""
    reached = ShortestSoFar(first, improved)
    in_threads(lambda k, stop: search_until(tasks, reached, seconds, target, seed + k, stop), searches)
    return reached.best
