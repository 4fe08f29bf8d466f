"""Remaining work of every job, p of Tetris (PAPERS §2), and of DAGs.

A waiting task has all of its work left. A task in service has the rest of its expected duration left, or nothing once it has
exceeded this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.locality import remote_slots
from packenv.cluster.queue.waiting import now
from packenv.cluster.sorted_keys import SortedKeys, first_key, insert, remove, sorted_keys
from packenv.cluster.state import NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, believed_slots
from packenv.compiled.decorators import compiled
from packenv.compiled.frame import Frame
from packenv.jobs import Jobs
from packenv.results.job_times import job_numbers
from packenv.workloads.precedence import longest_paths, precedence_edges

Ints = NDArray[np.int64]

WORK_UNITS = 2**20  # work of one slot of a whole resource; integers, because sums of floats would drift


class RemainingWork(Frame):
    """Work of jobs with n rows in G groups."""

    capacity: int  # work of a slot of the whole cluster, all in service
    rate: Ints  # (G,) work of a slot of a task: Σ of its demands, each as a fraction of the largest server
    waiting: Ints  # (jobs,) work of the tasks that have not started, later phases included
    rates: Ints  # (jobs,) Σ rate over the tasks in service that are not overdue,
    ends: Ints  # (jobs,) and Σ rate · expected end
    in_service: Ints  # (2,) the sums of `rates` and of `ends` over all jobs
    expected_end: Ints  # (n,) slot, of a row in service that is not overdue; else NONE
    order: SortedKeys  # these rows by (expected end, row)


def remaining_work(book: JobBook, capacity: Ints) -> RemainingWork:
    n, jobs = len(book.group), len(book.owner)
    rate = work_rates(book.demand, capacity)
    waiting = np.zeros(jobs, np.int64)
    np.add.at(waiting, book.job[book.group], (rate * book.duration)[book.group])
    return RemainingWork(
        capacity=int(work_rates(capacity, capacity).sum()),
        rate=rate,
        waiting=waiting,
        rates=np.zeros(jobs, np.int64),
        ends=np.zeros(jobs, np.int64),
        in_service=np.zeros(2, np.int64),
        expected_end=np.full(n, NONE, np.int64),
        order=sorted_keys(1, n),
    )


def work_rates(demand: Ints, capacity: Ints) -> Ints:
    """Return the work per slot, (m,), as `RemainingWork.rate`."""
    largest = capacity.max(axis=0)
    return np.rint(WORK_UNITS * (demand / np.where(largest > 0, largest, 1)).sum(axis=1)).astype(np.int64)


@compiled
def note_start(c: Cluster, work: RemainingWork, book: JobBook, row: int, server: int) -> None:
    g = book.group[row]
    work.waiting[book.job[g]] -= work.rate[g] * book.duration[g]
    work.expected_end[row] = now(c) + book.duration[g] + remote_slots(c, row, server)
    count_in_service(work, book.job[g], work.rate[g], work.expected_end[row])
    insert(work.order, 0, key_of(work, row), row)


@compiled
def note_no_work_left(work: RemainingWork, book: JobBook, row: int) -> None:
    """Remove a completed or overdue row's work."""
    if work.expected_end[row] != NONE:
        g = book.group[row]
        remove(work.order, 0, key_of(work, row))
        count_in_service(work, book.job[g], -work.rate[g], work.expected_end[row])
        work.expected_end[row] = NONE


@compiled
def count_in_service(work: RemainingWork, job: int, rate: int, end: int) -> None:
    """Add a running task to its job, or remove -rate."""
    work.rates[job] += rate
    work.ends[job] += rate * end
    work.in_service[0] += rate
    work.in_service[1] += rate * end


@compiled
def note_overdue(c: Cluster, work: RemainingWork, book: JobBook) -> None:
    """Remove the rows in service that should have ended."""
    rows = work.expected_end.shape[0]
    key = first_key(work.order, 0)
    while key != NONE and key // rows <= now(c):
        note_no_work_left(work, book, key % rows)
        key = first_key(work.order, 0)


@compiled
def key_of(work: RemainingWork, row: int) -> int:
    return work.expected_end[row] * work.expected_end.shape[0] + row


@compiled
def work_left(c: Cluster, work: RemainingWork, job: int) -> float:
    """Return p of a job, after `note_overdue`."""
    return float(work.waiting[job] + work.ends[job] - now(c) * work.rates[job])


def path_below(jobs: Jobs) -> Ints:
    """Return slots from each task's start to its DAG's end."""
    return longest_paths(jobs, believed_slots(jobs))


def work_below(jobs: Jobs, capacity: Ints) -> Ints:
    """Return the work of each task and all its successors, (n,).

    Each successor, direct or indirect, counts once. Units are those of `RemainingWork`. Tasks with the same successors share a
    sum, so it is computed once for each stage of a DAG. The sets are bits of Python's integers, numbered within each job if no
    task waits for one of another job.
    """
    work = work_rates(jobs.demand, capacity) * believed_slots(jobs)
    before, after, nodes = precedence_edges(jobs)
    order = np.argsort(before, kind="stable")
    offsets, successors = np.searchsorted(before[order], np.arange(nodes + 1)), after[order]
    bit, members = _bits(jobs)
    sets: dict[bytes, int] = {}  # by successors: the rows below
    sums: dict[tuple[int, int], int] = {}  # by job and rows below: their work
    below, total = [0] * nodes, np.zeros(len(jobs), np.int64)

    def rows_below(node: int) -> int:
        following = successors[offsets[node] : offsets[node + 1]]
        key = following.tobytes()
        if key not in sets:
            rows = 0
            for successor in following.tolist():
                rows |= below[successor] | (1 << int(bit[successor]) if successor < len(jobs) else 0)
            sets[key] = rows
        return sets[key]

    # successors first: the work is summed once for each set of rows
    for row in _last_first(before, after, nodes):
        below[row] = rows_below(row)
        if row < len(jobs):
            key = int(members[row][0]), below[row]
            if key not in sums:
                bits = np.frombuffer(below[row].to_bytes(-(-len(members[row]) // 8), "little"), np.uint8)
                sums[key] = int(work[members[row]][np.unpackbits(bits, count=len(members[row]), bitorder="little") > 0].sum())
            total[row] = work[row] + sums[key]
    return total


def _bits(jobs: Jobs) -> tuple[Ints, list[Ints]]:
    """Return each row's bit, and the rows of all bits."""
    job = job_numbers(jobs)
    lists = jobs.predecessors
    if lists is not None and (np.repeat(job, np.diff(lists.offsets)) != job[lists.values]).any():
        job = np.zeros(len(jobs), np.int64)
    order = np.argsort(job, kind="stable")
    first = np.searchsorted(job[order], np.arange(int(job.max()) + 2))
    bit = np.empty(len(jobs), np.int64)
    bit[order] = np.arange(len(jobs)) - first[job[order]]
    members = [order[first[k] : first[k + 1]] for k in range(int(job.max()) + 1)]
    return bit, [members[k] for k in job]


def _last_first(before: Ints, after: Ints, nodes: int) -> list[int]:
    """Order the nodes so that successors come first."""
    depth = np.zeros(nodes, np.int64)
    while True:
        deeper = depth.copy()
        np.maximum.at(deeper, before, depth[after] + 1)
        if (deeper == depth).all():
            return np.argsort(depth, kind="stable").tolist()
        depth = deeper
