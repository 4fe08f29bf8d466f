"""Resources that a policy does not check, shared by max-min among the tasks of a server while they overlap (PAPERS §2).

When the tasks of a server demand more of such a resource than there is, each gets its demand or an equal share, whichever
is less, and runs at the share of full speed that it gets of its scarcest resource. Speeds change when a task starts or
leaves on the server, and hold in between. Jobs that were in service before slot 0 get what they demand and are not slowed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import NONE, Cluster, jobs_in, now, postpone, wake_at
from packenv.cluster.linked_list import append, empty_lists, link_type, unlink
from packenv.cluster.records import NEVER
from packenv.cluster.whole_jobs.book import JobBook
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDING = 1e-9  # of a slot: a task whose end lies behind a slot by less ends in that slot


class Overlaps(Frame):
    """The tasks in service on every server and how much of their service is left (n rows, L servers)."""

    checked: int  # resources from this one on are not checked
    links: NDArray[np.void]  # (n,) link_type: the rows in service on each server
    ends: NDArray[np.void]  # (L,) ends_type
    left: Floats  # (n,) slots at full speed that a row in service still needed in slot `since` of its server
    speed: Floats  # (n,) from that slot on, at most 1; 0 for a row that starts in the current slot
    since: Ints  # (L,)
    changed: NDArray[np.int32]  # (L,) the first `count` are the servers on which tasks started or left in this slot
    noted: Ints  # (L,) last slot in which a server was in `changed`, NONE
    count: Ints  # (1,)


def overlaps(rows: int, servers: int, checked: int) -> Overlaps:
    """The state before slot 0."""
    return Overlaps(
        checked=checked,
        links=np.zeros(rows, link_type),
        ends=empty_lists(servers),
        left=np.zeros(rows),
        speed=np.zeros(rows),
        since=np.zeros(servers, np.int64),
        changed=np.zeros(servers, np.int32),
        noted=np.full(servers, NONE, np.int64),
        count=np.zeros(1, np.int64),
    )


@compiled
def enter(c: Cluster, o: Overlaps, book: JobBook, row: int, server: int) -> None:
    """A row has started on a server."""
    append(o.links, o.ends[server], row)
    o.left[row], o.speed[row] = c.task[c.e, book.place[row]].slots - now(c), 0.0
    note_change(c, o, server)


@compiled
def leave(c: Cluster, o: Overlaps, row: int, server: int) -> None:
    """A task has left a server: this row, or a job that was in service before slot 0 (row < 0)."""
    if row >= 0:
        unlink(o.links, o.ends[server], row)
    note_change(c, o, server)


@compiled
def note_change(c: Cluster, o: Overlaps, server: int) -> None:
    if o.noted[server] != now(c):
        o.noted[server] = now(c)
        o.changed[o.count[0]] = server
        o.count[0] += 1


@apart
def share_out(c: Cluster, o: Overlaps, book: JobBook) -> None:
    """Set the speeds and ends of the tasks on all servers that changed, after the starts of the slot."""
    changed = o.count[0]
    o.count[0] = 0
    for n in range(changed):
        work_until_now(c, o, o.changed[n])
        set_speeds(c, o, book, o.changed[n])
        set_ends(c, o, book, o.changed[n])


@compiled
def work_until_now(c: Cluster, o: Overlaps, server: int) -> None:
    row = o.ends[server].head
    while row != NONE:
        o.left[row] -= o.speed[row] * (now(c) - o.since[server])
        row = o.links[row].next
    o.since[server] = now(c)


@compiled
def set_speeds(c: Cluster, o: Overlaps, book: JobBook, server: int) -> None:
    row = o.ends[server].head
    while row != NONE:
        o.speed[row] = 1.0
        row = o.links[row].next
    for r in range(o.checked, book.demand.shape[1]):
        if c.capacity[server, r] > 0 and c.free[c.e, server, r] < 0:
            share = equal_share(c, o, book, server, r)
            row = o.ends[server].head
            while row != NONE:
                demand = book.demand[book.group[row], r]
                if demand > share:
                    o.speed[row] = min(o.speed[row], share / demand)
                row = o.links[row].next


@compiled
def equal_share(c: Cluster, o: Overlaps, book: JobBook, server: int, r: int) -> float:
    """What each task gets of an over-allocated resource that demands more than that, in units."""
    demanded = 0
    row = o.ends[server].head
    while row != NONE:
        demanded += book.demand[book.group[row], r]
        row = o.links[row].next
    available = demanded + c.free[c.e, server, r]  # what jobs from before slot 0 do not take
    share, above = 0.0, NONE
    while True:
        rest, more = available, 0
        row = o.ends[server].head
        while row != NONE:
            demand = book.demand[book.group[row], r]
            if demand > share:
                more += 1
            else:
                rest -= demand
            row = o.links[row].next
        if more == above:
            return share
        share, above = rest / more, more


@compiled
def set_ends(c: Cluster, o: Overlaps, book: JobBook, server: int) -> None:
    """Let no task end before it can.

    Until the first one leaves, speeds can only fall. So that one's end is known; the others run at full speed after it at
    best, and are looked at again before that.
    """
    first, tasks = NEVER, 0
    row = o.ends[server].head
    while row != NONE:
        if o.speed[row] > 0:
            first = min(first, now(c) + math.ceil(o.left[row] / o.speed[row] - ROUNDING))
        tasks += 1
        row = o.links[row].next
    if tasks > 0 and jobs_in(c, server) > tasks:  # a job from before slot 0 may leave in any slot
        first = min(first, now(c) + 1)
        note_change_next(c, o, server)
    row = o.ends[server].head
    while row != NONE:
        left = o.left[row] - o.speed[row] * (first - now(c))
        postpone(c, book.place[row], first + max(math.ceil(left - ROUNDING), 0))
        row = o.links[row].next


@compiled
def note_change_next(c: Cluster, o: Overlaps, server: int) -> None:
    """Look at a server again in the next slot."""
    o.noted[server] = now(c) + 1
    o.changed[o.count[0]] = server
    o.count[0] += 1
    wake_at(c, now(c) + 1)
