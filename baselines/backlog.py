"""The waiting tasks of every job by what they take and by where their data lie, and the jobs in fair order.

For policies that look at one server at a time: which jobs have a task whose data is there? Jobs are numbered by first
appearance in the table; in fair order those with fewer tasks in service come first, of equals the earlier one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, level_of, new_count, new_task, place, row_of
from packenv.cluster.job_book import group_fits, link
from packenv.cluster.locality import has_homes
from packenv.cluster.sorted_keys import SortedKeys, first_key, insert, remove, sorted_keys
from packenv.compile import inlined, outlined
from packenv.frame import Frame
from packenv.job_times import job_numbers
from packenv.jobs import Jobs
from packenv.workloads.network import RACK

Ints = NDArray[np.int64]
Places = NDArray[np.int32]

JOB_BITS = 32


class Backlog(Frame):
    """n rows, J jobs, G groups: tasks of one job and phase with one demand vector, whose data lie somewhere or anywhere."""

    job: Places  # (n,)
    group: Places  # (n,)
    groups_of: Ints  # (J + 1,) the groups of job j are groups_of[j] .. groups_of[j + 1] - 1
    phase: Places  # (G,) number of the phase among the distinct values of the column
    lies: NDArray[np.int8]  # (G,) 1 if its tasks have home servers
    demand: Ints  # (G, D) units
    least: Ints  # (D,) smallest demands in the table
    copy_of: Places  # (H,) row of each entry of the table's column `home`
    # what changes
    place: Places  # (n,) place in the pool of a waiting row
    first: Places  # (G,) waiting rows of a group, in row order
    last: Places  # (G,)
    next: Places  # (n,)
    prev: Places  # (n,)
    copy_on: Places  # (L,) first entry of `home` of a waiting row on each server, and the others behind it
    next_copy: Places  # (H,)
    prev_copy: Places  # (H,)
    waiting: Ints  # (J,) tasks
    running: Ints  # (J,) tasks
    order: SortedKeys  # of the jobs with waiting tasks: (running, job)
    # of the server that was looked at last
    looks: Ints  # (1,) how many were looked at so far
    seen: Ints  # (J,) in which look a job had a waiting task at home that fits,
    local: Places  # (J,) and the first such row


def backlog(jobs: Jobs, servers: int) -> Backlog:
    """Before slot 0."""
    n, job = len(jobs), job_numbers(jobs)
    phase = np.zeros(n, np.int64) if jobs.phase is None else np.unique(jobs.phase, return_inverse=True)[1].ravel()
    homes = np.zeros(n, np.int64) if jobs.home is None else np.diff(jobs.home.offsets)
    keys = np.column_stack([job, phase, homes > 0, jobs.demand])
    order = np.lexsort(keys.T[::-1])
    first_of = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))
    groups, group = keys[order[first_of]], np.empty(n, np.int64)
    group[order] = np.cumsum(first_of) - 1
    count, entries = int(job.max()) + 1, int(homes.sum())
    return Backlog(
        job=job.astype(np.int32),
        group=group.astype(np.int32),
        groups_of=np.searchsorted(groups[:, 0], np.arange(count + 1)).astype(np.int64),
        phase=groups[:, 1].astype(np.int32),
        lies=groups[:, 2].astype(np.int8),
        demand=np.ascontiguousarray(groups[:, 3:]),
        least=jobs.demand.min(axis=0),
        copy_of=np.repeat(np.arange(n), homes).astype(np.int32),
        place=np.full(n, NONE, np.int32),
        first=np.full(len(groups), NONE, np.int32),
        last=np.full(len(groups), NONE, np.int32),
        next=np.full(n, NONE, np.int32),
        prev=np.full(n, NONE, np.int32),
        copy_on=np.full(servers, NONE, np.int32),
        next_copy=np.full(entries, NONE, np.int32),
        prev_copy=np.full(entries, NONE, np.int32),
        waiting=np.zeros(count, np.int64),
        running=np.zeros(count, np.int64),
        order=sorted_keys(1, count),
        looks=np.zeros(1, np.int64),
        seen=np.zeros(count, np.int64),
        local=np.zeros(count, np.int32),
    )


@inlined
def anything_waits(b: Backlog) -> bool:
    return first_key(b.order, 0) != NONE


@outlined
def take_up(c: Cluster, b: Backlog) -> None:
    """Take up the tasks that became eligible in this slot."""
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            add(c, b, row_of(c, i), i)


@inlined
def add(c: Cluster, b: Backlog, row: int, i: int) -> None:
    """A row in place i of the pool waits: in its group behind those of smaller rows, and on its home servers."""
    g, job = b.group[row], b.job[row]
    b.place[row] = i
    before = b.last[g]
    while before != NONE and before > row:
        before = b.prev[before]
    after = b.first[g] if before == NONE else b.next[before]
    link(b, g, before, row)
    link(b, g, row, after)
    if b.lies[g]:
        places = c.source.locality
        for n in range(places.home_of[row], places.home_of[row + 1]):
            server = places.home[n]
            b.next_copy[n], b.prev_copy[n] = b.copy_on[server], NONE
            if b.copy_on[server] != NONE:
                b.prev_copy[b.copy_on[server]] = n
            b.copy_on[server] = n
    b.waiting[job] += 1
    if b.waiting[job] == 1:
        insert(b.order, 0, key_of(b, job), job)


@outlined
def launch(c: Cluster, b: Backlog, row: int, server: int) -> None:
    """Start a waiting row; its job moves back in the order."""
    g, job = b.group[row], b.job[row]
    link(b, g, b.prev[row], b.next[row])
    if b.lies[g]:
        places = c.source.locality
        for n in range(places.home_of[row], places.home_of[row + 1]):
            before, after = b.prev_copy[n], b.next_copy[n]
            if before == NONE:
                b.copy_on[places.home[n]] = after
            else:
                b.next_copy[before] = after
            if after != NONE:
                b.prev_copy[after] = before
    remove(b.order, 0, key_of(b, job))
    b.waiting[job] -= 1
    b.running[job] += 1
    if b.waiting[job] > 0:
        insert(b.order, 0, key_of(b, job), job)
    place(c, b.place[row], server)


@outlined
def settle(b: Backlog, row: int) -> None:
    """A row completed; its job moves forward."""
    job = b.job[row]
    if b.waiting[job] > 0:
        remove(b.order, 0, key_of(b, job))
    b.running[job] -= 1
    if b.waiting[job] > 0:
        insert(b.order, 0, key_of(b, job), job)


@inlined
def key_of(b: Backlog, job: int) -> int:
    return (b.running[job] << JOB_BITS) | job


@outlined
def look_at_server(c: Cluster, b: Backlog, server: int) -> None:
    """Find the first row of every job that fits on a server and is at home there."""
    b.looks[0] += 1
    n = b.copy_on[server]
    while n != NONE:
        row = b.copy_of[n]
        job = b.job[row]
        if group_fits(c, b, b.group[row], server) and (b.seen[job] != b.looks[0] or row < b.local[job]):
            b.seen[job], b.local[job] = b.looks[0], row
        n = b.next_copy[n]


@inlined
def first_local(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """The job's first waiting row that fits on the server looked at and is at home there; NONE."""
    row = b.local[job] if b.seen[job] == b.looks[0] else NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.first[g] != NONE and not b.lies[g] and group_fits(c, b, g, server):
            row = earlier(row, b.first[g])
    return row


@inlined
def first_fitting(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """The job's first waiting row that fits on a server; NONE."""
    row = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.first[g] != NONE and group_fits(c, b, g, server):
            row = earlier(row, b.first[g])
    return row


@outlined
def first_in_rack(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """The job's first waiting row that fits on a server and has data in its rack; NONE."""
    found = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.first[g] != NONE and group_fits(c, b, g, server):
            row = b.first[g]
            while row != NONE and (found == NONE or row < found):
                if distance(c, row, server) <= RACK:
                    found = row
                row = b.next[row]
    return found


@inlined
def earlier(row: int, other: int) -> int:
    return other if row == NONE else min(row, other)


@inlined
def distance(c: Cluster, row: int, server: int) -> int:
    """NODE, RACK or ANY, as `level_of`; NODE in tables that say nothing of homes."""
    return level_of(c, row, server) if has_homes(c) else 0


@inlined
def phase_of(b: Backlog, job: int) -> int:
    """Number of the phase that a job's waiting tasks are of; it must have some."""
    g = b.groups_of[job]
    while b.first[g] == NONE:
        g += 1
    return b.phase[g]
