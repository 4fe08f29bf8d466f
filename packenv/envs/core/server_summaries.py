"""Summaries of servers: ages of jobs, and servers by room."""

from __future__ import annotations

from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import now
from packenv.cluster.servers import kind_of, scalar_room, server_count
from packenv.cluster.state import DONE, NONE, TASK
from packenv.compiled.decorators import apart, compiled, fused
from packenv.envs.core.state import Batch


@fused
def add_starts(b: Batch, server: int, count: int) -> None:
    """Count tasks that start now."""
    if b.ages.shape[1] > 0:
        turn, slot = b.turn[b.c.e], now(b.c)
        b.ages[b.c.e, server, 0] += count * slot
        b.ages[b.c.e, server, 1] += count * float(slot) * slot
        classify_room(b, server)
        turn.counted_started += count
        turn.counted_in_service += count


@apart
def remove_completed(b: Batch) -> None:
    """Remove this slot's completed jobs. Summarise again if others placed tasks."""
    c = b.c
    if b.ages.shape[1] > 0:
        head, turn = c.head[c.e], b.turn[c.e]
        completed = 0
        for n in range(head.due):
            completed += c.task[c.e, c.due[c.e, n]].kind == DONE
        turn.counted_in_service -= completed
        if turn.counted_started != head.started or turn.counted_in_service != head.in_service:
            summarise_servers(b)
            return
        for n in range(head.due):
            i = c.due[c.e, n]
            if c.task[c.e, i].kind == DONE:
                server, start = c.task[c.e, i].server, float(c.task[c.e, i].since)
                b.ages[c.e, server, 0] -= start
                b.ages[c.e, server, 1] -= start * start
        for n in range(head.freed):
            classify_room(b, c.freed[c.e, n])


def forget_summaries(b: Batch) -> None:
    b.turn["counted_started"] = -1


@apart
def summarise_servers(b: Batch) -> None:
    c, e = b.c, b.c.e
    if b.ages.shape[1] == 0:
        return
    for k in range(b.rooms.shape[1]):
        b.rooms[e, k] = 0
    for server in range(server_count(c)):
        b.ages[e, server, 0] = b.ages[e, server, 1] = 0.0
        b.room_class[e, server] = NONE
        classify_room(b, server)
    for i in range(c.task.shape[1]):
        task = c.task[e, i]
        if task.kind == TASK and task.server != NONE:
            start = float(task.since)
            b.ages[e, task.server, 0] += start
            b.ages[e, task.server, 1] += start * start
    b.turn[e].counted_started = c.head[e].started
    b.turn[e].counted_in_service = c.head[e].in_service


@compiled
def classify_room(b: Batch, server: int) -> None:
    """Count a server under its room's type, capped, or none."""
    c = b.c
    kind, room = kind_of(c, server), scalar_room(c, server)
    largest = c.types.bound[c.e, kind, c.types.count[c.e, kind] - 1]
    j = type_of(c, kind, min(room, largest)) if room > 0 else b.rooms.shape[1] - 1
    old = b.room_class[c.e, server]
    if old != NONE:
        b.rooms[c.e, old] -= 1
    b.rooms[c.e, j] += 1
    b.room_class[c.e, server] = j
