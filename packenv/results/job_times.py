"""What became of whole jobs: makespan, completion times, fairness, and how full the cluster was.

All of it follows from a Jobs table and the schedule of a run; times are slots, and a job is over when the last of its
tasks is. Measures of seeds 001 and 002 (PAPERS §2, §3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.jobs import Jobs
from packenv.results.schedule import Schedule
from packenv.workloads.precedence import NEVER, precedence_edges, ready_slots

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NONE = -1


@dataclass(frozen=True)
class JobTimes:
    """When each job came and ended; jobs are numbered by first appearance in the table."""

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
        """The least completion time that at least this share of the ended jobs do not exceed."""
        times = np.sort(self.completion)
        return float(times[int(np.ceil(share * len(times))) - 1]) if len(times) else None

    @property
    def mean(self) -> float | None:
        """Mean completion time of the jobs that ended."""
        return float(self.completion.mean()) if len(self.completion) else None

    def slowed(self, other: JobTimes, by: float = 0.1) -> float:
        """Share of jobs that took longer than in another run of the same table by more than this share."""
        mine, its = self.end - self.arrival, other.end - other.arrival
        both = (self.end != NONE) & (other.end != NONE)
        return float((mine > (1 + by) * its)[both].mean())


def job_numbers(jobs: Jobs) -> Ints:
    """(n,) dense number of each row's job, by first appearance; without column `job` every task is a job of its own."""
    return numbered(np.arange(len(jobs)) if jobs.job is None else jobs.job)


def mean_durations(jobs: Jobs) -> Floats:
    """(jobs,) slots that each job's tasks are believed to take on average: by column `estimate`, or else the truth."""
    job = job_numbers(jobs)
    believed = jobs.service if jobs.estimate is None else jobs.estimate
    return np.asarray(np.bincount(job, weights=believed) / np.bincount(job))


def owner_numbers(jobs: Jobs) -> Ints:
    """(n,) dense number of whom each row's share is counted for: its tenant, or its job where there are no tenants."""
    return job_numbers(jobs) if jobs.tenant is None else numbered(jobs.tenant)


def numbered(rows: Ints) -> Ints:
    """(n,) dense number of each row of (n,) or (n, k) integers, by first appearance."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int64)


def job_times(jobs: Jobs, schedule: Schedule, until: int) -> JobTimes:
    """From a schedule of the whole table, of a run that lasted until slot `until`."""
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
    """What had happened by a slot: tasks that were in service then leave in it."""
    return schedule._replace(end=np.minimum(schedule.end, until))


def efficiency(jobs: Jobs, times: JobTimes) -> tuple[Ints, Floats]:
    """Steps (slot, share of all value): the value of the jobs that ended by then (PAPERS §3).

    A job's value is that of its first row.
    """
    first = np.unique(times.job, return_index=True)[1]
    value = np.ones(len(first)) if jobs.value is None else jobs.value[first]
    order = np.argsort(np.where(times.end == NONE, NEVER, times.end), kind="stable")
    order = order[times.end[order] != NONE]
    return times.end[order], np.cumsum(value[order]) / value.sum()


def progress(jobs: Jobs, schedule: Schedule, slots: Ints) -> Floats:
    """(slots, jobs) share of each job's service time that was over by each slot (PAPERS §3, fairness)."""
    job = job_numbers(jobs)
    length = np.where(schedule.start < 0, jobs.service, schedule.end - schedule.start)
    total = np.bincount(job, length)
    done = np.zeros((len(slots), len(total)))
    for k, slot in enumerate(slots):
        served = np.where(schedule.start < 0, 0, np.clip(slot - schedule.start, 0, length))
        done[k] = np.bincount(job, served, len(total)) / total
    return done


@dataclass(frozen=True)
class Occupancy:
    """Piecewise constant in time: what holds from slot[k] up to slot[k + 1]."""

    slot: Ints  # (k + 1,)
    used: Floats  # (k, D) share of the cluster's capacity in service
    waiting: Ints  # (k,) eligible tasks that wait

    @property
    def utilisation(self) -> Floats:
        """(D,) mean share of the capacity in service, from the first slot to the last."""
        return np.average(self.used, axis=0, weights=np.diff(self.slot))

    @property
    def fragmentation(self) -> float:
        """Mean over resources of the share that is free, while tasks wait: capacity that there was and nobody could use."""
        weights = np.diff(self.slot) * (self.waiting > 0)
        return float(np.average(1 - self.used, axis=0, weights=weights).mean()) if weights.any() else 0.0


