"""Whole jobs: unfinished jobs, their remaining work, and their news."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.locality import RowsByHome, enter, leave, nearest_row, rows_by_home
from packenv.cluster.queue.waiting import new_count, new_task, now, row_of
from packenv.cluster.records import append, unlink
from packenv.cluster.state import DONE, NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, add, job_book, note_end, start
from packenv.cluster.whole_jobs.releases import Releases, releases
from packenv.cluster.whole_jobs.remaining_work import (
    RemainingWork,
    note_no_work_left,
    note_overdue,
    note_start,
    path_below,
    remaining_work,
)
from packenv.cluster.whole_jobs.waiting_groups import (
    Members,
    WaitingGroups,
    add_member,
    no_members,
    note_none_waits,
    note_waiting,
    remove_member,
    waiting_groups,
)
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.results.job_times import numbered
from packenv.workloads.network import Network

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROWS, UNFINISHED, PRESENT, NEWS, EVERYWHERE = range(5)
"""Positions in `WholeJobs.counts`."""


class WholeJobs(Frame):
    """The jobs of one cluster, in G groups."""

    book: JobBook
    work: RemainingWork
    # derived from the table, constant during a run
    path: Ints  # (G,) expected slots on the longest path from a task of the group to the end of its job
    of_phase: Ints  # (phases,) tasks of each phase
    value: Floats  # (jobs,) 1 without column `value`
    total: Ints  # (D,) capacity of the whole cluster, units
    least: Ints  # (D,) units, smallest demand of any task for each resource
    # changes during a run
    ahead: Releases
    homes: RowsByHome  # the waiting rows; of no places where tasks with different data are in different groups
    arrival: Ints  # (jobs,) slot in which the job's first task arrived, NONE before
    left: Ints  # (jobs,) tasks that have not completed
    not_started: Ints  # (jobs, D) Σ demand · expected slots over the tasks that have not started, units · slots
    in_service: Ints  # (jobs,) tasks
    to_start: Ints  # (1,) Σ work.waiting over the jobs that have arrived
    longest: Ints  # (jobs,) scratch, 0 between uses: the longest path from tasks that are offered
    completed: Ints  # (phases,) tasks
    news: NDArray[np.int32]  # (G,) the groups that got new tasks in this slot
    noted: Ints  # (G,) the last slot in which a group was among `news`, NONE
    counts: Ints  # (5,) rows that have arrived; unfinished jobs; owners with tasks that wait or are in service; groups in
    #               `news`; 1 if anything may fit anywhere in this slot
    groups: WaitingGroups
    owners: Members  # those with waiting tasks
    backlog: Ints  # (D,) Σ demand · expected slots over the tasks that have arrived and not started, units · slots
    unfinished_value: Floats  # (1,) Σ value of the unfinished jobs


def whole_jobs(
    jobs: Jobs, capacity: Ints, network: Network | None = None, *, by_data: bool = False, by_devices: bool = False
) -> WholeJobs:
    """Return the state before slot 0, without waiting tasks.

    capacity    (L, D) units
    network     racks of the servers
    by_data     whether tasks with different data are in different groups
    by_devices  whether tasks that need different devices are
    """
    paths = path_below(jobs)
    sort = paths if jobs.devices is None or not by_devices else np.column_stack([paths, jobs.devices])
    book = job_book(jobs, sort=numbered(sort), by_data=by_data)
    first = np.unique(book.group, return_index=True)[1]
    job = book.job[book.group]
    number, phases = len(book.owner), int(book.phase.max()) + 1
    not_started = np.zeros((number, jobs.resources), np.int64)
    np.add.at(not_started, job, (book.demand * book.duration[:, None])[book.group])
    homes = rows_by_home(None if by_data else jobs.home, book.group, network, len(capacity))
    value = np.ones(number) if jobs.value is None else jobs.value[np.unique(job, return_index=True)[1]]
    return WholeJobs(
        book=book,
        work=remaining_work(book, capacity),
        path=paths[first],
        of_phase=np.bincount(book.phase[book.group], minlength=phases).astype(np.int64),
        value=np.asarray(value, np.float64).copy(),
        total=capacity.sum(axis=0),
        least=jobs.demand.min(axis=0),
        ahead=releases(len(jobs), *capacity.shape),
        homes=homes,
        arrival=np.full(number, NONE, np.int64),
        left=np.bincount(job, minlength=number).astype(np.int64),
        not_started=not_started,
        in_service=np.zeros(number, np.int64),
        to_start=np.zeros(1, np.int64),
        longest=np.zeros(number, np.int64),
        completed=np.zeros(phases, np.int64),
        news=np.zeros(len(first), np.int32),
        noted=np.full(len(first), NONE, np.int64),
        counts=np.zeros(5, np.int64),
        groups=waiting_groups(book, homes.servers),
        owners=no_members(len(book.queued)),
        backlog=np.zeros(jobs.resources, np.int64),
        unfinished_value=np.zeros(1),
    )


@functools.cache
def no_jobs() -> WholeJobs:
    """Return an empty state, for users that follow no jobs."""
    none = whole_jobs(Jobs.of([0], [1.0], [1]), np.ones((1, 1), np.int64))
    return none.replace(counts=np.zeros(0, np.int64))


@fused
def follows(jobs: WholeJobs) -> bool:
    """Return whether the jobs of the cluster are followed."""
    return jobs.counts.shape[0] > 0


@apart
def note_slot(c: Cluster, jobs: WholeJobs, everywhere: bool) -> None:
    """Process the beginning of this slot, maybe with servers reopened."""
    counts = jobs.counts
    counts[NEWS], counts[EVERYWHERE] = 0, int(everywhere)
    for n in range(c.head[c.e].due):
        i = c.due[c.e, n]
        if c.task[c.e, i].kind == DONE:
            note_completed(c, jobs, i)
    note_overdue(c, jobs.work, jobs.book)
    note_arrived(c, jobs)
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            note_eligible(c, jobs, i)


@compiled
def note_completed(c: Cluster, jobs: WholeJobs, i: int) -> None:
    """Count a completion, except of an initial task without row."""
    row = row_of(c, i)
    if row < 0:
        return
    g = jobs.book.group[row]
    j = jobs.book.job[g]
    note_end(c, jobs.book, i)
    note_no_work_left(jobs.work, jobs.book, row)
    unlink(jobs.ahead.links, jobs.ahead.ends[c.task[c.e, i].server], row)
    jobs.left[j] -= 1
    jobs.in_service[j] -= 1
    jobs.completed[jobs.book.phase[g]] += 1
    jobs.counts[PRESENT] -= not is_present(jobs, jobs.book.owner[j])
    if jobs.left[j] == 0:
        jobs.counts[UNFINISHED] -= 1
        jobs.unfinished_value[0] -= jobs.value[j]


@compiled
def note_arrived(c: Cluster, jobs: WholeJobs) -> None:
    """Count this slot's arrived tasks and their new jobs."""
    while jobs.counts[ROWS] < c.head[c.e].next_row:
        g = jobs.book.group[jobs.counts[ROWS]]
        j = jobs.book.job[g]
        change_backlog(jobs, g, 1)
        if jobs.arrival[j] == NONE:
            jobs.arrival[j] = now(c)
            jobs.counts[UNFINISHED] += 1
            jobs.to_start[0] += jobs.work.waiting[j]
            jobs.unfinished_value[0] += jobs.value[j]
        jobs.counts[ROWS] += 1


