"""Tasks in service: their start, their end, and their resources."""

from __future__ import annotations

from packenv.cluster.devices import give_devices_back, has_devices, take_devices
from packenv.cluster.events import schedule_event
from packenv.cluster.locality import begin_read, end_read, has_homes, reads_take_room, remote_slots
from packenv.cluster.measures import record_start
from packenv.cluster.queue.by_type import type_of_task
from packenv.cluster.queue.waiting import dequeue
from packenv.cluster.servers import note_freed, touch
from packenv.cluster.state import DONE, NONE, TASK, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.policy import BY_MIX


@apart
def release_successors(c: Cluster, row: int) -> None:
    """Update the successors of a completed row, through barriers."""
    precedence = c.precedence
    rows = precedence.released.shape[1]
    for n in range(precedence.offsets[row], precedence.offsets[row + 1]):
        node = precedence.successor[n]
        if not was_last(c, node):
            continue
        if node < rows:
            release(c, node)
        else:
            for m in range(precedence.offsets[node], precedence.offsets[node + 1]):
                if was_last(c, precedence.successor[m]):
                    release(c, precedence.successor[m])


@compiled
def was_last(c: Cluster, node: int) -> bool:
    """Subtract a pending predecessor, and return whether none is left."""
    c.precedence.pending[c.e, node] -= 1
    return c.precedence.pending[c.e, node] == 0


@compiled
def release(c: Cluster, row: int) -> None:
    """Let an arrived row without pending predecessors join the queue."""
    head = c.head[c.e]
    if row < head.next_row:
        c.precedence.released[c.e, head.released] = row
        head.released += 1
        head.held_back -= 1


A_BOX = -1  # in place of the room that a task holds: it takes the box of its type


@compiled
def place(c: Cluster, i: int, server: int, extra_slots: int = 0, devices: int = 0) -> None:
    """Start waiting task i on a server now.

    extra_slots  slots in addition to its service time and, away from its data, its remote overhead (packenv.Network)
    devices      devices of the server to take, as bits; 0: the tightest with room for its share, or the first free ones

    The policy must make sure that it fits. Raises ValueError if i or server is NONE, or if task i does not wait.
    """
    if i < 0 or server < 0 or c.task[c.e, i].server != NONE:
        raise ValueError("only a waiting task can be placed, and only on a server")
    put_in_service(c, i, server, extra_slots, devices)


@apart
def put_in_service(c: Cluster, i: int, server: int, extra_slots: int, devices: int) -> None:
    task = c.task[c.e, i]
    dequeue(c, i)
    until = task.slots + c.head[c.e].now + extra_slots
    if has_homes(c):
        until += remote_slots(c, task.row, server)
    occupy(c, i, server, max(task.size, c.server[c.e, server].least), until, devices)
    if reads_take_room(c):
        source = begin_read(c, i, server)
        if source != NONE:
            touch(c, source)
    record_start(c, i)


@compiled
def occupy(c: Cluster, i: int, server: int, room: int, until: int, devices: int = 0) -> None:
    """Take a server's `room`, demands and devices until slot `until`."""
    head, task, record = c.head[c.e], c.task[c.e, i], c.server[c.e, server]
    task.server, task.held, task.slots = server, room, until
    if not c.vectors:
        record.room -= room
    record.jobs += 1
    head.in_service += 1
    change_use(c, i, server, 1)
    if has_devices(c):
        take_devices(c, i, server, devices)
    schedule_event(c, i, until)
    touch(c, server)


@compiled
def hold(c: Cluster, i: int, room: int) -> None:
    """Make placed task i take `room` units until it leaves."""
    task = c.task[c.e, i]
    c.server[c.e, task.server].room -= room - task.held
    task.held = room
    touch(c, task.server)


@compiled
def hold_box(c: Cluster, i: int) -> None:
    """Make placed task i take its type's whole box."""
    task = c.task[c.e, i]
    task.held = A_BOX
    change_room_in_box(c, i, task.server, 1)
    touch(c, task.server)


@apart
def change_room_in_box(c: Cluster, i: int, server: int, sign: int) -> None:
    """Take (sign = 1) or free (-1) the box's excess."""
    j = c.types.of[c.e, i]
    for r in range(c.demand.shape[2]):
        c.free[c.e, server, r] -= sign * (c.types.box[j, r] - c.demand[c.e, i, r])


@compiled
def postpone(c: Cluster, i: int, slot: int) -> None:
    """Postpone the end of running task i to `slot`, if later."""
    task = c.task[c.e, i]
    if slot > task.slots:
        task.slots = slot
        c.head[c.e].postponed = 1
        if task.row < c.measures.end.shape[1]:
            c.measures.end[c.e, task.row] = slot


@apart
def put_off(c: Cluster) -> None:
    """Move postponed tasks from the due events to later ones."""
    head = c.head[c.e]
    due = head.due
    head.due = 0
    for n in range(due):
        i = c.due[c.e, n]
        if c.task[c.e, i].kind == TASK and c.task[c.e, i].slots > head.now:
            schedule_event(c, i, c.task[c.e, i].slots)
        else:
            c.due[c.e, head.due] = i
            head.due += 1


@compiled
def change_use(c: Cluster, i: int, server: int, sign: int) -> None:
    """Add (sign = 1) or subtract (-1) a task's use."""
    if c.demand.shape[1] == 0:
        c.used[c.e, 0] += sign * c.task[c.e, i].size
    else:
        change_use_of_all(c, i, server, sign)
    if c.orders & BY_MIX:
        count_in_service(c, i, server, sign)


@apart
def change_use_of_all(c: Cluster, i: int, server: int, sign: int) -> None:
    for r in range(c.demand.shape[2]):
        amount = sign * c.demand[c.e, i, r]
        c.free[c.e, server, r] -= amount
        c.used[c.e, r] += amount


@apart
def count_in_service(c: Cluster, i: int, server: int, sign: int) -> None:
    j = type_of_task(c, c.server[c.e, server].kind, i)
    if j != NONE:
        c.types.in_service[c.e, server, j] += sign


@compiled
def complete(c: Cluster, i: int) -> None:
    """Remove task i from its server, readable until next slot."""
    head = c.head[c.e]
    task = c.task[c.e, i]
    server = task.server
    record = c.server[c.e, server]
    # Its room is free again: what it held of one resource; of several, what its box has beyond its demands, and then these.
    if not c.vectors:
        record.room += task.held
    elif task.held == A_BOX:
        change_room_in_box(c, i, server, -1)
    record.jobs -= 1
    head.in_service -= 1
    change_use(c, i, server, -1)
    if has_devices(c):
        give_devices_back(c, i, server)
    task.kind = DONE
    if record.jobs == 0:
        record.closed = 0
    # Best fit looks at this server, and at the one that it read from.
    note_freed(c, server)
    if reads_take_room(c):
        source = end_read(c, i, server)
        if source != NONE:
            note_freed(c, source)
    # Its successors may become eligible.
    if task.row >= 0:
        head.completed += 1
        if c.precedence.offsets.shape[0] > 1:
            release_successors(c, task.row)
