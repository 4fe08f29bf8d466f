"""Waiting and running tasks of every job, for policies.

Groups hold waiting tasks of equal job, phase, demand vector and estimated duration, and of equal home servers unless `by_data`
is False. A policy scans groups, so its cost does not grow with their sizes. It calls `note_new` once in every slot in which it
schedules, `start` instead of `place`, and `note_end` for every completion. Jobs, groups and owners are numbered by first
appearance in the table. The owner of a task is its tenant, or its job if the table has no tenants.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.in_service import place
from packenv.cluster.queue.waiting import new_count, new_task, row_of
from packenv.cluster.records import empty_lists, insert_in_order, link_type, unlink
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.results.job_times import job_numbers, numbered, owner_numbers
from packenv.workloads.precedence import set_numbers

Ints = NDArray[np.int64]
Places = NDArray[np.int32]


class Demands(Protocol):
    """Demand vectors of the groups."""

    demand: Ints  # (G, D) units


class JobBook(Frame):
    """Jobs in G groups, H home entries, D resources."""

    # derived from the table, constant during a run
    group: Places  # (n,) group of each row
    job: Places  # (G,) job of each group
    phase: Places  # (G,) phase of each group, numbered over all jobs
    owner: Places  # (jobs,) owner of each job
    demand: Ints  # (G, D) units
    duration: Ints  # (G,) slots, >= 1: the estimate, or the service time where the table has no estimates
    home: Places  # (H,) home servers of group g: home[home_of[g] : home_of[g + 1]]
    home_of: Ints  # (G + 1,)
    # changes during a run
    place: Places  # (n,) index of a waiting row in the pool of tasks
    links: NDArray[np.void]  # (n,) link_type: the waiting rows of each group, in row order
    ends: NDArray[np.void]  # (G,) ends_type
    waiting: Ints  # (G,) waiting tasks
    active: Places  # (G,) active[:count] are the groups with waiting tasks, in no particular order
    position: Places  # (G,) index of a group in `active`, valid while it has waiting tasks
    count: Ints  # (1,) number of groups with waiting tasks
    queued: Ints  # (owners,) waiting tasks
    used: Ints  # (owners, D) units in service


def job_book(jobs: Jobs, sort: Ints | None = None, *, by_data: bool = True) -> JobBook:
    """Return the state before slot 0, without waiting tasks.

    sort     (n,) tasks with different numbers are in different groups
    by_data  whether tasks with different home servers are, too; if False, groups have no home servers

    Raises InputError if a job has several tenants.
    """
    job, owner = job_numbers(jobs), owner_numbers(jobs)
    owners = owner[np.unique(job, return_index=True)[1]]
    several = owners[job] != owner
    if jobs.job is not None and several.any():
        raise InputError(f"job {jobs.job[np.argmax(several)]} has tasks of several tenants")
    duration = believed_slots(jobs)
    phase = numbered(np.stack([job, np.zeros_like(job) if jobs.phase is None else jobs.phase], axis=1))
    home = jobs.home if by_data else None
    homes = np.zeros(len(jobs), np.int64) if home is None else set_numbers(home)
    group = numbered(np.column_stack([phase, duration, jobs.demand, homes, np.zeros_like(homes) if sort is None else sort]))
    heads = np.unique(group, return_index=True)[1]
    n, groups = len(jobs), len(heads)
    sets = [np.zeros(0, np.int64)] * groups if home is None else [home.row(int(row)) for row in heads]
    return JobBook(
        group=group.astype(np.int32),
        job=job[heads].astype(np.int32),
        phase=phase[heads].astype(np.int32),
        owner=owners.astype(np.int32),
        demand=jobs.demand[heads].copy(),
        duration=duration[heads],
        home=np.concatenate([*sets, np.zeros(0)]).astype(np.int32),
        home_of=np.cumsum([0, *map(len, sets)]).astype(np.int64),
        place=np.full(n, NONE, np.int32),
        links=np.zeros(n, link_type),
        ends=empty_lists(groups),
        waiting=np.zeros(groups, np.int64),
        active=np.zeros(groups, np.int32),
        position=np.zeros(groups, np.int32),
        count=np.zeros(1, np.int64),
        queued=np.zeros(int(owner.max()) + 1, np.int64),
        used=np.zeros((int(owner.max()) + 1, jobs.resources), np.int64),
    )


def believed_slots(jobs: Jobs) -> Ints:
    """Return estimates, or service times without estimates, (n,) >= 1."""
    return np.maximum(np.rint(jobs.service if jobs.estimate is None else jobs.estimate).astype(np.int64), 1)


@compiled
def note_new(c: Cluster, book: JobBook) -> None:
    """Add this slot's new tasks that have not started."""
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            add(book, row_of(c, i), i)


@compiled
def add(book: JobBook, row: int, i: int) -> None:
    """Add waiting task i, of this row, to its group."""
    g = book.group[row]
    book.place[row] = i
    insert_in_order(book.links, book.ends[g], row)
    if book.waiting[g] == 0:
        book.active[book.count[0]], book.position[g] = g, book.count[0]
        book.count[0] += 1
    book.waiting[g] += 1
    book.queued[book.owner[book.job[g]]] += 1


@compiled
def start(c: Cluster, book: JobBook, row: int, server: int) -> None:
    """Start a waiting row, and update its group and owner."""
    g = book.group[row]
    owner = book.owner[book.job[g]]
    unlink(book.links, book.ends[g], row)
    book.waiting[g] -= 1
    if book.waiting[g] == 0:
        book.count[0] -= 1
        last = book.active[book.count[0]]
        book.active[book.position[g]], book.position[last] = last, book.position[g]
    book.queued[owner] -= 1
    for r in range(book.demand.shape[1]):
        book.used[owner, r] += book.demand[g, r]
    place(c, book.place[row], server)


@compiled
def note_end(c: Cluster, book: JobBook, i: int) -> None:
    """Count a completion, except of an initial task without row."""
    row = row_of(c, i)
    if row >= 0:
        g = book.group[row]
        owner = book.owner[book.job[g]]
        for r in range(book.demand.shape[1]):
            book.used[owner, r] -= book.demand[g, r]


@compiled
def at_home(book: JobBook, g: int, server: int) -> bool:
    """Return whether data are here, or the group has none."""
    if book.home_of[g] == book.home_of[g + 1]:
        return True
    for n in range(book.home_of[g], book.home_of[g + 1]):
        if book.home[n] == server:
            return True
    return False


@compiled
def group_fits(c: Cluster, book: Demands, g: int, server: int) -> bool:
    if c.server[c.e, server].closed:
        return False
    if c.free.shape[1] == 0:
        return book.demand[g, 0] <= c.server[c.e, server].room
    for r in range(book.demand.shape[1]):
        if book.demand[g, r] > c.free[c.e, server, r]:
            return False
    return True


@compiled
def free_of(c: Cluster, server: int, resource: int) -> int:
    return c.free[c.e, server, resource] if c.free.shape[1] > 0 else c.server[c.e, server].room
