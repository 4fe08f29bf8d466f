"""Waiting tasks of every job, and jobs sorted for fair sharing.

Tasks are indexed by demand and by home server, for policies that take one server at a time. Jobs are numbered in the order of
their first rows. Fair sharing sorts jobs by their tasks in service, fewest first. Ties go to the lower number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, level_of, new_count, new_task, place, row_of
from packenv.cluster.locality import (
    RowsByHome,
    can_read,
    distinct,
    earlier,
    enter,
    first_at_home,
    first_entry,
    has_homes,
    leave,
    reads_take_room,
    rows_by_home,
)
from packenv.cluster.records import empty_lists, insert_in_order, link_type, unlink
from packenv.cluster.sorted_keys import SortedKeys, insert, remove, sorted_keys
from packenv.cluster.whole_jobs.book import group_fits
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.results.job_times import job_numbers
from packenv.workloads.network import Network

Ints = NDArray[np.int64]
Places = NDArray[np.int32]

JOB_BITS = 32


class Backlog(Frame):
    """Waiting tasks of J jobs, in G groups by job, phase and demand."""

    job: Places  # (n,) job of each row
    group: Places  # (n,) group of each row
    groups_of: Ints  # (J + 1,) the groups of job j are groups_of[j] .. groups_of[j + 1] - 1
    phase: Places  # (G,) rank of the phase among the distinct values of column `phase`
    demand: Ints  # (G, D) units
    least: Ints  # (D,) units, smallest demand of any task for each resource
    # changes during a run
    place: Places  # (n,) index of a waiting row in the pool of tasks
    links: NDArray[np.void]  # (n,) link_type: the waiting rows of each group, in row order
    ends: NDArray[np.void]  # (G,) ends_type
    homes: RowsByHome
    waiting: Ints  # (J,) waiting tasks
    running: Ints  # (J,) tasks in service
    order: SortedKeys  # the jobs with waiting tasks, sorted by (running, job)


def backlog(jobs: Jobs, network: Network | None, servers: int) -> Backlog:
    """Return the state without waiting tasks, for `servers` servers of a network."""
    n, job = len(jobs), job_numbers(jobs)
    phase = np.zeros(n, np.int64) if jobs.phase is None else np.unique(jobs.phase, return_inverse=True)[1].ravel()
    groups, group = distinct(np.column_stack([job, phase, jobs.demand]))
    count = int(job.max()) + 1
    return Backlog(
        job=job.astype(np.int32),
        group=group.astype(np.int32),
        groups_of=np.searchsorted(groups[:, 0], np.arange(count + 1)).astype(np.int64),
        phase=groups[:, 1].astype(np.int32),
        demand=np.ascontiguousarray(groups[:, 2:]),
        least=jobs.demand.min(axis=0),
        place=np.full(n, NONE, np.int32),
        links=np.zeros(n, link_type),
        ends=empty_lists(len(groups)),
        homes=rows_by_home(jobs.home, group, network, servers),
        waiting=np.zeros(count, np.int64),
        running=np.zeros(count, np.int64),
        order=sorted_keys(1, count),
    )


@compiled
def add_new(c: Cluster, b: Backlog) -> None:
    """Add the slot's eligible tasks that have not started."""
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            add(b, row_of(c, i), i)


@compiled
def add(b: Backlog, row: int, i: int) -> None:
    """Add row (task i) to its group and home servers, in row order."""
    g, job = b.group[row], b.job[row]
    b.place[row] = i
    insert_in_order(b.links, b.ends[g], row)
    enter(b.homes, row)
    b.waiting[job] += 1
    if b.waiting[job] == 1:
        insert(b.order, 0, key_of(b, job), job)


@compiled
def launch(c: Cluster, b: Backlog, row: int, server: int) -> None:
    """Start a waiting row on a server, and re-sort its job."""
    g, job = b.group[row], b.job[row]
    unlink(b.links, b.ends[g], row)
    leave(b.homes, row)
    remove(b.order, 0, key_of(b, job))
    b.waiting[job] -= 1
    b.running[job] += 1
    if b.waiting[job] > 0:
        insert(b.order, 0, key_of(b, job), job)
    place(c, b.place[row], server)


@compiled
def settle(b: Backlog, row: int) -> None:
    """Count the completion of a row, and re-sort its job."""
    job = b.job[row]
    if b.waiting[job] > 0:
        remove(b.order, 0, key_of(b, job))
    b.running[job] -= 1
    if b.waiting[job] > 0:
        insert(b.order, 0, key_of(b, job), job)


@compiled
def key_of(b: Backlog, job: int) -> int:
    return (b.running[job] << JOB_BITS) | job


@compiled
def first_local(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """Return the job's first fitting row with its data here, or NONE."""
    row = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.ends[g].head != NONE and group_fits(c, b, g, server):
            first = first_at_home(b.homes, g, server) if has_homes(c) else b.ends[g].head
            if first != NONE:
                row = earlier(row, first)
    return row


@compiled
def first_fitting(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """Return the job's first row that fits, remote reads included; or NONE."""
    row = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.ends[g].head != NONE and group_fits(c, b, g, server):
            first = first_with_room_to_read(c, b, g, server) if reads_take_room(c) else b.ends[g].head
            if first != NONE:
                row = earlier(row, first)
    return row


@compiled
def first_with_room_to_read(c: Cluster, b: Backlog, g: int, server: int) -> int:
    """Return the group's first row with room for its remote read, or NONE."""
    row = b.ends[g].head
    while row != NONE and not can_read(c, row, server):
        row = b.links[row].next
    return row


@compiled
def first_in_rack(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """Return the job's first fitting row with data in the rack, or NONE."""
    racks, rack, row = b.homes.racks, b.homes.rack[server], NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if has_homes(c) and b.ends[g].head != NONE and group_fits(c, b, g, server):
            n = first_entry(racks, g, rack)
            while n != NONE and not can_read(c, racks.entry[n].row, server):
                n = racks.entry[n].next
            if n != NONE:
                row = earlier(row, racks.entry[n].row)
    return row


@compiled
def distance(c: Cluster, row: int, server: int) -> int:
    """Return a row's level on a server: NODE (also without homes), RACK or ANY."""
    return level_of(c, row, server) if has_homes(c) else 0


@compiled
def phase_of(b: Backlog, job: int) -> int:
    """Return the phase of the job's first group with waiting tasks."""
    g = b.groups_of[job]
    while b.ends[g].head == NONE:
        g += 1
    return b.phase[g]
