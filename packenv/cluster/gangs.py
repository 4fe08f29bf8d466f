"""Gangs: tasks that start together in one slot.

Experimental: it may change in any version.

A gang's tasks are neighbours in the order of the queue. A policy looks at the first task and starts all. The tasks find
servers one after another in row order, by first fit or best fit. For equal tasks this finds room whenever there is any.
"""

from __future__ import annotations

from packenv.cluster.best_fit import best_server
from packenv.cluster.devices import TAKEN, give_devices_back, has_devices, take_devices
from packenv.cluster.in_service import place
from packenv.cluster.queue.waiting import gang_size, in_gang, new_count, new_task
from packenv.cluster.servers import first_server_for, fits, server_count, touch
from packenv.cluster.state import NONE, TASK, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.jobs import FIRST, TASKS


@compiled
def start_first_fit(c: Cluster, i: int) -> bool:
    """Start task i and all its gang by first fit, or none (needs BY_INDEX)."""
    if in_gang(c, i):
        return start_gang(c, i, hold_for_gang(c, i, False))
    server = first_server_for(c, i)
    if server == NONE:
        return False
    place(c, i, server)
    return True


@compiled
def start_best_fit(c: Cluster, i: int) -> bool:
    """Start task i and all its gang on BF-J's servers, or none.

    Needs the orders of `best_server`.
    """
    if in_gang(c, i):
        return start_gang(c, i, hold_for_gang(c, i, True))
    server = best_server(c, i)
    if server == NONE:
        return False
    place(c, i, server)
    return True


@apart
def hold_for_gang(c: Cluster, i: int, best_fit: bool) -> int:
    """Hold room from task i on, and return its tasks."""
    task, held = i, 0
    while held < gang_size(c, i):
        server = best_server(c, task) if best_fit else first_server_for(c, task)
        if server == NONE:
            break
        hold_room(c, task, server)
        task, held = c.task[c.e, task].next, held + 1
    return held


@apart
def start_gang(c: Cluster, i: int, held: int) -> bool:
    """Free the held room, and start the gang if complete."""
    task = i
    for _ in range(held):
        change_room(c, task, 1)
        task = c.task[c.e, task].next
    if held < gang_size(c, i):
        return False
    start_where_held(c, i)
    return True


@apart
def start_where_held(c: Cluster, i: int) -> None:
    task = i
    for _ in range(gang_size(c, i)):
        following = c.task[c.e, task].next
        place(c, task, c.task[c.e, task].held, 0, c.devices.need[c.e, task, TAKEN] if has_devices(c) else 0)
        task = following


@apart
def hold_room(c: Cluster, i: int, server: int) -> None:
    """Hold a server's room for a waiting task that fits."""
    c.task[c.e, i].held = server
    if has_devices(c):
        take_devices(c, i, server, 0)
    change_room(c, i, -1)


@apart
def change_room(c: Cluster, i: int, sign: int) -> None:
    """Take (sign = -1) or free (1) a waiting task's room."""
    task = c.task[c.e, i]
    record = c.server[c.e, task.held]
    if not c.vectors:
        record.room += sign * max(task.size, record.least)
    if c.demand.shape[1] > 0:
        for r in range(c.demand.shape[2]):
            c.free[c.e, task.held, r] += sign * c.demand[c.e, i, r]
    if sign > 0 and has_devices(c):
        give_devices_back(c, i, task.held)
    touch(c, task.held)


@apart
def new_gang_fits(c: Cluster, first: int) -> bool:
    """Return whether the gang from new task `first` on has room by first fit."""
    size, held = gang_size(c, new_task(c, first)), 0
    while held < size and first + held < new_count(c):
        i, server = new_task(c, first + held), 0
        while server < server_count(c) and not fits(c, i, server):
            server += 1
        if server == server_count(c):
            break
        hold_room(c, i, server)
        held += 1
    for n in range(first, first + held):
        change_room(c, new_task(c, n), 1)
    return held == size


@apart
def gang_in_part(c: Cluster) -> int:
    """Return a waiting row of a part-started gang, or NONE."""
    for i in range(c.task.shape[1]):
        task = c.task[c.e, i]
        if task.kind == TASK and task.server == NONE and in_gang(c, i):
            span = c.source.gangs[c.s, task.row]
            for row in range(span[FIRST], min(span[FIRST] + span[TASKS], c.measures.start.shape[1])):
                if c.measures.start[c.e, row] != NONE:
                    return task.row
    return NONE
