"""Configuration: an action gives an empty server its configuration; tasks then start by the rules of VQS-BF, or of VQS."""

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
from packenv.compiled.decorators import apart, compiled, fused
from packenv.envs.configuration.observation import describe_configuration, write_configurations
from packenv.envs.core.between_decisions import put
from packenv.envs.core.largest_fitting import survey
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.observation.arrays import write_queue, write_servers, write_virtual_queues
from packenv.envs.observation.describe import describe_context

VQS_BF, VQS = 0, 1
"""By whose rules tasks start."""


class ConfigurationRules(NamedTuple):
    """The options that compiled code reads."""

    rule: int  # VQS_BF or VQS
    limited: int  # 1 if a server runs no more jobs of a type than its configuration has, as MaxWeight does


@begins(ConfigurationRules)
def begin(rules: ConfigurationRules, b: Batch) -> None:
    """A pass over all servers begins."""
    turn = b.turn[b.c.e]
    turn.cursor = turn.started = 0
    turn.server = NONE
    serve_until_decision(rules, b)


@acts(ConfigurationRules)
def act(rules: ConfigurationRules, b: Batch) -> None:
    """Give the server its configuration, and go on with the pass."""
    c, turn = b.c, b.turn[b.c.e]
    action = b.action[c.e]
    if action >= b.known[kind_of(c, turn.server)]:
        turn.invalid, action = 1, 0
    b.active[c.e, turn.server] = action
    serve_until_decision(rules, b)


@compiled
def serve_until_decision(rules: ConfigurationRules, b: Batch) -> None:
    """Go on with the pass over the servers at `cursor`, up to an empty server that needs a configuration, or to the end."""
    c, turn = b.c, b.turn[b.c.e]
    configured = turn.server  # by the action just taken
    turn.server = NONE
    server = next_of_pass(rules, b, turn.cursor)
    while server != NONE:
        if jobs_in(c, server) == 0 and server != configured:
            turn.server = turn.cursor = server
            turn.phase = DECIDING
            return
        configured = NONE
        if rules.rule == VQS:
            turn.started += serve_reserved(rules, b, server)
        else:
            serve_largest(b, server)
        server = next_of_pass(rules, b, server + 1)
    turn.phase = WAITING
    if rules.rule == VQS and turn.started > 0 and waiting(c) > 0:
        wake_at(c, now(c) + 1)  # a new head of line may fit a server that this pass has left behind


@fused
def next_of_pass(rules: ConfigurationRules, b: Batch, start: int) -> int:
    """VQS goes through all servers, VQS-BF through those on which a task starts: best fit leaves no task that fits anywhere."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if rules.rule == VQS:
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


@fused
def serve_reserved(rules: ConfigurationRules, b: Batch, server: int) -> int:
    """VQS: heads of line; a configuration with a type-1 job reserves two thirds of the server for it. Returns tasks started.

    A reduced configuration has one other type, of which as many start as fit; with `limited`, no more than it has.
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
            while i != NONE and (rules.limited == 0 or jobs_of_type(c, server, j) < b.table[kind, n, j]):
                space -= held_by(c, server, i)
                put(b, i, server)
                started += 1
                i = next_unreserved(c, server, j, space)
    return started


@observes(ConfigurationRules)
def observe(rules: ConfigurationRules, b: Batch) -> None:
    """Write the observation and the mask of the row."""
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    kind = kind_of(c, server) if server != NONE else 0
    survey(b, kind)
    for n in range(b.mask.shape[1]):
        b.mask[e, n] = n < b.known[kind]
    if b.actions.shape[1] > 0:
        for n in range(b.mask.shape[1]):
            describe_configuration(b, n, kind, server)
        describe_context(b, kind)
    else:
        write_virtual_queues(b, kind, 0, c.server[e, server].capacity if server != NONE else 0, server)
        if b.queue.shape[1] > 0:
            write_queue(b)
        write_servers(b, server)
        if b.configurations.shape[1] > 0:
            write_configurations(b)
