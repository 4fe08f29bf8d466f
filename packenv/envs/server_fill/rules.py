"""ServerFill: one server at a time, among those with room and fitting work. An action names the virtual queue to serve."""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.best_fit import free_share
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_fitting, size_of, smallest_size, smallest_waiting, waiting
from packenv.cluster.servers import first_server, fits, kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, fused, inner
from packenv.compiled.intrinsics import natural
from packenv.envs.core.lineup import line_up, lined_up_to
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.steps import call_back, pass_over, put
from packenv.envs.observation.actions import describe_cluster, describe_nothing, describe_start, describe_wait
from packenv.envs.observation.full import (
    largest_of_group,
    largest_on,
    survey,
    write_cluster,
    write_queue,
    write_server,
    write_virtual_queues,
)

TIGHTEST, BY_INDEX = 0, 1
"""Which server is asked first: the one with the least room, or the first."""


class ServerFillFace(NamedTuple):
    """Names this face to the compiler."""

    number: int = 1


@begins(ServerFillFace)
def begin(face: ServerFillFace, b: Batch) -> None:
    call_back(b)
    next_choice(b)


@acts(ServerFillFace)
def act(face: ServerFillFace, b: Batch) -> None:
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    server = turn.server
    i = NONE
    if action < b.mask.shape[1] - 1:
        i = chosen(b, server, action)
        turn.invalid = i == NONE
    if i == NONE:
        pass_over(b, server)
    else:
        put(b, i, server)
    next_choice(b)


@inner
def next_choice(b: Batch) -> None:
    """Go to the server that is asked next. Where none may be passed, what can only be done in one way is done unasked."""
    turn = b.turn[b.c.e]
    turn.server = next_server(b)
    if b.width == 0:
        i = forced(b, turn.server)
        while i != NONE:
            put(b, i, turn.server)
            turn.server = next_server(b)
            i = forced(b, turn.server)
    turn.phase = WAITING if turn.server == NONE else DECIDING


@apart
def forced(b: Batch, server: int) -> int:
    """The task that starts whatever the agent says: the largest of the only virtual queue that the server can serve."""
    c = b.c
    if server == NONE:
        return NONE
    kind = kind_of(c, server)
    if not c.vectors:
        largest, smallest = largest_fitting(c, room_of(c, server)), smallest_waiting(c)
        alike = type_of(c, kind, size_of(c, largest)) == type_of(c, kind, size_of(c, smallest))
        return largest if alike else NONE
    only = NONE
    for j in range(c.types.count[c.e, kind]):
        if can_serve(b, kind, j, server):
            if only != NONE:
                return NONE
            only = j
    return chosen(b, server, only)


@fused
def can_serve(b: Batch, kind: int, j: int, server: int) -> bool:
    """Whether some task of virtual queue j fits on the server. Needs `survey`."""
    if b.c.vectors:
        return largest_of_group(b, kind, j, server) != NONE
    return b.c.types.least[b.c.e, kind, j] <= room_of(b.c, server)


@fused
def chosen(b: Batch, server: int, j: int) -> int:
    c = b.c
    kind = kind_of(c, server)
    return largest_on(b, kind, j, server) if j < c.types.count[c.e, kind] else NONE


@apart
def any_group_fits(b: Batch, server: int) -> bool:
    """Whether something that is in a virtual queue of this server's kind fits in every resource."""
    c = b.c
    kind = kind_of(c, server)
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if type_of(c, kind, size_of(c, i)) != NONE and fits(c, i, server):
            return True
    return False


@fused
def next_server(b: Batch) -> int:
    """The server to ask: open, and with room for something that waits. NONE if there is none."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        return next_of_all(b)
    if b.form == BY_INDEX:
        return first_server(c, smallest_size(c), 0)
    return tightest_server(c, smallest_size(c))


@apart
def next_of_all(b: Batch) -> int:
    """Several resources: a look at every server."""
    c = b.c
    best = NONE
    for server in range(server_count(c)):
        if any_group_fits(b, server):
            if b.form == BY_INDEX:
                return server
            if best == NONE or free_share(c, server) < free_share(c, best):
                best = server
    return best


@observes(ServerFillFace)
def observe(face: ServerFillFace, b: Batch) -> None:
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    types = b.c.types.least.shape[2]
    kind, room = 0, 0
    if server != NONE:
        kind, room = kind_of(c, server), room_of(c, server)
    b.mask[e, types] = 1 if b.width or server == NONE else 0
    if b.actions.shape[1] > 0:
        if c.vectors:
            describe_groups(b, kind, server)
        else:
            describe_types(b, kind, server, room)
        describe_wait(b, types, server)
        describe_cluster(b, kind)
        return
    survey(b, kind)
    mask_types(b, kind, server)
    write_virtual_queues(b, kind, 0, room, server)
    if b.queue.shape[1] > 0:
        write_queue(b)
    write_server(b, server)
    if b.cluster.shape[1] > 0:
        write_cluster(b)


@fused
def mask_types(b: Batch, kind: int, server: int) -> None:
    """Each virtual queue of which something fits. Needs `survey`."""
    known = b.c.types.count[b.c.e, kind]
    for j in range(b.c.types.least.shape[2]):
        b.mask[b.c.e, j] = server != NONE and j < known and can_serve(b, kind, j, server)


@apart
def describe_types(b: Batch, kind: int, server: int, room: int) -> None:
    """One size: in the line-up the virtual queues follow each other, so what each would start is a matter of counting."""
    c, e, types = b.c, b.c.e, b.c.types.least.shape[2]
    line_up(b.lineup, c)
    queue, known = c.types.queue[e, kind], c.types.count[e, kind] if server != NONE else 0
    smaller, fitting = 0, lined_up_to(b.lineup, e, room)  # tasks of the types seen; none fits without a server
    for n in range(types):
        j = types - 1 - n
        rank = min(smaller + queue[natural(j)].count, fitting) if j < known else 0
        b.mask[e, j] = rank > smaller
        if rank > smaller:
            describe_start(b, j, kind, j, server, b.lineup.size[e, natural(rank - 1)], rank)
            smaller += queue[natural(j)].count
        else:
            describe_nothing(b, j)


@apart
def describe_groups(b: Batch, kind: int, server: int) -> None:
    """Several resources: a look at all groups of like tasks for every type."""
    survey(b, kind)
    mask_types(b, kind, server)
    for j in range(b.c.types.least.shape[2]):
        if b.mask[b.c.e, j]:
            describe_start(b, j, kind, j, server, size_of(b.c, largest_of_group(b, kind, j, server)), 0)
        else:
            describe_nothing(b, j)
