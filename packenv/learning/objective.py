"""What training lowers and evaluations compare: the mean queue, or a measure of whole jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from packenv.api import simulate
from packenv.results.result import Result
from packenv.workloads.workload import Workload

QUEUE = "mean queue"


def objective(reward: str) -> str:
    """What an agent that is trained with this reward is compared by."""
    return {"completion": "mean completion", "value": "mean completion by value", "makespan": "makespan"}.get(reward, QUEUE)


def measure(workload: Workload, policy: Any, slots: int | None, seed: int, by: str) -> tuple[float, int]:
    """The objective `by` of one run, in tasks or slots, and how many tasks started.

    A table is played to its end; one with jobs that never end, as the policy passes for ever, measures infinity.
    """
    if workload.jobs is None:
        result = simulate(workload, policy, slots, seed)
    else:
        result = simulate(workload, policy, None, seed, drain=True)
        if result.jobs is not None and result.jobs.makespan is None:
            return math.inf, result.started
    return MEASURES[by](result, workload, seed), result.started


def _mean_queue(result: Result, workload: Workload, seed: int) -> float:
    return result.mean_queue or 0.0


def _mean_completion(result: Result, workload: Workload, seed: int) -> float:
    return (result.jobs.mean if result.jobs is not None else None) or 0.0


def _makespan(result: Result, workload: Workload, seed: int) -> float:
    return float((result.jobs.makespan if result.jobs is not None else None) or 0)


def _mean_by_value(result: Result, workload: Workload, seed: int) -> float:
    table, times = workload.at(seed).jobs, result.jobs
    if table is None or times is None or table.value is None:
        return _mean_completion(result, workload, seed)
    value = table.value[np.unique(times.job, return_index=True)[1]]
    return float((value * (times.end - times.arrival)).sum() / value.sum())


MEASURES: dict[str, Callable[[Result, Workload, int], float]] = {
    QUEUE: _mean_queue,
    "mean completion": _mean_completion,
    "mean completion by value": _mean_by_value,
    "makespan": _makespan,
}