def occupancy(jobs: Jobs, schedule: Schedule, capacity: Ints) -> Occupancy:
    """How full a cluster (L, D units) was, and how many eligible tasks waited, from the first arrival to the last end."""
    started = schedule.start >= 0
    start, end, demand = schedule.start[started], schedule.end[started], jobs.demand[started]
    eligible = eligible_slots(jobs, schedule)
    slot = np.unique(np.concatenate([eligible[eligible >= 0], start, end]))
    total = capacity.sum(axis=0)
    change = np.zeros((len(slot), jobs.resources), np.int64)
    np.add.at(change, np.searchsorted(slot, start), demand)
    np.add.at(change, np.searchsorted(slot, end), -demand)
    queue = np.zeros(len(slot), np.int64)
    np.add.at(queue, np.searchsorted(slot, eligible[eligible >= 0]), 1)
    np.add.at(queue, np.searchsorted(slot, start), -1)
    used = np.cumsum(change, axis=0)[:-1] / np.where(total > 0, total, 1)
    return Occupancy(slot, used, np.cumsum(queue)[:-1])


def eligible_slots(jobs: Jobs, schedule: Schedule) -> Ints:
    """(n,) slot in which each task could start: its arrival, or the end of the last it waits for; -1 if that never came."""
    end = np.where(schedule.start < 0, NEVER, schedule.end)
    ready = ready_slots(jobs.arrival, end, *precedence_edges(jobs))
    return np.where(ready == NEVER, NONE, ready)


def most_allocated(jobs: Jobs, schedule: Schedule, capacity: Ints) -> Floats:
    """(D,) the most that any server ever had in service, as a share of its capacity: above 1 is over-allocation."""
    rows = np.flatnonzero(schedule.start >= 0)
    server = np.concatenate([schedule.server[rows]] * 2)
    slot = np.concatenate([schedule.end[rows], schedule.start[rows]])
    change = np.concatenate([-jobs.demand[rows], jobs.demand[rows]])
    order = np.lexsort((np.arange(len(slot)), slot, server))  # those that leave before those that come
    server, held = server[order], np.cumsum(change[order], axis=0)  # every server's changes add up to 0
    share = held / np.where(capacity > 0, capacity, 1)[server]
    return np.asarray(share.max(axis=0, initial=0.0))


def unfairness(jobs: Jobs, schedule: Schedule, capacity: Ints) -> float:
    """Mean distance below the fair share of the jobs (or tenants) that have tasks waiting: 0 is fair, 1 is nothing at all.

    At every moment each of the n owners with eligible tasks, waiting or in service, is due 1/n of its dominant resource;
    what one whose tasks wait has less than that, as a share of it, is averaged over such owners and time.
    """
    owner = owner_numbers(jobs)
    rows = np.arange(len(jobs))
    eligible = eligible_slots(jobs, schedule)
    came, started = rows[eligible >= 0], rows[schedule.start >= 0]
    slot = np.concatenate([eligible[came], schedule.start[started], schedule.end[started]])
    row = np.concatenate([came, started, started])
    kinds = np.repeat([0, 1, 2], [len(came), len(started), len(started)])  # becomes eligible, starts, leaves
    waits, holds = np.array([1, -1, 0])[kinds], np.array([0, 1, -1])[kinds]
    total = capacity.sum(axis=0)
    share = jobs.demand / np.where(total > 0, total, 1)
    count, order = int(owner.max()) + 1, np.argsort(slot, kind="stable")
    row = row[order]
    events = slot[order], owner[row], waits[order], holds[order], share[row]
    state = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, jobs.resources))
    missing, time = _missing_shares(*events, *state, np.zeros(count, np.int64), np.full(count, NONE, np.int64))
    return missing / time if time else 0.0


@compiled
def _missing_shares(
    slot: Ints,  # (events,) ascending
    owner: Ints,  # (events,)
    waits: Ints,  # (events,) change in the tasks that wait,
    holds: Ints,  # (events,) and in those in service,
    share: Floats,  # (events, D) each of which takes so much of the cluster
    waiting: Ints,  # (owners,) zeros
    running: Ints,  # (owners,) zeros
    held: Floats,  # (owners, D) zeros
    queued: Ints,  # (owners,) scratch: those with waiting tasks, in no order,
    position: Ints,  # (owners,) and where each of them is, NONE
) -> tuple[float, float]:
    """What owners with waiting tasks have less than their fair share, and how many there are, added up over the slots."""
    n, present, count, missing, time = 0, 0, 0, 0.0, 0.0
    while n < len(slot):
        now = slot[n]
        while n < len(slot) and slot[n] == now:
            o = owner[n]
            present -= waiting[o] + running[o] > 0
            waiting[o] += waits[n]
            running[o] += holds[n]
            present += waiting[o] + running[o] > 0
            for r in range(held.shape[1]):
                held[o, r] += holds[n] * share[n, r]
            if waiting[o] > 0 and position[o] == NONE:
                queued[count], position[o] = o, count
                count += 1
            elif waiting[o] == 0 and position[o] != NONE:
                count -= 1
                queued[position[o]] = queued[count]
                position[queued[count]], position[o] = position[o], NONE
            n += 1
        slots = slot[n] - now if n < len(slot) else 0
        for k in range(count):
            most = 0.0
            for r in range(held.shape[1]):
                most = max(most, held[queued[k], r])
            missing += max(1 - present * most, 0.0) * slots
        time += float(count * slots)
    return missing, time
