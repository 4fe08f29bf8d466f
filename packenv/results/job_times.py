"""Job completion times, makespan, progress and value from a schedule.

Times are in slots. A job ends when its last task does. Measures of Grandl et al. and of Zhang and Yao (PAPERS §2, §3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.results.delays import rank
from packenv.results.schedule import Schedule
from packenv.workloads.precedence import NEVER, precedence_edges, ready_slots

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NONE = -1


@dataclass(frozen=True)
class JobTimes:
    """Arrival and end of jobs, numbered by first occurrence."""

    job: Ints  # (n,) job of each row
    arrival: Ints  # (jobs,) slot of the first arrival
    end: Ints  # (jobs,) slot in which the last task leaves, NONE (-1) if it did not within the run
    makespan: int | None  # slots from the first arrival to the last end; None unless all jobs ended

    @property
    def completion(self) -> Ints:
        """(ended jobs,) slots from arrival to end."""
        ended = self.end != NONE
        return self.end[ended] - self.arrival[ended]

    def quantile(self, share: float) -> float | None:
        """Return a quantile of ended jobs' completion times, or None."""
        times = np.sort(self.completion)
        return float(times[rank(share, len(times)) - 1]) if len(times) else None

    @property
    def mean(self) -> float | None:
        """Mean completion time of ended jobs, or None without any."""
        return float(self.completion.mean()) if len(self.completion) else None

    def slowed(self, other: JobTimes, by: float = 0.1) -> float:
        """Return the share of jobs slower by more than `by`.

        Both runs have the same table. Only jobs that ended in both count.
        """
        mine, its = self.end - self.arrival, other.end - other.arrival
        both = (self.end != NONE) & (other.end != NONE)
        return float((mine > (1 + by) * its)[both].mean())


def job_numbers(jobs: Jobs) -> Ints:
    """(n,) jobs from 0 by first occurrence (tasks without jobs)."""
    return numbered(np.arange(len(jobs)) if jobs.job is None else jobs.job)


def mean_durations(jobs: Jobs) -> Floats:
    """(jobs,) mean estimates in slots; true means without column `estimate`."""
    job = job_numbers(jobs)
    durations = jobs.service if jobs.estimate is None else jobs.estimate
    return np.asarray(np.bincount(job, weights=durations) / np.bincount(job))


def owner_numbers(jobs: Jobs) -> Ints:
    """(n,) owners from 0: tenants, else jobs."""
    return job_numbers(jobs) if jobs.tenant is None else numbered(jobs.tenant)


def numbered(rows: Ints) -> Ints:
    """(n,) numbers of (n,) or (n, k) rows, by first occurrence."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int64)


def job_times(jobs: Jobs, schedule: Schedule, until: int) -> JobTimes:
    """Return job times of a whole table, until slot `until`."""
    job = job_numbers(jobs)
    count = int(job.max()) + 1
    arrival, end = np.full(count, NEVER), np.zeros(count, np.int64)
    np.minimum.at(arrival, job, jobs.arrival)
    np.maximum.at(end, job, schedule.end)
    ended = np.ones(count, np.bool_)
    ended[job[(schedule.start < 0) | (schedule.end > until)]] = False
    makespan = int(end.max() - arrival.min()) if ended.all() else None
    return JobTimes(job, arrival, np.where(ended, end, NONE), makespan)


def cut(schedule: Schedule, until: int) -> Schedule:
    """Return the schedule, with tasks in service ended at `until`."""
    return schedule._replace(end=np.minimum(schedule.end, until))


def efficiency(jobs: Jobs, times: JobTimes) -> tuple[Ints, Floats]:
    """Return job ends, and ended shares of value (1 by default, PAPERS §3)."""
    first = np.unique(times.job, return_index=True)[1]
    value = np.ones(len(first)) if jobs.value is None else jobs.value[first]
    order = np.argsort(np.where(times.end == NONE, NEVER, times.end), kind="stable")
    order = order[times.end[order] != NONE]
    return times.end[order], np.cumsum(value[order]) / value.sum()


def progress(jobs: Jobs, schedule: Schedule, slots: Ints) -> Floats:
    """(slots, jobs) done shares of service (PAPERS §3, fairness)."""
    job = job_numbers(jobs)
    length = np.where(schedule.start < 0, jobs.service, schedule.end - schedule.start)
    total = np.bincount(job, length)
    done = np.zeros((len(slots), len(total)))
    for k, slot in enumerate(slots):
        served = np.where(schedule.start < 0, 0, np.clip(slot - schedule.start, 0, length))
        done[k] = np.bincount(job, served, len(total)) / total
    return done


def eligible_slots(jobs: Jobs, schedule: Schedule) -> Ints:
    """(n,) slots of arrival or last predecessor's end, or -1."""
    end = np.where(schedule.start < 0, NEVER, schedule.end)
    ready = ready_slots(jobs.arrival, end, *precedence_edges(jobs))
    return np.where(ready == NEVER, NONE, ready)
