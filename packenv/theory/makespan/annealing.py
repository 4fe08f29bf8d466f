"""Simulated annealing over lists of tasks (`list_schedule`).

A neighbour of a list has one task moved, or two exchanged.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled, unlocked
from packenv.theory.makespan.list_schedule import BEST, CURRENT, TRIAL, FoundSchedule, ListSearch, decode, search_from
from packenv.theory.makespan.tasks import Ints, Tasks
from packenv.workloads.sampling import another, uniform

FIRST_TEMPERATURE = 0.4  # in mean services
TRIALS = 400  # neighbours tried, for every pair of tasks
SLICE = 200_000_000  # steps between two looks at the clock; a neighbour of n tasks on L servers takes n (n + L) steps


@compiled
def copy_trial(s: ListSearch, place: int) -> None:
    """Copy the trial's schedule to CURRENT or BEST."""
    for i in range(s.order.shape[1]):
        s.start[place, i], s.server[place, i] = s.start[TRIAL, i], s.server[TRIAL, i]
    s.makespan[place], s.cost[place] = s.makespan[TRIAL], s.cost[TRIAL]


@compiled
def accept(s: ListSearch) -> None:
    """Make the trial current, and save its schedule if best."""
    copy_trial(s, CURRENT)
    for k in range(s.order.shape[1]):
        s.order[CURRENT, k] = s.order[TRIAL, k]
        s.position[s.order[CURRENT, k]] = k
    if s.makespan[TRIAL] < s.makespan[BEST] or (s.makespan[TRIAL] == s.makespan[BEST] and s.cost[TRIAL] < s.cost[BEST]):
        copy_trial(s, BEST)


@compiled
def chance(word: NDArray[np.uint64]) -> float:
    """Draw a number from (0, 1), state `word` (1,)."""
    word[0] = another(word[0])
    return uniform(word[0])


@compiled
def can_move(s: ListSearch, i: int, place: int) -> bool:
    """Return whether row i can move without passing predecessors or successors."""
    position = s.position[i]
    if place < position:
        for m in range(s.offsets[i], s.offsets[i + 1]):
            if s.position[s.waits_for[m]] >= place:
                return False
        return True
    for k in range(position + 1, place + 1):
        j = s.order[CURRENT, k]
        for m in range(s.offsets[j], s.offsets[j + 1]):
            if s.waits_for[m] == i:
                return False
    return True


@compiled
def propose(s: ListSearch) -> int:
    """Make a random neighbour the trial, and return the first change or -1."""
    n = s.order.shape[1]
    a, b = int(n * chance(s.word)), int(n * chance(s.word))
    i, j = s.order[CURRENT, a], s.order[CURRENT, b]
    exchanged = chance(s.word) < 0.5
    if a == b or not can_move(s, i, b) or (exchanged and not can_move(s, j, a)):
        return -1
    for k in range(n):
        s.order[TRIAL, k] = s.order[CURRENT, k]
    if exchanged:
        s.order[TRIAL, a] = j
    else:
        step = 1 if a < b else -1
        for k in range(a, b, step):
            s.order[TRIAL, k] = s.order[CURRENT, k + step]
    s.order[TRIAL, b] = i
    return min(a, b)


@unlocked
def try_neighbours(s: ListSearch, temperature: float, trials: int, target: int) -> None:
    """Try `trials` neighbours until `target`, and first the list itself."""
    if s.makespan[CURRENT] == 0:
        s.makespan[BEST] = np.iinfo(np.int64).max
        decode(s, 0, np.inf)
        accept(s)
    for _ in range(trials):
        if s.makespan[BEST] <= target:
            return
        first = propose(s)
        if first >= 0 and decode(s, first, s.cost[CURRENT] - temperature * math.log(1 - chance(s.word))):
            accept(s)


def schedule_list(tasks: Tasks, order: Ints) -> FoundSchedule:
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
    """Return the best schedule found from the list `order`.

    Ends after TRIALS · n² neighbours, when the makespan is at most `target`, after `seconds`, or when `stop` is set. The
    temperature falls linearly with the used share of the trials or of the time, whichever is larger.
    `improved` is called with every shorter makespan. All in ticks.
    """
    search = search_from(tasks, order, seed)
    n, began = len(tasks), time.monotonic()
    try_neighbours(search, 0.0, 0, target)
    trials, attempts, best = TRIALS * n * n, 0, np.iinfo(np.int64).max
    while True:
        if search.makespan[BEST] < best:
            best = search.makespan[BEST]
            improved(int(best))
        used = max(attempts / trials, (time.monotonic() - began) / seconds if seconds > 0 else 1)
        if used >= 1 or best <= target or (stop is not None and stop.is_set()):
            return FoundSchedule(search.start[BEST], search.server[BEST], int(best))
        count = min(max(SLICE // (n * (n + len(tasks.capacity))), 1), trials - attempts)
        try_neighbours(search, FIRST_TEMPERATURE * float(tasks.service.mean()) * (1 - used), count, target)
        attempts += count


def anneal_in_parallel(
    tasks: Tasks,
    orders: list[Ints],
    seconds: float,
    target: int,
    seed: int = 0,
    improved: Callable[[int], None] = lambda makespan: None,
) -> FoundSchedule:
    """Return the best schedule of parallel searches from `orders`."""
    schedules = in_threads(lambda k, stop: anneal(tasks, orders[k], seconds, target, seed + k, improved, stop), len(orders))
    return min(schedules, key=lambda schedule: schedule.makespan)


Found = TypeVar("Found")


def in_threads(search: Callable[[int, threading.Event], Found], count: int) -> list[Found]:
    """Return `search(k, stop)` for k < `count`; failures and Ctrl-C set `stop`."""
    stop = threading.Event()
    with ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(search, k, stop) for k in range(count)]
        try:
            return [run.result() for run in runs]
        finally:
            stop.set()
