"""The least sum of completion times, by `makespan`'s CP-SAT model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.results.job_times import job_numbers
from packenv.theory.makespan.cp_sat import MOST_CHOICES, ScheduleModel
from packenv.theory.makespan.list_schedule import FoundSchedule
from packenv.theory.makespan.tasks import Ints, tasks_of
from packenv.workloads.workload import Workload


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
