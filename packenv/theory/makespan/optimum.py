"""`packenv.optimal_schedule`: shortest schedules of Jobs tables, with lower bounds."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packenv.errors import InputError
from packenv.executors.local import usable_cores
from packenv.options.fields import takes
from packenv.options.verbs import OptimumOptions
from packenv.policy import registered
from packenv.results.schedule_table import Schedule
from packenv.simulation import simulate
from packenv.theory.makespan.annealing import anneal_in_parallel, schedule_list
from packenv.theory.makespan.beam import can_search, search_in_parallel, searched
from packenv.theory.makespan.cp_sat import cp_model, improve
from packenv.theory.makespan.list_schedule import FoundSchedule
from packenv.theory.makespan.tasks import Tasks, tasks_of
from packenv.workloads.workload import Workload

HEURISTICS = ("price", "priority", "capacity", "fifo", "tetris", "bf-js", "fifo-ff")
"""The search begins with the best schedule of these policies."""

SEARCHED = 0.85  # most of the time goes to beam search or annealing; CP-SAT improves and proves in the rest
ROUNDING = 1e-9  # of the product bound · (1 + gap)
MOST_TASKS = 20_000  # limits of annealing: tasks,
MOST_PAIRS = 2_000_000  # pairs of tasks of which one waits for the other,
MOST_PLACES = 5_000_000  # and pairs of a task and a server

Progress = Callable[[float, int, int], None]  # seconds, the shortest makespan and the largest lower bound so far


@dataclass(frozen=True)
class Optimum:
    """A schedule of the whole table, and a makespan bound.

    The bound holds for every schedule, in slots from the first arrival. `history`: improving (seconds, makespan, bound).
    """

    schedule: Schedule = field(repr=False)
    makespan: int
    bound: int
    seconds: float
    history: tuple[tuple[float, int, int], ...] = field(repr=False)

    @property
    def proven(self) -> bool:
        """Whether makespan = bound, so that no schedule is shorter."""
        return self.makespan == self.bound

    @property
    def gap(self) -> float:
        """makespan / bound − 1."""
        return self.makespan / self.bound - 1


@takes(OptimumOptions, without=("objective", "slots"))
def optimal_schedule(
    workload: Any,
    options: OptimumOptions,
    *,
    hint: Schedule | None = None,
    warm_start: Sequence[str] = HEURISTICS,
    progress: Progress | None = None,
) -> Optimum:
    """Return the shortest schedule found in time, with a bound.

    The workload is what `packenv.workload` takes, with a Jobs table. Phases, predecessors, arrivals, several resources and
    unequal servers work as in the simulator.

    options           fields of OptimumOptions
    hint              a schedule to begin with, instead of the best one of the policies in `warm_start`
    progress          called with (seconds, makespan, bound) at every improvement

    With a `gap` of 0 the search ends early once the schedule is proven optimal. With `fixed_allocation`, as in Zhang and Yao,
    schedule and bound only consider that assignment. With one worker, a run that ends early gives the same schedule for the same
    seed. The search goes on by beam search (by annealing for too many tasks or ticks), and then by CP-SAT. Raises InputError
    without OR-tools, without a table, and for arguments out of range.
    """
    from packenv.workloads.find import workload as find_workload  # named workloads are no part of the policy `replay`

    cp_model()
    time_limit, gap, seed = options.time_limit, options.gap, options.seed
    if not time_limit > 0:
        raise InputError(f"the time limit must be positive, not {time_limit}")
    if not 0 <= gap < math.inf:
        raise InputError(f"the gap must be a number from 0 on, not {gap}")
    if options.workers is not None and options.workers < 1:
        raise InputError(f"workers must be at least 1, not {options.workers}")
    cores, workload = options.workers or usable_cores(), find_workload(workload)

    # First schedules: the hint or those of policies, and of a list in the same orders where the table is not too large.
    tasks = tasks_of(workload, options.fixed_allocation)
    schedules = [hint] if hint is not None else heuristic_schedules(workload, warm_start, seed)
    candidates = [candidate for candidate in (in_ticks(tasks, schedule) for schedule in schedules) if candidate is not None]
    orders = [np.argsort(start, kind="stable") for start, _, _ in sorted(candidates, key=_length)] + [tasks.longest_tail_first()]
    annealed = len(tasks) <= MOST_TASKS and tasks.pairs <= MOST_PAIRS and len(tasks) * len(tasks.capacity) <= MOST_PLACES
    if annealed:
        candidates += [schedule_list(tasks, order) for order in orders]  # also compiles it, before the clock runs
    if not candidates:
        raise InputError(f"{len(tasks)} tasks are too many to find a first schedule for: give a hint")
    best, bound = min(candidates, key=_length), tasks.bound

    # What the search needs is compiled before the clock runs.
    beamed = annealed and can_search(tasks, best.makespan)
    if beamed:
        searched(tasks, 1, 0, False, np.random.default_rng(seed))
    log = ProgressLog(tasks.tick, progress)
    log.record(best.makespan, bound)

    # Beam search, or annealing; then CP-SAT for what time is left, unless the schedule is good enough.
    target, improved = math.floor(bound * (1 + gap) + ROUNDING), functools.partial(log.record, bound=bound)
    if beamed:
        best = search_in_parallel(tasks, best, cores, SEARCHED * time_limit, target, seed, improved)
    elif annealed and best.makespan > target:
        lists = [orders[k % len(orders)] for k in range(cores)]
        best = min(best, anneal_in_parallel(tasks, lists, SEARCHED * time_limit, target, seed, improved), key=_length)
    if best.makespan > target:
        best, bound = improve(tasks, best, time_limit - log.seconds, cores, seed, gap, log.record)
    log.record(best.makespan, bound)

    # From ticks to slots.
    start = tasks.origin + best.start * tasks.tick
    schedule = Schedule(start, best.server.astype(np.int32), start + tasks.service * tasks.tick)
    return Optimum(schedule, best.makespan * tasks.tick, bound * tasks.tick, log.seconds, tuple(log.history))


def _length(schedule: FoundSchedule) -> int:
    return schedule.makespan


class ProgressLog:
    """The shortest makespan, largest bound so far (slots)."""

    def __init__(self, tick: int, progress: Progress | None) -> None:
        self.tick, self.progress = tick, progress
        self.began, self.lock = time.monotonic(), threading.Lock()
        self.history: list[tuple[float, int, int]] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def record(self, makespan: int, bound: int) -> None:
        """Record an improved makespan or bound, in ticks."""
        with self.lock:
            shortest, tightest = makespan * self.tick, bound * self.tick
            if self.history:
                shortest, tightest = min(self.history[-1][1], shortest), max(self.history[-1][2], tightest)
            if not self.history or self.history[-1][1:] != (shortest, tightest):
                self.history.append((self.seconds, shortest, tightest))
                if self.progress is not None:
                    self.progress(*self.history[-1])


def heuristic_schedules(workload: Workload, policies: Sequence[str], seed: int = 0) -> list[Schedule]:
    """Return complete schedules of the named policies that can run."""
    schedules = []
    for name in policies:
        if name.partition(":")[0] in registered():
            with contextlib.suppress(InputError):
                result = simulate(workload, name, seed=seed, drain=True, schedule=True)
                if result.schedule is not None:
                    schedules.append(result.schedule)
    return schedules


def in_ticks(tasks: Tasks, schedule: Schedule) -> FoundSchedule | None:
    """Return the schedule in ticks, or None if incomplete or infeasible."""
    start, server = schedule[:2]
    complete = len(start) == len(tasks) and bool((start >= 0).all() and ((start - tasks.origin) % tasks.tick == 0).all())
    if not complete or tasks.fault(start, server) or (tasks.fixed is not None and (server != tasks.fixed).any()):
        return None
    ticks = (start - tasks.origin) // tasks.tick
    return FoundSchedule(ticks, server.astype(np.int64), int((ticks + tasks.service).max()))
