"""When a server is expected to have room: what its tasks in service will have released, as durations are believed.

A task in service is expected to leave when its believed duration is over, or in the next slot if it has outlived it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.linked_list import append, empty_lists, link_type, unlink
from packenv.cluster.queue.waiting import now
from packenv.cluster.state import NONE, Cluster
from packenv.cluster.whole_jobs.book import JobBook, free_of
from packenv.cluster.whole_jobs.remaining_work import RemainingWork
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]

STEPS = 32
"""Releases that are looked at: the earliest ones of a server."""


class Releases(Frame):
    """The rows in service on L servers with D resources, of n rows, and what one server is expected to have free from when on."""

    links: NDArray[np.void]  # (n,) link_type: the rows in service on each server
    ends: NDArray[np.void]  # (L,) ends_type
    # of the server that was looked at last; the first step begins now
    slot: Ints  # (STEPS + 1,) first slot of each step, ascending
    row: Ints  # (STEPS + 1,) the row that leaves then, NONE for the first step
    free: Ints  # (STEPS + 1, D) units free from then on
    count: Ints  # (1,) steps


def releases(rows: int, servers: int, resources: int) -> Releases:
    """The state before slot 0, with no task in service."""
    return Releases(
        links=np.zeros(rows, link_type),
        ends=empty_lists(servers),
        slot=np.zeros(STEPS + 1, np.int64),
        row=np.full(STEPS + 1, NONE, np.int64),
        free=np.zeros((STEPS + 1, resources), np.int64),
        count=np.zeros(1, np.int64),
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
def look_ahead(c: Cluster, ahead: Releases, work: RemainingWork, book: JobBook, server: int) -> None:
    """Set the steps of a server."""
    slot, row, free = ahead.slot, ahead.row, ahead.free
    slot[0], count = now(c), 1
    one = ahead.ends[server].head
    while one != NONE:
        end = now(c) + 1 if work.expected_end[one] == NONE else max(work.expected_end[one], now(c) + 1)
        if count <= STEPS or end < slot[STEPS]:
            n = min(count, STEPS)
            while n > 1 and slot[n - 1] > end:
                slot[n], row[n] = slot[n - 1], row[n - 1]
                n -= 1
            slot[n], row[n] = end, one
            count = min(count + 1, STEPS + 1)
        one = ahead.links[one].next
    for r in range(free.shape[1]):
        free[0, r] = free_of(c, server, r)
        for n in range(1, count):
            free[n, r] = free[n - 1, r] + book.demand[book.group[row[n]], r]
    ahead.count[0] = count


@compiled
def first_step(ahead: Releases, book: JobBook, g: int) -> int:
    """The first step in which a task of group g has room; NONE if there is none."""
    for n in range(ahead.count[0]):
        if fits(ahead, book, g, NONE, n):
            return n
    return NONE


@compiled
def slot_with(ahead: Releases, book: JobBook, g: int, first: int, other: int, end: int) -> int:
    """The first slot in which a task of group g has room beside a task of group `other` that starts now and ends in slot `end`.

    Without that one it has room from step `first` on.
    """
    for n in range(first, ahead.count[0]):
        if ahead.slot[n] >= end:
            break
        if fits(ahead, book, g, other, n):
            return ahead.slot[n]
    return max(end, ahead.slot[first])


@compiled
def fits(ahead: Releases, book: JobBook, g: int, other: int, n: int) -> bool:
    """Whether a task of group g has room in step n, beside one of group `other` unless that is NONE."""
    for r in range(ahead.free.shape[1]):
        taken = book.demand[other, r] if other != NONE else 0
        if book.demand[g, r] + taken > ahead.free[n, r]:
            return False
    return True
