"""Paths and work that depend on a task's completion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.whole_jobs.book import believed_slots
from packenv.cluster.whole_jobs.remaining_work import work_rates
from packenv.jobs import Jobs
from packenv.results.job_times import job_numbers
from packenv.workloads.precedence import longest_paths, precedence_edges

Ints = NDArray[np.int64]


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
