"""Compiled steps around a live slot.

The simulator's loop is unchanged. It reads arrivals from a table and completions from the queue of events, so a live slot is one
call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import TAKEN, has_devices
from packenv.cluster.events import free_place, schedule_event
from packenv.cluster.locality import reads_take_room
from packenv.cluster.queue.waiting import dequeue, size_key
from packenv.cluster.slots import admit
from packenv.cluster.sorted_keys import add_last, clear
from packenv.cluster.state import MESSAGE, NONE, TASK, Cluster
from packenv.compiled.decorators import compiled
from packenv.policy import BY_SIZE

Ints = NDArray[np.int64]
STARTED = 5
"""Columns of a start: row, place in the pool, server, devices as bits, and the server that holds the task's data."""


@compiled
def order_by_size(c: Cluster, places: Ints) -> None:
    """Rebuild the order by size from its tasks in order."""
    if c.orders & BY_SIZE:
        clear(c.sizes, c.e)
        for n in range(places.shape[0]):
            add_last(c.sizes, c.e, size_key(c, places[n]), places[n])


@compiled
def readmit(c: Cluster, since: Ints, slot: int) -> None:
    """Add the first rows as tasks waiting since earlier slots.

    They count as new tasks of the current `slot`.
    """
    head = c.head[c.e]
    for row in range(since.shape[0]):
        head.now = since[row]
        admit(c, row)
    head.next_row = head.arrived = since.shape[0]
    head.now, head.arriving = slot, 1


@compiled
def report(c: Cluster, slot: int, completed: Ints, count: int) -> int:
    """Complete the first `count` tasks of `completed` in `slot`.

    `completed`: places in the pool. Returns the number of events. Overdue timers and messages of the policy are events too.
    """
    head, events = c.head[c.e], c.events[c.e]
    if head.now == slot and not head.arriving:  # a slot again: its completions give room once more
        for n in range(head.freed):
            c.server[c.e, c.freed[c.e, n]].freed = NONE
    # Rebuild the events: messages of the policy, then completions.
    last, head.events, due = head.events, 0, count
    for n in range(last):
        i = events[n, 1]
        if c.task[c.e, i].kind == MESSAGE:
            when = max(events[n, 0], slot)
            due += when == slot
            schedule_event(c, i, when)
    for n in range(count):
        schedule_event(c, completed[n], slot)
    head.wake = max(head.wake, slot)
    return due + (head.wake == slot) + head.arriving


@compiled
def list_starts(c: Cluster, starts: Ints) -> int:
    """Write all starts since `report` as rows (STARTED,), return their number."""
    count = 0
    for n in range(c.head[c.e].events):
        i = c.events[c.e, n, 1]
        task = c.task[c.e, i]
        if task.kind == TASK and task.row >= 0 and task.server != NONE:
            starts[count, 0], starts[count, 1], starts[count, 2] = task.row, i, task.server
            starts[count, 3] = c.devices.need[c.e, i, TAKEN] if has_devices(c) else 0
            starts[count, 4] = c.reads[c.e, i] if reads_take_room(c) else NONE
            count += 1
    return count


@compiled
def remove(c: Cluster, i: int) -> None:
    """Remove a waiting task from the cluster."""
    dequeue(c, i)
    free_place(c, i)
