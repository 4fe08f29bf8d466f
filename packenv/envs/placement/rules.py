"""Placement: the whole cluster at once. An action names a server and what starts there, or waits for the next event."""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.queue.by_type import head_of_line, type_of
from packenv.cluster.queue.waiting import size_of
from packenv.cluster.servers import fits, kind_of, server_count
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.lineup import line_up, lined_up_to
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.steps import put
from packenv.envs.observation.actions import describe_cluster, describe_nothing, describe_start, describe_wait
from packenv.envs.observation.full import largest_on, survey, write_queue, write_servers, write_virtual_queues

LARGEST, HEAD, WINDOW = 0, 1, 2
"""What starts: the largest of a virtual queue that fits, the head of a virtual queue, or one of the oldest waiting tasks."""


class PlacementFace(NamedTuple):
    """Names this face to the compiler."""

    number: int = 0


@begins(PlacementFace)
def begin(face: PlacementFace, b: Batch) -> None:
    b.turn[b.c.e].phase = DECIDING


@acts(PlacementFace)
def act(face: PlacementFace, b: Batch) -> None:
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    turn.phase = WAITING
    if action < b.mask.shape[1] - 1:
        server = action // b.width
        i = chosen(b, server, action % b.width)
        if i == NONE:
            turn.invalid = 1
        else:
            put(b, i, server)
            turn.phase = DECIDING


@fused
def chosen(b: Batch, server: int, k: int) -> int:
    """The task that action (server, k) starts; NONE if there is none, or it does not fit."""
    c = b.c
    if b.form == WINDOW:
        i = c.queue[c.e].head
        for _ in range(k):
            if i != NONE:
                i = c.task[c.e, i].next
        return i if i != NONE and fits(c, i, server) else NONE
    kind = kind_of(c, server)
    if k >= c.types.count[c.e, kind]:
        return NONE
    if b.form == HEAD:
        i = head_of_line(c, kind, k)
        return i if i != NONE and fits(c, i, server) else NONE
    return largest_on(b, kind, k, server)


@observes(PlacementFace)
def observe(face: PlacementFace, b: Batch) -> None:
    c, e = b.c, b.c.e
    kinds, types = c.types.least.shape[1:]
    described = b.actions.shape[1] > 0
    for kind in range(kinds):
        survey(b, kind)
        if not described:
            write_virtual_queues(b, kind, kind * types, most_room(b, kind), NONE)
    if not described:
        if b.queue.shape[1] > 0:
            write_queue(b)
        write_servers(b, NONE)
    if b.form == WINDOW:
        mask_window(b)
    elif c.vectors or b.form == HEAD:
        mask_tasks(b)
    else:
        mask_types(b)
    b.mask[e, b.mask.shape[1] - 1] = 1
    if described:
        describe_all(b)


@apart
def describe_all(b: Batch) -> None:
    c, e = b.c, b.c.e
    if not c.vectors:
        line_up(b.lineup, c)
    for server in range(server_count(c)):
        for k in range(b.width):
            action = server * b.width + k
            if not b.mask[e, action]:
                describe_nothing(b, action)
                continue
            i, kind = chosen(b, server, k), kind_of(c, server)
            size = size_of(c, i)
            rank = 0 if c.vectors else lined_up_to(b.lineup, e, size)
            describe_start(b, action, kind, type_of(c, kind, size), server, size, rank)
    describe_wait(b, b.mask.shape[1] - 1, NONE)
    describe_cluster(b, 0)


@fused
def most_room(b: Batch, kind: int) -> int:
    """The largest room of any server of this kind."""
    c = b.c
    record, most = c.server[c.e], 0
    for server in range(record.shape[0]):
        if record[server].kind == kind:
            most = max(most, record[server].room)
    return most


@apart
def mask_types(b: Batch) -> None:
    """One size: a virtual queue can be served where its smallest task fits."""
    c, e = b.c, b.c.e
    record, mask, types = c.server[e], b.mask[e], c.types.least.shape[2]
    for server in range(record.shape[0]):
        least, room, first = c.types.least[e, natural(record[server].kind)], record[server].room, natural(server * types)
        for j in range(types):
            mask[first + natural(j)] = least[j] <= room


@apart
def mask_tasks(b: Batch) -> None:
    """Several resources, or heads of line: every virtual queue on every server."""
    types = b.c.types.least.shape[2]
    for server in range(server_count(b.c)):
        for j in range(types):
            b.mask[b.c.e, server * types + j] = chosen(b, server, j) != NONE


@apart
def mask_window(b: Batch) -> None:
    """Each task of the window on every server."""
    c, e = b.c, b.c.e
    i = c.queue[e].head
    for k in range(b.width):
        for server in range(server_count(c)):
            b.mask[e, server * b.width + k] = i != NONE and fits(c, i, server)
        if i != NONE:
            i = c.task[e, i].next
