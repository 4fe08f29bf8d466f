"""ServerFill: one server at a time, among those with room and tasks that fit. An action names the virtual queue to serve.

With `choices` = K, action n serves the n-th of the virtual queues that can be served, in descending order of size.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.best_fit import next_with_room
from packenv.cluster.queue.waiting import smallest_size, waiting
from packenv.cluster.servers import kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import compiled, fused
from packenv.envs.core.between_decisions import pass_over, put, reopen_passed
from packenv.envs.core.largest_fitting import survey
from packenv.envs.core.servable import any_group_fits, chosen, forced, served_by, tightest_of_all
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.waiting_sizes import copy_waiting_sizes
from packenv.envs.observation.arrays import write_cluster, write_queue, write_server, write_virtual_queues
from packenv.envs.observation.choices import describe_groups, describe_types, mask_types
from packenv.envs.observation.describe import describe_context, describe_wait

TIGHTEST, BY_INDEX = 0, 1
"""Which server is asked first: the one with the least room, or the first."""


class ServerFillRules(NamedTuple):
    """The options that compiled code reads."""

    order: int  # TIGHTEST or BY_INDEX
    passing: int  # 1 if a server may be passed
    choices: int  # K; 0: an action for each virtual queue


@begins(ServerFillRules)
def begin(rules: ServerFillRules, b: Batch) -> None:
    """Ask again about servers that were passed, where something has changed."""
    reopen_passed(b)
    next_decision(rules, b)


@acts(ServerFillRules)
def act(rules: ServerFillRules, b: Batch) -> None:
    """Start a task on the server, or pass it over."""
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    server = turn.server
    i = NONE
    if action < b.mask.shape[1] - 1:
        j = action if rules.choices == 0 else served_by(b, server, action)
        i = chosen(b, server, j) if j != NONE else NONE
        turn.invalid = i == NONE
    else:
        turn.invalid = rules.passing == 0
    if i == NONE:
        pass_over(b, server)
    else:
        put(b, i, server)
    next_decision(rules, b)


@compiled
def next_decision(rules: ServerFillRules, b: Batch) -> None:
    """Find the server that the next decision is about. Where none may be passed, carry out decisions with one choice only."""
    turn = b.turn[b.c.e]
    turn.server = next_server(rules, b)
    if rules.passing == 0:
        i = forced(b, turn.server)
        while i != NONE:
            put(b, i, turn.server)
            turn.server = next_server(rules, b)
            i = forced(b, turn.server)
    turn.phase = WAITING if turn.server == NONE else DECIDING


@fused
def next_server(rules: ServerFillRules, b: Batch) -> int:
    """The server that the next decision is about: not passed, and with room for some waiting task; NONE if there is none."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        return next_of_all(rules, b)
    return next_with_room(c, 0) if rules.order == BY_INDEX else tightest_server(c, smallest_size(c))


@compiled
def next_of_all(rules: ServerFillRules, b: Batch) -> int:
    """Several resources: look at every server."""
    if rules.order == TIGHTEST:
        return tightest_of_all(b, -1.0)
    for server in range(server_count(b.c)):
        if any_group_fits(b, server):
            return server
    return NONE


@observes(ServerFillRules)
def observe(rules: ServerFillRules, b: Batch) -> None:
    """Write the observation and the mask of the row."""
    c, e, server = b.c, b.c.e, b.turn[b.c.e].server
    last = b.mask.shape[1] - 1
    kind, room = 0, 0
    if server != NONE:
        kind, room = kind_of(c, server), room_of(c, server)
    b.mask[e, last] = 1 if rules.passing or server == NONE else 0
    if b.actions.shape[1] > 0:
        if c.vectors:
            describe_groups(b, 0, kind, server, rules.choices)
        else:
            copy_waiting_sizes(b)
            describe_types(b, 0, kind, server, room, rules.choices)
        describe_wait(b, last, server)
        describe_context(b, kind)
        return
    survey(b, kind)
    mask_types(b, 0, kind, server, rules.choices)
    write_virtual_queues(b, kind, 0, room, server)
    if b.queue.shape[1] > 0:
        write_queue(b)
    write_server(b, server)
    if b.cluster.shape[1] > 0:
        write_cluster(b)
