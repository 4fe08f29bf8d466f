"""A lower bound on mean completion times of jobs.

See docs/explanation/completion_bound.md. Take a resource with K units in the whole cluster. Let W_j(q) be the work of job j that
ends at least q slots before the job does in every schedule. Then Σ C_j ≥ Σ q_j + the sum of completion times of SRPT on one
machine of speed K with jobs of work W_j(q_j), for any q_j ≥ 0. q = 0 is the relaxation to one machine, q_j = the longest path of
job j the relaxation to paths.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs, Ragged
from packenv.results.job_times import job_numbers
from packenv.workloads.precedence import longest_paths, precedence_edges, ready_slots
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]


class PooledSchedule(NamedTuple):
    """SRPT with N jobs, in exact slots · speed."""

    total: int  # Σ completion times
    behind: NDArray[np.float64]  # (N,) jobs that are there and not completed while each is served, itself included, on average


def srpt(release: Ints, work: list[int], speed: int) -> PooledSchedule:
    """Run SRPT (Schrage 1968): releases (N,) in slots, `speed` per slot."""
    order = np.argsort(release, kind="stable").tolist()
    waiting: list[tuple[int, int]] = []
    now, total, k = 0, 0, 0
    crowd = [0.0] * len(work)
    while k < len(order) or waiting:
        # Idle until the next release, and add all released jobs.
        if not waiting:
            now = max(now, int(release[order[k]]) * speed)
        while k < len(order) and int(release[order[k]]) * speed <= now:
            heapq.heappush(waiting, (work[order[k]], order[k]))
            k += 1
        # Run the job with the least work left until it ends, or a job is released.
        left, job = waiting[0]
        until = now + left if k == len(order) else min(now + left, int(release[order[k]]) * speed)
        crowd[job] += len(waiting) * (until - now)
        if until - now == left:
            heapq.heappop(waiting)
            total += until
        else:
            heapq.heapreplace(waiting, (left - (until - now), job))
        now = until
    return PooledSchedule(total, np.array(crowd) / np.maximum(np.array(work, float), 1.0))


STEPS = 16  # q_j is tried at so many equal steps of the longest path of job j
ROUNDS = 8  # of choosing q again by what SRPT did
SHOWN_AS = "lower bound (all known)"
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)  # and for so many jobs behind each


@dataclass(frozen=True)
class CompletionBound:
    """Lower bounds on Σ (end − first arrival), in slots."""

    jobs: int
    total: int  # the largest that was found
    pooled: int  # of the relaxation to one machine, of the resource for which it is largest
    paths: int  # of the longest paths

    @property
    def mean(self) -> float:
        """Slots: no policy has a mean completion time below this."""
        return self.total / self.jobs


def completion_bound(workload: Workload) -> CompletionBound:
    """Return a lower bound on mean job completion times.

    It holds with full knowledge, and with preemption or without. Raises InputError for a workload without a Jobs table.
    """
    if workload.jobs is None:
        raise InputError(f"workload {workload.name} has no Jobs table: a bound on completion times needs all jobs")
    jobs, capacity = workload.jobs, workload.servers.units.sum(axis=0)
    job = job_numbers(jobs)
    release = np.full(int(job.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(release, job, jobs.arrival)
    paths = int((path_ends(jobs, job) - release).sum())
    tail = longest_paths(within_jobs(jobs, job), jobs.service) - jobs.service
    by_resource = [_of_resource(jobs, job, release, tail, r, int(k)) for r, k in enumerate(capacity) if k > 0]
    pooled, combined = max(bounds[0] for bounds in by_resource), max(bounds[1] for bounds in by_resource)
    return CompletionBound(len(release), max(paths, combined), pooled, paths)


def path_ends(jobs: Jobs, job: Ints) -> Ints:
    """(N,) jobs' earliest ends, by longest chains."""
    before, after, nodes = precedence_edges(jobs)
    end = jobs.arrival + jobs.service
    while True:
        later = ready_slots(jobs.arrival, end, before, after, nodes) + jobs.service
        if (later == end).all():
            break
        end = later
    last = np.zeros(int(job.max()) + 1, np.int64)
    np.maximum.at(last, job, end)
    return last


def within_jobs(jobs: Jobs, job: Ints) -> Jobs:
    """The same table without predecessors that belong to other jobs."""
    lists = jobs.predecessors
    if lists is None:
        return jobs
    row = np.repeat(np.arange(len(jobs)), np.diff(lists.offsets))
    same_job = job[row] == job[lists.values]
    if same_job.all():
        return jobs
    offsets = np.append(0, np.cumsum(np.bincount(row[same_job], minlength=len(jobs)))).astype(np.int64)
    return Jobs(
        jobs.arrival,
        jobs.demand,
        jobs.service,
        job=jobs.job,
        phase=jobs.phase,
        predecessors=Ragged(offsets, lists.values[same_job]),
    )


def _of_resource(jobs: Jobs, job: Ints, release: Ints, tail: Ints, r: int, capacity: int) -> tuple[int, int]:
    """Return bounds for q = 0 and best q."""
    # q_j takes STEPS + 1 values, from 0 to the longest path of job j.
    count = len(release)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, job, tail + jobs.service)
    q = longest[:, None] * np.arange(STEPS + 1) // STEPS  # (N, STEPS + 1)
    # Work of each job that ends at least q before the job, for each q.
    work = np.zeros(q.shape, object)
    for k in range(STEPS + 1):
        before = np.clip(jobs.service - np.maximum(q[job, k] - tail, 0), 0, None)  # slots that end q before the job
        np.add.at(work[:, k], job, jobs.demand[:, r].astype(object) * before)
    slots = (work / capacity).astype(np.float64)

    def bound(choice: NDArray[np.intp]) -> tuple[int, NDArray[np.float64]]:
        at = np.arange(count), choice
        pooled = srpt(release, work[at].tolist(), capacity)
        return -(-pooled.total // capacity) + int(q[at].sum() - release.sum()), pooled.behind

    # Choose q_j by prices: first from the last schedule, then constant ones.
    first, behind = bound(np.zeros(count, np.intp))
    best = first
    for weight in [None] * ROUNDS + list(WEIGHTS):
        price = behind if weight is None else np.full(count, weight)
        value, now = bound(np.argmax(q + price[:, None] * slots, axis=1))
        best = max(best, value)
        if weight is None:
            behind = (behind + np.where(now > 0, now, behind)) / 2
    return first, best
