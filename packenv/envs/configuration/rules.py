"""Configuration: an empty server asks which configuration it takes; tasks then follow the rules of VQS-BF, or of VQS."""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.events.wheel import wake_at
from packenv.cluster.queue.by_type import jobs_of_type
from packenv.cluster.queue.waiting import largest_fitting, now, size_of, smallest_size, waiting
from packenv.cluster.servers import first_server, jobs_in, kind_of, room_of, server_count
from packenv.cluster.state import NONE
from packenv.cluster.virtual_queues.configurations import (
    held_by,
    next_of_configuration,
    next_reserved,
    next_unreserved,
    unreserved_room,
)
from packenv.compiled.decorators import apart, fused, inner
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.steps import put
from packenv.envs.observation.actions import describe_cluster, describe_configuration
from packenv.envs.observation.full import survey, write_queue, write_servers, write_virtual_queues

VQS_BF, VQS = 0, 1


class ConfigurationFace(NamedTuple):
    """Names this face to the compiler."""

    number: int = 2


@begins(ConfigurationFace)
def begin(face: ConfigurationFace, b: Batch) -> None:
    turn = b.turn[b.c.e]
    turn.cursor = turn.started = 0
    turn.server = NONE
    serve_until_asked(b)


@acts(ConfigurationFace)
def act(face: ConfigurationFace, b: Batch) -> None:
    c, turn = b.c, b.turn[b.c.e]
    action = b.action[c.e]
    if action >= b.known[kind_of(c, turn.server)]:
        turn.invalid, action = 1, 0
    b.active[c.e, turn.server] = action
    serve_until_asked(b)


@inner
def serve_until_asked(b: Batch) -> None:
    """The pass over the servers from `cursor` on, up to an empty one that has no answer yet, or to its end."""
    c, turn = b.c, b.turn[b.c.e]
    asked = turn.server  # has its answer
    turn.server = NONE
    server = next_of_pass(b, turn.cursor)
    while server != NONE:
        if jobs_in(c, server) == 0 and server != asked:
            turn.server = turn.cursor = server
            turn.phase = DECIDING
            return
        asked = NONE
        if b.form == VQS:
            turn.started += serve_reserved(b, server)
        else:
            serve_largest(b, server)
        server = next_of_pass(b, server + 1)
    turn.phase = WAITING
    if b.form == VQS and turn.started > 0 and waiting(c) > 0:
        wake_at(c, now(c) + 1)  # a new head of line may fit a server that this pass has left behind


@fused
def next_of_pass(b: Batch, start: int) -> int:
    """VQS looks at all servers, VQS-BF at those where something starts: best fit leaves none where anything fits."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if b.form == VQS:
        return start if start < server_count(c) else NONE
    return first_server(c, smallest_size(c), start)


@apart
def serve_largest(b: Batch, server: int) -> None:
    """VQS-BF: each type of the configuration in turn, its largest that fit; then best fit from the whole queue."""
    c = b.c
    n, kind = b.active[c.e, server], kind_of(c, server)
    if n != NONE:
        for j in range(b.table.shape[2]):
            if b.table[kind, n, j] > 0:
                i = next_of_configuration(c, server, j, b.table[kind, n, j])
                while i != NONE:
                    put(b, i, server)
                    i = next_of_configuration(c, server, j, b.table[kind, n, j])
    i = largest_fitting(c, room_of(c, server))
    while i != NONE:
        put(b, i, server)
        i = largest_fitting(c, room_of(c, server))


@apart
def serve_reserved(b: Batch, server: int) -> int:
    """VQS: heads of line; a configuration with a type-1 job keeps two thirds of the server for it.

    `width` 1: no more of a type than the configuration has (as MaxWeight), which a pair of types need not heed.
    """
    c = b.c
    n, kind, started = b.active[c.e, server], kind_of(c, server), 0
    if n == NONE:
        return 0
    space = room_of(c, server)
    if b.table[kind, n, 1] == 1:
        if jobs_of_type(c, server, 1) == 0:
            b.reserved[c.e, server] = 0
            i = next_reserved(c, server)
            if i != NONE:
                b.reserved[c.e, server] = size_of(c, i)
                put(b, i, server)
                started += 1
        space = unreserved_room(c, server, b.reserved[c.e, server])
    for j in range(b.table.shape[2]):
        if b.table[kind, n, j] > 0 and not (j == 1 and b.table[kind, n, 1] == 1):
            i = next_unreserved(c, server, j, space)
            while i != NONE and (b.width == 0 or jobs_of_type(c, server, j) < b.table[kind, n, j]):
                space -= held_by(c, server, i)
                put(b, i, server)
                started += 1
                i = next_unreserved(c, server, j, space)
    return started


@observes(ConfigurationFace)
def observe(face: ConfigurationFace, b: Batch) -> None:
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    kind = kind_of(c, server) if server != NONE else 0
    survey(b, kind)
    for n in range(b.mask.shape[1]):
        b.mask[e, n] = n < b.known[kind]
    if b.actions.shape[1] > 0:
        for n in range(b.mask.shape[1]):
            describe_configuration(b, n, kind, server)
        describe_cluster(b, kind)
    else:
        write_virtual_queues(b, kind, 0, c.server[e, server].capacity if server != NONE else 0, server)
        if b.queue.shape[1] > 0:
            write_queue(b)
        write_servers(b, server)
        if b.configurations.shape[1] > 0:
            write_configurations(b)


@apart
def write_configurations(b: Batch) -> None:
    """(2J,): what the active configurations of the servers with jobs have of each type."""
    c, e = b.c, b.c.e
    for j in range(b.configurations.shape[1]):
        b.configurations[e, j] = 0.0
    for s in range(server_count(c)):
        if b.active[e, s] != NONE and jobs_in(c, s) > 0:
            for j in range(b.table.shape[2]):
                b.configurations[e, j] += b.table[kind_of(c, s), b.active[e, s], j]
