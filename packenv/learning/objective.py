"""The measure of training: mean queue, or whole jobs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from packenv.api import simulate
from packenv.envs.rewards import name_and_price
from packenv.jobs import Jobs
from packenv.results.fairness import missing_shares
from packenv.results.job_times import JobTimes, job_times
from packenv.workloads.workload import Workload

QUEUE, COMPLETION, BY_VALUE, MAKESPAN = "mean queue", "mean completion", "mean completion by value", "makespan"
SLOWDOWN = "mean bounded slowdown"
OF_REWARD = {"completion": COMPLETION, "overtaking": COMPLETION, "value": BY_VALUE, "makespan": MAKESPAN, "slowdown": SLOWDOWN}


class Objective(NamedTuple):
    """A measure of a run, unfairness included (less is better)."""

    measure: str
    unfairness: float = 0.0  # price of a slot in which an owner with waiting tasks has nothing of its fair share

    def __str__(self) -> str:
        return f"{self.measure} with unfairness at {self.unfairness:g}" if self.unfairness else self.measure


def objective(reward: str) -> Objective:
    """Return the measure for agents trained with this reward."""
    name, price = name_and_price(reward)
    return Objective(OF_REWARD.get(name, QUEUE), price)


def measure(workload: Workload, policy: Any, slots: int | None, seed: int, by: Objective) -> tuple[float, int]:
    """Return a run's objective (tasks or slots), and started tasks.

    A table runs to its end. Jobs that never end, because the policy passes for ever, measure infinity.
    """
    if workload.jobs is None:
        result = simulate(workload, policy, slots, seed)
        return result.mean_queue or 0.0, result.started
    result = simulate(workload, policy, None, seed, drain=True, schedule=True)
    jobs, schedule = workload.at(seed).jobs, result.schedule
    assert jobs is not None and schedule is not None
    times = result.jobs or job_times(jobs, schedule, result.slots)  # of tasks, where the table names no jobs
    if times.makespan is None:
        return math.inf, result.started
    if by.measure == QUEUE:
        return result.mean_queue or 0.0, result.started
    if by.measure == SLOWDOWN:
        return result.response.mean_slowdown if result.response else 1.0, result.started
    cost, count = total_and_count(by.measure, jobs, times)
    if by.unfairness:
        cost += by.unfairness * missing_shares(jobs, schedule, workload.servers.units)[0]
    return cost / count, result.started


def total_and_count(measure: str, jobs: Jobs, times: JobTimes) -> tuple[float, float]:
    """Return the reward's sum without sign, and its divisor."""
    if measure == MAKESPAN:
        return float(times.makespan or 0), 1.0
    value = np.ones(len(times.end))
    if measure == BY_VALUE and jobs.value is not None:
        value = jobs.value[np.unique(times.job, return_index=True)[1]]
    return float((value * (times.end - times.arrival)).sum()), float(value.sum())
