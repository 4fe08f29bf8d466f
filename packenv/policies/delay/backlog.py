"""Waiting tasks of every job, indexed by demand and by home server, and the jobs sorted for fair sharing.

Used by policies that take one server at a time and ask which jobs have a waiting task whose data is on it. Jobs are
numbered in the order in which they first appear in the table. Fair sharing sorts jobs by the number of their tasks in
service, fewest first; ties go to the lower number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, level_of, new_count, new_task, place, row_of
from packenv.cluster.linked_list import empty_lists, insert_in_order, link_type, unlink
from packenv.cluster.locality.distance import has_homes
from packenv.cluster.locality.remote_reads import can_read, reads_take_room
from packenv.cluster.sorted_keys.arrays import SortedKeys, sorted_keys
from packenv.cluster.sorted_keys.keys import first_key, insert, remove
from packenv.cluster.whole_jobs.book import group_fits
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.results.job_times import job_numbers
from packenv.workloads.network import RACK

Ints = NDArray[np.int64]
Places = NDArray[np.int32]

JOB_BITS = 32

# A pair is a group and one of its home servers; it has the ends of a list of copies.
pair_type = np.dtype([("server", "i4"), ("head", "i4"), ("tail", "i4")], align=True)
# A waiting row has one copy for each of its home servers, in the list of the pair of its group and that server.
copy_type = np.dtype([("row", "i4"), ("pair", "i4"), ("next", "i4"), ("prev", "i4")], align=True)


class Backlog(Frame):
    """The waiting tasks of one cluster: n rows, J jobs, G groups, P pairs, H entries of column `home`.

    A group is the tasks of one job and phase with one demand vector, either all with home servers or all without. A pair is
    a group and a server that is a home of any of its tasks.
    """

    job: Places  # (n,) job of each row
    group: Places  # (n,) group of each row
    groups_of: Ints  # (J + 1,) the groups of job j are groups_of[j] .. groups_of[j + 1] - 1
    phase: Places  # (G,) rank of the phase among the distinct values of column `phase`
    lies: NDArray[np.int8]  # (G,) 1 if the tasks of the group have home servers
    demand: Ints  # (G, D) units
    least: Ints  # (D,) units, smallest demand of any task for each resource
    pairs_of: Ints  # (G + 1,) the pairs of group g are pairs_of[g] .. pairs_of[g + 1] - 1, sorted by server
    # changes during a run
    place: Places  # (n,) index of a waiting row in the pool of tasks
    links: NDArray[np.void]  # (n,) link_type: the waiting rows of each group, in row order
    ends: NDArray[np.void]  # (G,) ends_type
    pair: NDArray[np.void]  # (P,) pair_type
    copy: NDArray[np.void]  # (H,) copy_type, in the order of the entries of column `home`
    waiting: Ints  # (J,) waiting tasks
    running: Ints  # (J,) tasks in service
    order: SortedKeys  # the jobs with waiting tasks, sorted by (running, job)


def backlog(jobs: Jobs) -> Backlog:
    """The state before slot 0, with no task waiting."""
    n, job = len(jobs), job_numbers(jobs)
    phase = np.zeros(n, np.int64) if jobs.phase is None else np.unique(jobs.phase, return_inverse=True)[1].ravel()
    homes = np.zeros(n, np.int64) if jobs.home is None else np.diff(jobs.home.offsets)
    groups, group = distinct(np.column_stack([job, phase, homes > 0, jobs.demand]))
    servers = np.zeros(0, np.int64) if jobs.home is None else jobs.home.values
    row = np.repeat(np.arange(n), homes)
    pairs, pair_of_copy = distinct(np.column_stack([group[row], servers]))
    pair, copy = np.zeros(len(pairs), pair_type), np.zeros(len(row), copy_type)
    pair["server"], pair["head"], pair["tail"] = pairs[:, 1], NONE, NONE
    copy["row"], copy["pair"], copy["next"], copy["prev"] = row, pair_of_copy, NONE, NONE
    count = int(job.max()) + 1
    return Backlog(
        job=job.astype(np.int32),
        group=group.astype(np.int32),
        groups_of=np.searchsorted(groups[:, 0], np.arange(count + 1)).astype(np.int64),
        phase=groups[:, 1].astype(np.int32),
        lies=groups[:, 2].astype(np.int8),
        demand=np.ascontiguousarray(groups[:, 3:]),
        least=jobs.demand.min(axis=0),
        pairs_of=np.searchsorted(pairs[:, 0], np.arange(len(groups) + 1)).astype(np.int64),
        place=np.full(n, NONE, np.int32),
        links=np.zeros(n, link_type),
        ends=empty_lists(len(groups)),
        pair=pair,
        copy=copy,
        waiting=np.zeros(count, np.int64),
        running=np.zeros(count, np.int64),
        order=sorted_keys(1, count),
    )


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of an (n, k) array, sorted, and (n,) the index of each row among them."""
    order = np.lexsort(keys.T[::-1])
    changes = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    first = np.append(np.ones(min(len(keys), 1), np.bool_), changes)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(first) - 1
    return keys[order[first]], number


