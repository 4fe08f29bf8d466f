"""Copies tasks between clusters with different orders or packing rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import TAKEN, has_devices
from packenv.cluster.events import allocate_place
from packenv.cluster.in_service import A_BOX, hold_box, occupy
from packenv.cluster.queue.by_type import find_box
from packenv.cluster.queue.waiting import enqueue, order_new
from packenv.cluster.servers import refresh
from packenv.cluster.state import NONE, TASK, Cluster, look_at
from packenv.compiled.decorators import compiled
from packenv.workloads.source import refill

NEW = -2  # marks a task that became eligible in this slot


def tasks_of(c: Cluster, e: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return waiting tasks in queue order, running ones by row."""
    task = c.task[e]
    places = np.flatnonzero(task["kind"] == TASK)
    waits = task["server"][places] == NONE
    waiting, served = places[waits], places[~waits]
    order = np.lexsort((task["row"][waiting], task["since"][waiting]))
    return waiting[order], served[np.argsort(task["row"][served], kind="stable")]


@compiled
def transplant(
    a: Cluster,
    e: int,
    waiting: NDArray[np.int64],  # places in a of the tasks that will wait in b, in queue order
    served: NDArray[np.int64],  # places in a of the tasks that will be in service in b
    b: Cluster,
    row: int,
    at: NDArray[np.int64],  # (places of a,) output: the place of each task in b
    held: NDArray[np.int64],  # (places of a,) room that each task takes in b, if that is more than its size, or A_BOX
) -> None:
    """Copy tasks of a's row e into b's row `row`.

    b is an empty cluster of the same servers with enough places. It takes a's slot, new tasks and servers with completions, but
    keeps its own measures. New tasks are not yet in size order: `begin_slot` still orders them in this slot.
    """
    look_at(b, row)
    # The clock, and how far the table has been read.
    source, head = a.head[e], b.head[row]
    head.now = source.now
    head.next_row, head.arrived = source.next_row, source.arrived
    # What is in service; new tasks are marked until it is known whether they wait.
    for n in range(source.fresh):
        at[a.fresh[e, n]] = NEW
    for n in range(served.shape[0]):
        i = adopt(a, e, b, served[n])
        at[served[n]] = i
        task = a.task[e, served[n]]
        room = max(task.size, b.server[row, task.server].least, held[served[n]])
        occupy(b, i, task.server, room, task.slots, b.devices.need[row, i, TAKEN] if has_devices(b) else 0)
        if held[served[n]] == A_BOX:
            hold_box(b, i)
    # What waits: old tasks are put in size order one by one, new ones of this slot are left out of it.
    for n in range(waiting.shape[0]):
        i = adopt(a, e, b, waiting[n])
        is_new = at[waiting[n]] == NEW and b.task[row, i].since == source.now
        at[waiting[n]] = i
        head.fresh = 0
        enqueue(b, i)
        if not is_new:
            order_new(b)
    # The lists of this slot: new tasks, and servers with completions.
    head.fresh = source.fresh
    for n in range(source.fresh):
        b.fresh[row, n] = at[a.fresh[e, n]]
    head.freed = source.freed
    for n in range(source.freed):
        b.freed[row, n] = a.freed[e, n]
        b.server[row, a.freed[e, n]].freed = source.now
    refresh(b)


@compiled
def adopt(a: Cluster, e: int, b: Cluster, place: int) -> int:
    """Copy a task to b as waiting, and return it."""
    i = allocate_place(b)
    old, new = a.task[e, place], b.task[b.e, i]
    new.kind, new.row, new.job, new.since, new.size = TASK, old.row, old.job, old.since, old.size
    new.slots = old.slots
    new.server = NONE
    for r in range(b.demand.shape[2]):
        if b.demand.shape[1] > 0:
            b.demand[b.e, i, r] = a.demand[e, place, r]
    if has_devices(b):
        for n in range(b.devices.need.shape[2]):
            b.devices.need[b.e, i, n] = a.devices.need[e, place, n]
    if b.types.box.shape[0] > 0:
        find_box(b, i)
    return i


def copy_rows(a: Cluster, e: int, b: Cluster, row: int) -> None:
    """Copy a's future arrivals and pending predecessors to b."""
    b.head["held_back"][row] = a.head["held_back"][e]
    b.precedence.pending[row] = a.precedence.pending[e]
    stream = b.source.stream[row if len(b.source.stream) > 1 else 0]
    if a.source.stream["ended"][0]:  # b reads the same table, or a stream of it that it has yet to read up to here
        while stream["first_row"] + stream["filled"] < b.head["next_row"][row]:
            refill(b.source, row)
        return
    b.source.stream[row] = a.source.stream[e]
    for name in ("arrival", "demand", "service", "job"):
        getattr(b.source, name)[row] = getattr(a.source, name)[e]
