"""Repeated beam searches with random weights (Ow & Morton 1988)."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable

import numpy as np

from packenv.theory.makespan.annealing import schedule_list
from packenv.theory.makespan.beam import TOGETHER, Beam, search
from packenv.theory.makespan.list_schedule import FoundSchedule
from packenv.theory.makespan.tasks import Tasks
from packenv.theory.makespan.threads import in_threads

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