@compiled
def anything_waits(b: Backlog) -> bool:
    return first_key(b.order, 0) != NONE


@compiled
def take_up(c: Cluster, b: Backlog) -> None:
    """Add the tasks that became eligible in this slot and have not started."""
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE:
            add(c, b, row_of(c, i), i)


@compiled
def add(c: Cluster, b: Backlog, row: int, i: int) -> None:
    """Add a waiting row, task i of the pool, to the list of its group and to those of its home servers, all in row order."""
    g, job = b.group[row], b.job[row]
    b.place[row] = i
    insert_in_order(b.links, b.ends[g], row)
    if b.lies[g]:
        for n in range(c.source.locality.home_of[row], c.source.locality.home_of[row + 1]):
            insert_in_order(b.copy, b.pair[b.copy[n].pair], n)  # copies are numbered in row order
    b.waiting[job] += 1
    if b.waiting[job] == 1:
        insert(b.order, 0, key_of(b, job), job)


@compiled
def launch(c: Cluster, b: Backlog, row: int, server: int) -> None:
    """Start a waiting row on a server and re-sort its job, which now has one more task in service."""
    g, job = b.group[row], b.job[row]
    unlink(b.links, b.ends[g], row)
    if b.lies[g]:
        for n in range(c.source.locality.home_of[row], c.source.locality.home_of[row + 1]):
            unlink(b.copy, b.pair[b.copy[n].pair], n)
    remove(b.order, 0, key_of(b, job))
    b.waiting[job] -= 1
    b.running[job] += 1
    if b.waiting[job] > 0:
        insert(b.order, 0, key_of(b, job), job)
    place(c, b.place[row], server)


@compiled
def settle(b: Backlog, row: int) -> None:
    """Count the completion of a row and re-sort its job, which now has one task fewer in service."""
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
    """First waiting row of the job that fits on the server and has its data there (or has no homes); NONE if there is none."""
    row = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.ends[g].head != NONE and group_fits(c, b, g, server):
            if not b.lies[g]:
                row = earlier(row, b.ends[g].head)
            else:
                pair = pair_of(b, g, server)
                if pair != NONE and b.pair[pair].head != NONE:
                    row = earlier(row, b.copy[b.pair[pair].head].row)
    return row


@compiled
def pair_of(b: Backlog, g: int, server: int) -> int:
    """Index of the pair of a group and a server; NONE if no task of the group has its data there."""
    low, high = b.pairs_of[g], b.pairs_of[g + 1]
    while low < high:
        middle = (low + high) >> 1
        if b.pair[middle].server < server:
            low = middle + 1
        else:
            high = middle
    return low if low < b.pairs_of[g + 1] and b.pair[low].server == server else NONE


@compiled
def first_fitting(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """First waiting row of the job that fits on the server, with what it would read; NONE if there is none."""
    row = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.ends[g].head != NONE and group_fits(c, b, g, server):
            first = first_with_room_to_read(c, b, g, server) if reads_take_room(c) else b.ends[g].head
            if first != NONE:
                row = earlier(row, first)
    return row


@compiled
def first_with_room_to_read(c: Cluster, b: Backlog, g: int, server: int) -> int:
    """First waiting row of a group for whose read, if it reads over the network on this server, there is room; NONE."""
    row = b.ends[g].head
    while row != NONE and not can_read(c, row, server):
        row = b.links[row].next
    return row


@compiled
def first_in_rack(c: Cluster, b: Backlog, job: int, server: int) -> int:
    """First waiting row of the job that fits on the server and has data in the server's rack; NONE if there is none."""
    found = NONE
    for g in range(b.groups_of[job], b.groups_of[job + 1]):
        if b.ends[g].head != NONE and group_fits(c, b, g, server):
            row = b.ends[g].head
            while row != NONE and (found == NONE or row < found):
                if distance(c, row, server) <= RACK and can_read(c, row, server):
                    found = row
                row = b.links[row].next
    return found


@compiled
def earlier(row: int, other: int) -> int:
    return other if row == NONE else min(row, other)


@compiled
def distance(c: Cluster, row: int, server: int) -> int:
    """Level of a row on a server: NODE, RACK or ANY, as in `level_of`; always NODE if the table has no column `home`."""
    return level_of(c, row, server) if has_homes(c) else 0


@compiled
def phase_of(b: Backlog, job: int) -> int:
    """Phase of the job's first group with waiting tasks. The job must have waiting tasks."""
    g = b.groups_of[job]
    while b.ends[g].head == NONE:
        g += 1
    return b.phase[g]
