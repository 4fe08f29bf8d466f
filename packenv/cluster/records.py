"""Record types in slots and units, and doubly linked lists of records.

An entry is in at most one list. `links` (n,) are records with the fields `next` and `prev`. `ends` is a record for each list
with the fields `head` and `tail`, and maybe others. NONE (-1) stands for no entry: an empty list has it at both ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled

NONE = -1
NEVER = 2**62
NO_SIZE = 2**31 - 1

TASK, MESSAGE, DONE, UNUSED = 0, 1, 2, 3
"""The contents of a place of the pool."""

head_type = np.dtype(
    [
        ("now", "i8"),  # slot being scheduled, or scheduled last
        ("next_row", "i8"),  # first row of the Jobs table that has not arrived
        ("arrivals_end", "i8"),  # rows with this arrival slot or a later one do not arrive
        ("wake", "i8"),  # slot for which the policy asked, NEVER if none
        ("arriving", "i8"),  # 1 while the arrivals of slot `now` are being admitted
        ("events", "i8"),  # number of events that are to come
        ("free", "i8"),  # first unused place in the pool
        ("free_places", "i8"),  # how many places are unused
        ("reserve", "i8"),  # places that arrivals must leave unused for the policy's messages
        ("posted", "i8"),  # messages so far
        ("waiting", "i8"),
        ("waiting_limit", "i8"),
        ("backlog", "i8"),  # keep this many tasks waiting, whatever their arrival slots; 0: tasks arrive in their arrival slots
        ("waiting_size", "i8"),
        ("fresh", "i8"),  # tasks that became eligible in slot `now`
        ("due", "i8"),  # events in slot `now`
        ("freed", "i8"),  # servers with a completion in slot `now`
        ("stale", "i8"),  # servers whose position in the orders is out of date
        ("released", "i8"),  # rows whose last predecessor completed in slot `now`,
        ("next_released", "i8"),  # number of these that have joined the queue
        ("held_back", "i8"),  # rows that arrived and wait for predecessors
        ("rejects", "i8"),  # 1: tasks that do not start in the slot in which they become eligible are lost
        ("arrived", "i8"),
        ("started", "i8"),
        ("completed", "i8"),
        ("in_service", "i8"),  # tasks, initial ones included
        ("postponed", "i8"),  # 1 if the end of any task was ever postponed: some events may come before the ends of their tasks
        # measures, over slots from `warmup` on
        ("warmup", "i8"),
        ("measured", "i8"),  # slots measured so far
        ("queue_sum", "i8"),
        ("queue_max", "i8"),
        ("size_sum", "f8"),
        ("delay_sum", "i8"),
        ("response_sum", "i8"),  # delays and services of the same tasks
        ("delay_count", "i8"),
        ("delay_max", "i8"),
        ("bin_slots", "i8"),  # width of a trajectory bin
    ],
    align=True,
)

task_type = np.dtype(
    [
        ("row", "i8"),  # row of the Jobs table; negative for a job that was in service at the start
        ("since", "i8"),  # slot in which it became eligible; in service: in which it started
        ("size", "i8"),  # largest demand, normalised
        ("held", "i8"),  # room that it takes on its server
        ("slots", "i8"),  # while waiting: service; in service: the slot in which it leaves
        ("job", "i8"),
        ("server", "i4"),  # NONE while waiting
        ("next", "i4"),  # waiting: queue order (BY_QUEUE); unused: free list
        ("prev", "i4"),  # waiting: queue order (BY_QUEUE)
        ("kind", "i4"),  # TASK, MESSAGE, DONE in the slot of its completion, UNUSED
    ],
    align=True,
)

server_type = np.dtype(
    [
        ("freed", "i8"),  # slot of its last completion
        ("capacity", "i4"),  # scalar capacity
        ("room", "i4"),  # capacity that no job takes (not kept for policies that pack vectors)
        ("indexed", "i4"),  # its room when the orders were last brought up to date
        ("least", "i4"),  # every job takes at least this much room
        ("jobs", "i4"),
        ("kind", "i2"),
        ("closed", "i1"),  # stalled: takes nothing until it is empty
        ("stale", "i1"),
    ],
    align=True,
)

queue_type = np.dtype([("head", "i4"), ("tail", "i4"), ("since", "i8"), ("count", "i8"), ("size", "i8")], align=True)
group_type = np.dtype([("head", "i4"), ("tail", "i4"), ("count", "i4"), ("chain", "i4"), ("place", "i4")], align=True)


def empty_pool(task: NDArray[np.void]) -> None:
    """Mark all places as unused, and link them in order."""
    task["server"], task["kind"] = NONE, UNUSED
    task["next"] = np.arange(1, task.shape[1] + 1)
    task["next"][:, -1:] = NONE


def numbered(array: NDArray[np.int32]) -> None:
    """Write 0, 1, 2, … along the second dimension."""
    array[:] = np.arange(array.shape[1])


link_type = np.dtype([("next", "i4"), ("prev", "i4")], align=True)
ends_type = np.dtype([("head", "i4"), ("tail", "i4")], align=True)


def empty_lists(count: int) -> NDArray[np.void]:
    """Return the ends of empty lists, (count,) ends_type."""
    return np.full(count, np.array((NONE, NONE), ends_type))


@compiled
def append(links: NDArray[np.void], ends: Any, i: int) -> None:
    insert_behind(links, ends, ends.tail, i)


@compiled
def insert_in_order(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Insert entry i in ascending order, searching from the end."""
    before = ends.tail
    while before != NONE and before > i:
        before = links[before].prev
    insert_behind(links, ends, before, i)


@compiled
def insert_behind(links: NDArray[np.void], ends: Any, before: int, i: int) -> None:
    """Insert entry i behind `before`, in front for NONE."""
    after = ends.head if before == NONE else links[before].next
    connect(links, ends, before, i)
    connect(links, ends, i, after)


@compiled
def unlink(links: NDArray[np.void], ends: Any, i: int) -> None:
    """Remove entry i, whose own links keep their values."""
    connect(links, ends, links[i].prev, links[i].next)


@compiled
def connect(links: NDArray[np.void], ends: Any, before: int, after: int) -> None:
    """Link two neighbours, of which one may be NONE."""
    if before == NONE:
        ends.head = after
    else:
        links[before].next = after
    if after == NONE:
        ends.tail = before
    else:
        links[after].prev = before
