"""Placement: an action names a server and what starts there, or waits for the next event.

With `choices` = (S, K) only the S tightest servers on which something fits are offered, of servers with equal room the first,
and K of the virtual queues that each can serve, in descending order of size.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.best_fit import free_share
from packenv.cluster.queue.by_type import head_of_line, type_of
from packenv.cluster.queue.waiting import size_of, smallest_size, waiting
from packenv.cluster.servers import fits, kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.between_decisions import put
from packenv.envs.core.largest_fitting import largest_on, survey
from packenv.envs.core.servable import forced, served_by, tightest_of_all
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.waiting_sizes import copy_waiting_sizes, count_up_to
from packenv.envs.observation.arrays import write_queue, write_servers, write_virtual_queues
from packenv.envs.observation.choices import describe_groups, describe_types
from packenv.envs.observation.describe import describe_context, describe_nothing, describe_start, describe_wait

LARGEST, HEAD, WINDOW = 0, 1, 2
"""What an action starts: the largest task of a virtual queue that fits, its head of line, or one of the oldest tasks."""


class PlacementRules(NamedTuple):
    """The options that compiled code reads."""

    starts: int  # LARGEST, HEAD or WINDOW
    per_server: int  # actions of each server: 2J, or K, or as many as it offers
    servers: int  # of how many servers the actions are, the tightest; 0: of all
    passing: int  # 1 if the agent may wait while a task fits


@begins(PlacementRules)
def begin(rules: PlacementRules, b: Batch) -> None:
    """Every slot with an event begins with a decision; where the actions are choices, only if something fits."""
    if rules.servers > 0:
        next_decision(rules, b)
    else:
        b.turn[b.c.e].phase = DECIDING


@acts(PlacementRules)
def act(rules: PlacementRules, b: Batch) -> None:
    """Start a task, and decide again in the same slot; otherwise wait for the next event."""
    turn, action = b.turn[b.c.e], b.action[b.c.e]
    turn.phase = WAITING
    i, server = NONE, NONE
    if action < b.mask.shape[1] - 1:
        server, k = action // rules.per_server, action % rules.per_server
        if rules.servers > 0:
            server = offered_server(b, server)
            k = served_by(b, server, k) if server != NONE else NONE
        i = task_of(rules, b, server, k) if k != NONE else NONE
        turn.invalid = i == NONE
    else:
        turn.invalid = rules.passing == 0
    if i != NONE:
        put(b, i, server)
        turn.phase = DECIDING
        if rules.servers > 0:
            next_decision(rules, b)


@compiled
def next_decision(rules: PlacementRules, b: Batch) -> None:
    """Decide if something fits. Where the agent may not wait, carry out decisions with one choice only."""
    server = offered_server(b, 0)
    if rules.passing == 0:
        i = forced(b, server) if offered_server(b, 1) == NONE else NONE
        while i != NONE:
            put(b, i, server)
            server = offered_server(b, 0)
            i = forced(b, server) if offered_server(b, 1) == NONE else NONE
    b.turn[b.c.e].phase = WAITING if server == NONE else DECIDING


@apart
def offered_server(b: Batch, k: int) -> int:
    """The k-th of the servers with room for a waiting task, the least room first, one of each room; NONE if there are fewer."""
    c = b.c
    if waiting(c) == 0:
        return NONE
    if c.vectors:
        server = tightest_of_all(b, -1.0)
        while k > 0 and server != NONE:
            server = tightest_of_all(b, free_share(c, server))
            k -= 1
        return server
    server = tightest_server(c, smallest_size(c))
    while k > 0 and server != NONE:
        server = tightest_server(c, room_of(c, server) + 1)
        k -= 1
    return server


@fused
def task_of(rules: PlacementRules, b: Batch, server: int, k: int) -> int:
    """The task that action (server, k) starts; NONE if there is none, or it does not fit."""
    c = b.c
    if rules.starts == WINDOW:
        i = c.queue[c.e].head
        for _ in range(k):
            if i != NONE:
                i = c.task[c.e, i].next
        return i if i != NONE and fits(c, i, server) else NONE
    kind = kind_of(c, server)
    if k >= c.types.count[c.e, kind]:
        return NONE
    if rules.starts == HEAD:
        i = head_of_line(c, kind, k)
        return i if i != NONE and fits(c, i, server) else NONE
    return largest_on(b, kind, k, server)


@observes(PlacementRules)
def observe(rules: PlacementRules, b: Batch) -> None:
    """Write the observation and the mask of the row."""
    c, e = b.c, b.c.e
    if rules.servers > 0:
        observe_choices(rules, b)
        return
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
    if rules.starts == WINDOW:
        mask_window(rules, b)
    elif c.vectors or rules.starts == HEAD:
        mask_tasks(rules, b)
    else:
        mask_types(b)
    b.mask[e, b.mask.shape[1] - 1] = 1
    if described:
        describe_all(rules, b)


@compiled
def observe_choices(rules: PlacementRules, b: Batch) -> None:
    """Write the mask and the observation "actions" of the servers that are offered."""
    c, last = b.c, b.mask.shape[1] - 1
    if not c.vectors:
        copy_waiting_sizes(b)
    for k in range(rules.servers):
        server = offered_server(b, k)
        kind = kind_of(c, server) if server != NONE else 0
        if c.vectors:
            describe_groups(b, k * rules.per_server, kind, server, rules.per_server)
        else:
            room = room_of(c, server) if server != NONE else 0
            describe_types(b, k * rules.per_server, kind, server, room, rules.per_server)
    b.mask[c.e, last] = 1 if rules.passing or b.mask[c.e, 0] == 0 else 0
    describe_wait(b, last, NONE)
    describe_context(b, 0)


@compiled
def describe_all(rules: PlacementRules, b: Batch) -> None:
    """Write the observation "actions"."""
    c, e = b.c, b.c.e
    if not c.vectors:
        copy_waiting_sizes(b)
    for server in range(server_count(c)):
        for k in range(rules.per_server):
            action = server * rules.per_server + k
            if not b.mask[e, action]:
                describe_nothing(b, action)
                continue
            i, kind = task_of(rules, b, server, k), kind_of(c, server)
            size = size_of(c, i)
            rank = 0 if c.vectors else count_up_to(b, size)
            describe_start(b, action, kind, type_of(c, kind, size), server, size, rank)
    describe_wait(b, b.mask.shape[1] - 1, NONE)
    describe_context(b, 0)


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
    """One resource: a virtual queue can be served where its smallest task fits. Needs `survey`."""
    c, e = b.c, b.c.e
    record, mask, types = c.server[e], b.mask[e], c.types.least.shape[2]
    for server in range(record.shape[0]):
        least, room, first = c.types.least[e, natural(record[server].kind)], record[server].room, natural(server * types)
        for j in range(types):
            mask[first + natural(j)] = least[j] <= room


@compiled
def mask_tasks(rules: PlacementRules, b: Batch) -> None:
    """Several resources, or heads of line: look for the task of every virtual queue on every server."""
    types = b.c.types.least.shape[2]
    for server in range(server_count(b.c)):
        for j in range(types):
            b.mask[b.c.e, server * types + j] = task_of(rules, b, server, j) != NONE


@compiled
def mask_window(rules: PlacementRules, b: Batch) -> None:
    """Look whether each task of the window fits on every server."""
    c, e = b.c, b.c.e
    i = c.queue[e].head
    for k in range(rules.per_server):
        for server in range(server_count(c)):
            b.mask[e, server * rules.per_server + k] = i != NONE and fits(c, i, server)
        if i != NONE:
            i = c.task[e, i].next
