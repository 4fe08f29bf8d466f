"""When a server is expected to have room for a task, as its tasks in service leave.

A task in service is expected to leave when its believed duration is over, or in the next slot if it has outlived it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.linked_list import append, empty_lists, link_type, unlink
from packenv.cluster.queue.waiting import now
from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, free_of
from packenv.cluster.whole_jobs.remaining_work import RemainingWork
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

MOST = 32
"""Releases of a server that are looked at: the earliest ones."""


class Releases(Frame):
    """The rows in service on L servers with D resources, of n rows."""

    links: NDArray[np.void]  # (n,) link_type: the rows in service on each server
    ends: NDArray[np.void]  # (L,) ends_type
    # scratch
    slot: Ints  # (MOST,) slots in which rows in service on one server leave, ascending,
    row: Ints  # (MOST,) and these rows
    free: Ints  # (D,) units


def releases(rows: int, servers: int, resources: int) -> Releases:
    """The state before slot 0, with no task in service."""
    return Releases(
        links=np.zeros(rows, link_type),
        ends=empty_lists(servers),
        slot=np.zeros(MOST, np.int64),
        row=np.zeros(MOST, np.int64),
        free=np.zeros(resources, np.int64),
    )


@compiled
def begin_service(ahead: Releases, row: int, server: int) -> None:
    """Note a row that starts on a server."""
    append(ahead.links, ahead.ends[server], row)


@compiled
def end_service(ahead: Releases, row: int, server: int) -> None:
    """Note a row that leaves a server."""
    unlink(ahead.links, ahead.ends[server], row)


@apart
def first_room(c: Cluster, ahead: Releases, work: RemainingWork, book: JobBook, g: int, server: int) -> int:
    """The first slot, now or later, in which a task of group g is expected to have room on a server; NEVER if none is known."""
    for r in range(ahead.free.shape[0]):
        ahead.free[r] = free_of(c, server, r)
    if has_room(ahead, book, g):
        return now(c)
    for n in range(earliest_releases(c, ahead, work, server)):
        for r in range(ahead.free.shape[0]):
            ahead.free[r] += book.demand[book.group[ahead.row[n]], r]
        if has_room(ahead, book, g):
            return ahead.slot[n]
    return NEVER


@compiled
def has_room(ahead: Releases, book: JobBook, g: int) -> bool:
    """Whether a task of group g fits into what is free then."""
    for r in range(ahead.free.shape[0]):
        if book.demand[g, r] > ahead.free[r]:
            return False
    return True


@compiled
def earliest_releases(c: Cluster, ahead: Releases, work: RemainingWork, server: int) -> int:
    """Write the rows that are expected to leave a server first, and when, into `row` and `slot`; returns how many."""
    slot, row, count = ahead.slot, ahead.row, 0
    task = ahead.ends[server].head
    while task != NONE:
        end = max(work.expected_end[task], now(c) + 1)  # NONE where the row is overdue
        if count < MOST or end < slot[MOST - 1]:
            n = min(count, MOST - 1)
            while n > 0 and slot[n - 1] > end:
                slot[n], row[n] = slot[n - 1], row[n - 1]
                n -= 1
            slot[n], row[n] = end, task
            count = min(count + 1, MOST)
        task = ahead.links[task].next
    return count
