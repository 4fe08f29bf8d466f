"""Job completion times, makespan, progress and value from a schedule.

Times are in slots. A job ends when its last task does. Measures of Grandl et al. and of Zhang and Yao (PAPERS §2, §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import FIRST, Jobs, gang_spans
from packenv.results.delays import rank
from packenv.results.schedule_table import Schedule
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


SLOWDOWN_BOUND = 10.0
"""Seconds: a job that runs for less counts as if it ran so long (Feitelson and Rudolph, JSSPP 1998; PAPERS §8)."""


class ResponseTimes(NamedTuple):
    """Response and slowdown of started tasks, eligible after the warm-up.

    All fields but the last are keys of measures.
    """

    mean_response: float  # slots from eligible to end
    response_p95: float
    max_response: float
    mean_slowdown: float
    slowdown_p95: float
    max_slowdown: float
    slowdown_bound: float  # slots that a task counts as if it ran at least


def bounded_slowdown(wait: NDArray[np.int64], run: NDArray[np.int64], bound: float) -> NDArray[np.float64]:
    """(n,) max(1, (wait + run) / max(run, bound)), bound > 0."""
    return np.maximum(1.0, (wait + run) / np.maximum(run, bound))


def response_times(jobs: Jobs, schedule: Schedule, warmup: int, bound: float) -> ResponseTimes | None:
    """Return arrived rows' response times, or None. `bound` in slots."""
    rows = len(schedule.start)
    if rows == 0:
        return None
    # Count tasks that started and became eligible after the warm-up.
    waits_for_others = jobs.predecessors is not None or jobs.phase is not None
    eligible = eligible_slots(jobs.first(rows), schedule) if waits_for_others else jobs.arrival[:rows]
    counted, end = (schedule.start >= 0) & (eligible >= warmup), schedule.end
    if jobs.gang is not None:  # a gang counts once, until its last task ends
        first = gang_spans(jobs.gang)[:rows, FIRST]
        end = np.zeros(rows, np.int64)
        np.maximum.at(end, first, schedule.end)
        counted &= first == np.arange(rows)
    if not counted.any():
        return None
    wait, run = (schedule.start - eligible)[counted], (end - schedule.start)[counted]
    response, slowdown = wait + run, bounded_slowdown(wait, run, bound)
    at = rank(0.95, len(run)) - 1
    return ResponseTimes(
        mean_response=float(response.mean()),
        response_p95=float(np.partition(response, at)[at]),
        max_response=float(response.max()),
        mean_slowdown=float(slowdown.mean()),
        slowdown_p95=float(np.partition(slowdown, at)[at]),
        max_slowdown=float(slowdown.max()),
        slowdown_bound=float(bound),
    )
