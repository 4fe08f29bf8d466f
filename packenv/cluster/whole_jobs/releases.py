"""Expected room on servers as their tasks leave.

A task is expected to leave after its estimated duration. Once it has exceeded this, it is expected to leave in the next slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import now
from packenv.cluster.records import empty_lists, link_type
from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, free_of
from packenv.cluster.whole_jobs.remaining_work import RemainingWork
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

MOST = 32
"""Releases of a server that are looked at: the earliest ones."""


class Releases(Frame):
    """The rows in service, of n rows, on L servers."""

    links: NDArray[np.void]  # (n,) link_type: the rows in service on each server
    ends: NDArray[np.void]  # (L,) ends_type
    # scratch
    slot: Ints  # (MOST,) slots in which rows in service on one server leave, ascending,
    row: Ints  # (MOST,) and these rows
    free: Ints  # (D,) units


def releases(rows: int, servers: int, resources: int) -> Releases:
    return Releases(
        links=np.zeros(rows, link_type),
        ends=empty_lists(servers),
        slot=np.zeros(MOST, np.int64),
        row=np.zeros(MOST, np.int64),
        free=np.zeros(resources, np.int64),
    )


@apart
def first_room(c: Cluster, ahead: Releases, work: RemainingWork, book: JobBook, g: int, server: int) -> int:
    """Return a group's first slot with expected room, or NEVER."""
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
    for r in range(ahead.free.shape[0]):
        if book.demand[g, r] > ahead.free[r]:
            return False
    return True


@compiled
def earliest_releases(c: Cluster, ahead: Releases, work: RemainingWork, server: int) -> int:
    """Write a server's next releases, and return their number."""
    slot, row, count = ahead.slot, ahead.row, 0
    task = ahead.ends[server].head
    while task != NONE:
        end = max(work.expected_end[task], now(c) + 1)  # NONE where the row is overdue
        if count < MOST or end < slot[MOST - 1]:
            # insert in order, without the latest beyond MOST
            n = min(count, MOST - 1)
            while n > 0 and slot[n - 1] > end:
                slot[n], row[n] = slot[n - 1], row[n - 1]
                n -= 1
            slot[n], row[n] = end, task
            count = min(count + 1, MOST)
        task = ahead.links[task].next
    return count
