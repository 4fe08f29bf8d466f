"""`Result`: everything that one run measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.results.job_times import JobTimes
from packenv.results.locality import DataLocality
from packenv.results.schedule import Schedule
from packenv.results.stability import Verdict


class Trajectory(NamedTuple):
    """The queue over time: means over consecutive bins of `bin_slots` slots, the first of which begins at slot 0."""

    bin_slots: int
    queue: NDArray[np.float64]  # (bins,) number of waiting tasks
    waiting_size: NDArray[np.float64]  # (bins,) sum of the sizes of waiting tasks, in units of capacity


@dataclass(frozen=True)
class Result:
    """What a run measured: counts over the whole run, and means over its slots from `warmup` on.

    Delays are in slots, of the tasks that became eligible after the warm-up and started. A mean or delay is None if
    there was nothing to measure: the run stopped before its warm-up ended, or no task started.
    """

    policy: str
    workload: str
    servers: int
    seed: int
    slots: int
    warmup: int
    arrived: int
    started: int
    completed: int
    waiting: int
    mean_queue: float | None
    max_queue: int | None
    mean_waiting_size: float | None  # units of capacity
    mean_delay: float | None
    delay_p50: float | None
    delay_p90: float | None
    delay_p95: float | None
    delay_p99: float | None
    delay_p999: float | None
    max_delay: int | None
    utilisation: tuple[float | None, ...]  # (D,) share of the cluster's capacity in service; None if it has no capacity
    verdict: Verdict
    load: float | None  # share of ρ*, if the workload was given by its load
    rho: tuple[float, float] | None  # the lower and upper bound on ρ* (tasks in service) behind `load`
    stopped: str | None  # why the run ended early, or None if it did not
    seconds: float  # of the simulation loop alone
    tasks_per_second: float
    trajectory: Trajectory
    schedule: Schedule | None = None
    jobs: JobTimes | None = None  # completion times of whole jobs, if the table says which tasks make a job
    data: DataLocality | None = None  # how near to their data tasks ran, if the table says where the data lie
    remark: str | None = None  # what an agent says of its run: whether it saw all that it might have started