@compiled
def change_backlog(jobs: WholeJobs, g: int, sign: int) -> None:
    """Count an arrival (sign = 1) or a start (-1)."""
    for r in range(jobs.backlog.shape[0]):
        jobs.backlog[r] += sign * jobs.book.demand[g, r] * jobs.book.duration[g]


@compiled
def note_eligible(c: Cluster, jobs: WholeJobs, i: int) -> None:
    book = jobs.book
    row = row_of(c, i)
    g = book.group[row]
    owner = book.owner[book.job[g]]
    jobs.counts[PRESENT] += not is_present(jobs, owner)
    add(book, row, i)
    enter(jobs.homes, row)
    if book.queued[owner] == 1:
        add_member(jobs.owners, owner)
    if book.waiting[g] == 1:
        note_waiting(jobs.groups, book, g)
    if jobs.noted[g] != now(c):
        jobs.noted[g] = now(c)
        jobs.news[jobs.counts[NEWS]] = g
        jobs.counts[NEWS] += 1


@apart
def start_of_group(c: Cluster, jobs: WholeJobs, g: int, server: int) -> None:
    """Start the group's task with the nearest data here."""
    book = jobs.book
    row = nearest_task(jobs, g, server)
    jobs.to_start[0] -= jobs.work.rate[g] * book.duration[g]
    note_start(c, jobs.work, book, row, server)
    start(c, book, row, server)
    append(jobs.ahead.links, jobs.ahead.ends[server], row)
    leave(jobs.homes, row)
    jobs.in_service[book.job[g]] += 1
    for r in range(jobs.backlog.shape[0]):
        jobs.not_started[book.job[g], r] -= book.demand[g, r] * book.duration[g]
    change_backlog(jobs, g, -1)
    owner = book.owner[book.job[g]]
    if book.queued[owner] == 0:
        remove_member(jobs.owners, owner)
    if book.waiting[g] == 0:
        note_none_waits(jobs.groups, book, g)


@compiled
def mean_work_left(c: Cluster, jobs: WholeJobs) -> float:
    rates, ends = jobs.work.in_service[0], jobs.work.in_service[1]
    return float(jobs.to_start[0] + ends - now(c) * rates) / max(jobs.counts[UNFINISHED], 1)


@compiled
def nearest_task(jobs: WholeJobs, g: int, server: int) -> int:
    """Return the group's nearest waiting row, ties by row."""
    return nearest_row(jobs.homes, jobs.book.ends[g], g, server)


@compiled
def is_present(jobs: WholeJobs, owner: int) -> bool:
    return jobs.book.queued[owner] > 0 or share_of(jobs, owner) > 0


@compiled
def missing_shares(jobs: WholeJobs) -> float:
    """Return the sum of the owners' missing fair shares.

    Each owner with waiting tasks lacks a fraction of its fair share. The fair share is one over the number of owners with tasks
    waiting or in service, as in `packenv.results.fairness`.
    """
    missing, present = 0.0, jobs.counts[PRESENT]
    for n in range(jobs.owners.count[0]):
        missing += max(1 - present * share_of(jobs, jobs.owners.number[n]), 0.0)
    return missing


@compiled
def share_of(jobs: WholeJobs, owner: int) -> float:
    """Return an owner's largest share of a resource in service."""
    most = 0.0
    for r in range(jobs.total.shape[0]):
        if jobs.total[r] > 0:
            most = max(most, jobs.book.used[owner, r] / jobs.total[r])
    return most
