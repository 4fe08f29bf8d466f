"""Shortest schedules and least completion times by OR-tools CP-SAT (PAPERS §3).

Constraints 11-14 of Zhang and Yao become intervals and cumulative resources. Each task is an interval. If it may run on several
servers, there is one optional interval per server, and exactly one of them is present. On each server the demands of each
resource stay within its capacity. The same constraint on the whole cluster follows, but speeds up the solver. Equal servers are
interchangeable, so they are ordered by the first row that they run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from packenv.errors import InputError, library_needed
from packenv.results.job_times import job_numbers
from packenv.theory.makespan.list_schedule import FoundSchedule
from packenv.theory.makespan.tasks import Ints, Tasks, tasks_of
from packenv.workloads.workload import Workload

MOST_CHOICES = 100_000  # (task, server) pairs: a larger program is not built in reasonable time and memory
BUILT = 10_000  # of these pairs are built in a second
NUMBERED = 50  # equal servers are ordered by the first rows only: with more rows the clauses outgrow the rest of the model


def cp_model() -> Any:
    """OR-tools' module `cp_model`. Raises InputError if it cannot be imported."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise InputError(library_needed("the offline optimum", "sat", error)) from None
    return cp_model


class ScheduleModel:
    """Variables and constraints for schedules up to a known length."""

    def __init__(self, tasks: Tasks, incumbent: FoundSchedule) -> None:
        self.cp = cp_model()
        self.tasks, self.incumbent = tasks, incumbent
        self.model = self.cp.CpModel()
        n = len(tasks)
        head, tail = tasks.head, tasks.tail + np.append(tasks.service, np.zeros(tasks.nodes - n, np.int64))
        self.begin = [self.model.new_int_var(int(head[i]), int(incumbent.makespan - tail[i]), "") for i in range(tasks.nodes)]
        self.makespan = self.model.new_int_var(tasks.bound, incumbent.makespan, "")
        self.placed: list[dict[int, Any]] = [self._choices(i) for i in range(n)]
        self._order()
        self._share()
        self._number_servers()
        self.model.minimize(self.makespan)

    def _choices(self, i: int) -> dict[int, Any]:
        """Return task i's 0/1 variables, one per server."""
        servers = np.flatnonzero(self.tasks.allowed[i])
        chosen = {int(server): self.model.new_bool_var("") for server in servers}
        self.model.add_exactly_one(chosen.values())
        return chosen

    def _order(self) -> None:
        """Order tasks after their predecessors, and within the makespan."""
        service = self.tasks.service.tolist() + [0] * (self.tasks.nodes - len(self.tasks))
        for before, after in zip(self.tasks.before.tolist(), self.tasks.after.tolist(), strict=True):
            self.model.add(self.begin[after] >= self.begin[before] + service[before])
        for i in np.flatnonzero(self.tasks.tail[: len(self.tasks)] == 0).tolist():
            self.model.add(self.makespan >= self.begin[i] + service[i])

    def _share(self) -> None:
        """Keep servers and the whole cluster within capacity."""
        tasks, model, resources = self.tasks, self.model, range(self.tasks.demand.shape[1])
        slots = tasks.service.tolist()
        intervals = [model.new_fixed_size_interval_var(self.begin[i], slots[i], "") for i in range(len(tasks))]
        for server, capacity in enumerate(tasks.capacity.tolist()):
            rows = [i for i in range(len(tasks)) if server in self.placed[i]]
            parts = [
                intervals[i]
                if len(self.placed[i]) == 1
                else model.new_optional_fixed_size_interval_var(self.begin[i], slots[i], self.placed[i][server], "")
                for i in rows
            ]
            for r in resources:
                self._cumulative(parts, [int(tasks.demand[i, r]) for i in rows], capacity[r])
        if len(tasks.capacity) > 1:
            for r in resources:
                self._cumulative(intervals, tasks.demand[:, r].tolist(), int(tasks.capacity[:, r].sum()))

    def _cumulative(self, intervals: list[Any], demands: list[int], capacity: int) -> None:
        """Add one capacity constraint in large integer units, unless all fits."""
        unit = int(np.gcd.reduce([capacity, *demands]))
        if sum(demands) > capacity:
            used = [k for k in range(len(demands)) if demands[k] > 0]
            self.model.add_cumulative([intervals[k] for k in used], [demands[k] // unit for k in used], capacity // unit)

    def _number_servers(self) -> None:
        """Order interchangeable servers by first row, among the first NUMBERED."""
        for group in interchangeable(self.tasks):
            for earlier, server in pairwise(group):
                before: list[Any] = []
                for chosen in self.placed[:NUMBERED]:
                    if server in chosen:
                        self.model.add_bool_or([chosen[server].negated(), *before])
                        before.append(chosen[earlier])

    def hint(self) -> None:
        """Let the solver begin with the known schedule."""
        server = numbered(self.tasks, self.incumbent.server)
        for i in range(len(self.tasks)):
            self.model.add_hint(self.begin[i], int(self.incumbent.start[i]))
            for place, chosen in self.placed[i].items():
                self.model.add_hint(chosen, int(server[i] == place))
        self.model.add_hint(self.makespan, self.incumbent.makespan)


def interchangeable(tasks: Tasks) -> list[list[int]]:
    """Group servers of equal capacity and allowed tasks."""
    kinds: dict[bytes, list[int]] = {}
    for server, capacity in enumerate(tasks.capacity):
        kinds.setdefault(capacity.tobytes() + tasks.allowed[:, server].tobytes(), []).append(server)
    return [group for group in kinds.values() if len(group) > 1]


def numbered(tasks: Tasks, server: Ints) -> Ints:
    """(n,) servers, with interchangeable ones ordered by their first row."""
    name = np.arange(len(tasks.capacity))
    for group in interchangeable(tasks):
        used = [int(s) for s in dict.fromkeys(server.tolist()) if s in group]
        name[used + [s for s in group if s not in used]] = group
    return name[server]


def improve(
    tasks: Tasks,
    incumbent: FoundSchedule,
    seconds: float,
    workers: int,
    seed: int,
    gap: float = 0.0,
    progress: Callable[[int, int], None] = lambda makespan, bound: None,
) -> tuple[FoundSchedule, int]:
    """Return a schedule at least as short, and a bound, in ticks.

    The bound is on the makespan of all schedules. Ends after about `seconds`, or when makespan / bound − 1 is at most `gap`.
    `progress` is called with (makespan, bound) at every improvement. A model that takes too long changes nothing.
    """
    if len(tasks) * len(tasks.capacity) > min(MOST_CHOICES, BUILT * seconds):
        return incumbent, tasks.bound  # the time would end before the model is built
    # Build the model, which counts as search time.
    deadline = time.monotonic() + seconds
    built = ScheduleModel(tasks, incumbent)
    built.hint()
    cp = built.cp
    solver = cp.CpSolver()
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    solver.parameters.relative_gap_limit = gap / (1 + gap)  # of the makespan, not of the bound
    solver.parameters.max_time_in_seconds = max(deadline - time.monotonic(), 0.0)
    # Report every better schedule and bound of the solver.
    best = [incumbent.makespan, tasks.bound]

    class SolutionWatch(cp.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
        def on_solution_callback(self) -> None:
            best[0] = min(best[0], round(self.objective_value))
            progress(best[0], best[1])

    def raised(bound: float) -> None:
        best[1] = max(best[1], round(bound))
        progress(best[0], best[1])

    solver.best_bound_callback = raised
    status = solver.solve(built.model, SolutionWatch())
    if status not in (cp.OPTIMAL, cp.FEASIBLE):
        return incumbent, max(best[1], tasks.bound)
    # Read the schedule, and return it if it beats the known one.
    start = np.array([solver.value(begin) for begin in built.begin[: len(tasks)]], np.int64)
    server = np.array([next(s for s, chosen in row.items() if solver.value(chosen)) for row in built.placed], np.int64)
    solution = FoundSchedule(start, server, int((start + tasks.service).max()))
    return min(solution, incumbent, key=lambda schedule: schedule.makespan), max(tasks.bound, round(solver.best_objective_bound))


class LeastCompletion(NamedTuple):
    """A schedule in slots, its completion times, and a non-preemptive bound."""

    start: Ints  # (n,)
    server: Ints  # (n,)
    total: int
    bound: int

    @property
    def proven(self) -> bool:
        return self.total == self.bound


def least_completion(workload: Workload, time_limit: float, workers: int = 0, seed: int = 0) -> LeastCompletion:
    """Return the best schedule found in `time_limit` seconds.

    It minimises the sum of end − first arrival over jobs. Raises InputError without OR-tools or a table, for one that is too
    large, and if no schedule was found in time.
    """
    tasks = tasks_of(workload)
    if len(tasks) * len(tasks.capacity) > MOST_CHOICES:
        raise InputError(f"{len(tasks)} tasks on {len(tasks.capacity)} servers are too many for the solver")
    assert workload.jobs is not None
    job = job_numbers(workload.jobs)
    horizon = int(tasks.release.max() + tasks.service.sum())
    none = np.zeros(len(tasks), np.int64)
    built = ScheduleModel(tasks, FoundSchedule(none, none, horizon))
    model, cp = built.model, built.cp
    ends = [model.new_int_var(0, horizon, "") for _ in range(int(job.max()) + 1)]
    for i, number in enumerate(job.tolist()):
        model.add(ends[number] >= built.begin[i] + int(tasks.service[i]))
    model.clear_objective()
    model.minimize(sum(ends))
    solver = cp.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = workers, seed
    solver.parameters.max_time_in_seconds = time_limit
    if solver.solve(model) not in (cp.OPTIMAL, cp.FEASIBLE):
        raise InputError(f"no schedule was found in {time_limit:g} s")
    release = np.full(len(ends), horizon)
    np.minimum.at(release, job, tasks.release)
    start = tasks.origin + tasks.tick * np.array([solver.value(begin) for begin in built.begin[: len(tasks)]], np.int64)
    server = np.array([next(s for s, chosen in row.items() if solver.value(chosen)) for row in built.placed], np.int64)
    arrived = int(release.sum())
    total, bound = round(solver.objective_value) - arrived, round(solver.best_objective_bound) - arrived
    return LeastCompletion(start, server, total * tasks.tick, bound * tasks.tick)
