"""Configuration: an action gives an empty server its configuration; tasks then start by the rules of VQS-BF, or of VQS."""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.best_fit import fill, next_with_room
from packenv.cluster.events import wake_at
from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import jobs_in, kind_of, room_of, server_count
from packenv.cluster.state import NONE
from packenv.cluster.virtual_queues.configurations import AS_MANY_AS_FIT, serve_in_line, serve_largest, serve_reserved
from packenv.compiled.decorators import apart, compiled, fused
from packenv.envs.configuration.observation import describe_configuration, write_configurations
from packenv.envs.core.largest_fitting import survey
from packenv.envs.core.server_summaries import add_starts
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
    turn.cursor, turn.started = 0, b.c.head[b.c.e].started
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
        if b.active[c.e, server] != NONE:
            serve(rules, b, server)
        server = next_of_pass(rules, b, server + 1)
    turn.phase = WAITING
    if rules.rule == VQS and c.head[c.e].started > turn.started and waiting(c) > 0:
        wake_at(c, now(c) + 1)  # a new head of line may fit a server that this pass has left behind


@fused
def next_of_pass(rules: ConfigurationRules, b: Batch, start: int) -> int:
    """VQS goes through all servers, VQS-BF through those on which a task starts: best fit leaves no task that fits anywhere."""
    if rules.rule == VQS:
        return start if waiting(b.c) > 0 and start < server_count(b.c) else NONE
    return next_with_room(b.c, start)


@compiled
def serve(rules: ConfigurationRules, b: Batch, server: int) -> None:
    """Start tasks on a server by its configuration."""
    head = b.c.head[b.c.e]
    started, size = head.started, head.waiting_size
    if rules.rule == VQS:
        serve_by_vqs(b, server, rules.limited)
    else:
        serve_by_vqs_bf(b, server)
    add_starts(b, server, head.started - started, size - head.waiting_size)


@apart
def serve_by_vqs_bf(b: Batch, server: int) -> None:
    """VQS-BF: each type of the configuration in turn, its largest that fit; then best fit from the whole queue."""
    configuration = b.table[kind_of(b.c, server), b.active[b.c.e, server]]
    for j in range(configuration.shape[0]):
        serve_largest(b.c, server, j, configuration[j])
    fill(b.c, server)


@apart
def serve_by_vqs(b: Batch, server: int, limited: int) -> None:
    """VQS: heads of line; a configuration with a type-1 job reserves two thirds of the server for it.

    A reduced configuration has one other type, of which as many start as fit; with `limited`, no more than it has.
    """
    c = b.c
    configuration = b.table[kind_of(c, server), b.active[c.e, server]]
    room = serve_reserved(c, server, b.reserved[c.e]) if configuration[1] == 1 else room_of(c, server)
    for j in range(configuration.shape[0]):
        if j != 1 and configuration[j] > 0:
            room = serve_in_line(c, server, j, room, configuration[j] if limited else AS_MANY_AS_FIT)


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
