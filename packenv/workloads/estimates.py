"""Durations that are believed with an error: what policies that are told how long tasks take then go by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class Misjudged:
    """`Misjudged(table, error)(seed)`: a table, or one drawn by seed, with estimates drawn by seed."""

    table: Jobs | Callable[[int], Jobs]
    error: float

    def __call__(self, seed: int) -> Jobs:
        jobs = self.table if isinstance(self.table, Jobs) else self.table(seed)
        random = np.random.Generator(np.random.Philox(seed))
        factor = random.uniform(1 - self.error, 1 + self.error, len(jobs))
        return replace(jobs, estimate=np.maximum(jobs.service * factor, np.finfo(float).tiny))


def misjudged(workload: Workload, error: float) -> Workload:
    """The same tasks with column `estimate`: service times a factor uniform on [1 - error, 1 + error], task by task.

    Raises InputError for a stream, which has no table to put estimates in, or an error outside [0, 1].
    """
    if not 0 <= error <= 1:
        raise InputError(f"the error of estimates must lie between 0 and 1, not {error}")
    if workload.jobs is None:
        raise InputError(f"workload {workload.name} is a stream: estimates go with a table of jobs")
    return workload.with_(jobs=Misjudged(workload.draw or workload.jobs, error))
