"""Estimated durations with a random error, for policies that use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import Workload


@dataclass(frozen=True, eq=False)
class Misjudged:
    """Function from a seed to a fixed or drawn table with estimates."""

    table: Jobs | Callable[[int], Jobs]
    error: float

    def __call__(self, seed: int) -> Jobs:
        jobs = self.table if isinstance(self.table, Jobs) else self.table(seed)
        random = np.random.Generator(np.random.Philox(seed))
        factor = random.uniform(1 - self.error, 1 + self.error, len(jobs))
        return replace(jobs, estimate=np.maximum(jobs.service * factor, np.finfo(float).tiny))


def misjudged(workload: Workload, error: float) -> Workload:
    """Return the tasks with random estimates of their durations.

    An estimate is the service times a factor, uniform on [1 - error, 1 + error]. Raises InputError for a workload without a Jobs
    table or with tasks in service at the start, and for an error outside [0, 1].
    """
    if not 0 <= error <= 1:
        raise InputError(f"the error of estimates must lie between 0 and 1, not {error}")
    if workload.jobs is None:
        raise InputError(f"workload {workload.name} is a stream: estimates go with a table of jobs")
    if begins_busy(workload):
        raise InputError(f"workload {workload.name} begins with tasks in service, which have no estimates")
    return workload.with_(jobs=Misjudged(workload.draw or workload.jobs, error))
