"""Schedules squeezed into fewer and fewer ticks: annealing over starts and servers, with room that may be overdrawn at a price.

Where a list decides the order alone, and one exchange in it moves all that comes after, here every task keeps its start
and server until it is moved itself. Two tasks at a time are taken out and put back, the first where it costs little, the
second where both together cost little more than before. Once no room is overdrawn the schedule is one that the servers
can run, and the next one must be a tick shorter. Made for few ticks: a move looks at every tick of every server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from packenv.theory.annealing import Found
from packenv.theory.overdraft import look, overdraft_from, shorten
from packenv.theory.tasks import Tasks

MOST_TICKS = 4096  # of all servers together
MOST_UNITS = 2**53  # of all tasks together
WARM, COLD = 0.2, 0.06  # temperatures: a tick that is overdrawn by a share x of the capacity costs the root of x
TRIALS = 80  # pairs of tasks looked at, for every three tasks
COOLINGS = 100  # temperatures, at least
SLICE = 20_000_000  # steps between two looks at the clock, a pair being a step for every tick of every server


def can_squeeze(tasks: Tasks, makespan: int) -> bool:
    """Whether a schedule of this length is short enough, and the demands add up exactly."""
    exact = int(tasks.demand.sum(axis=0).max()) < MOST_UNITS and int(tasks.capacity.max()) < MOST_UNITS
    return len(tasks) > 1 and len(tasks.capacity) * makespan <= MOST_TICKS and exact


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
    s, began = overdraft_from(tasks, reached.found, seed), time.monotonic()
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
