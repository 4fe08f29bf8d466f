"""ServerFill: one server at a time, among those with room and tasks that fit. An action names the virtual queue to serve.

With `choices` = K, action n serves the n-th of the virtual queues that can be served, in descending order of size.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster.best_fit import free_share, next_with_room
from packenv.cluster.queue.by_demand import first_of_group, group_count
from packenv.cluster.queue.by_type import type_of
from packenv.cluster.queue.waiting import largest_fitting, size_of, smallest_size, smallest_waiting, waiting
from packenv.cluster.servers import fits, kind_of, room_of, server_count, tightest_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import apart, compiled, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.between_decisions import pass_over, put, reopen_passed
from packenv.envs.core.largest_fitting import largest_of_groups, largest_on, survey
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.core.waiting_sizes import copy_waiting_sizes, count_up_to
from packenv.envs.observation.arrays import write_cluster, write_queue, write_server, write_virtual_queues
from packenv.envs.observation.describe import describe_context, describe_nothing, describe_start, describe_wait

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


@apart
def forced(b: Batch, server: int) -> int:
    """The task that starts where there is no choice: the largest of the only virtual queue that the server can serve, or NONE."""
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
        return largest_of_groups(b, kind, j, server) != NONE
    return b.c.types.least[b.c.e, kind, j] <= room_of(b.c, server)


@apart
def served_by(b: Batch, server: int, n: int) -> int:
    """The n-th virtual queue that can be served on the server, of the largest sizes first; NONE if there are not so many."""
    kind = kind_of(b.c, server)
    survey(b, kind)
    for j in range(b.c.types.count[b.c.e, kind]):
        if can_serve(b, kind, j, server):
            if n == 0:
                return j
            n -= 1
    return NONE


@fused
def chosen(b: Batch, server: int, j: int) -> int:
    """The task that starts when virtual queue j is served on the server; NONE if there is none."""
    c = b.c
    kind = kind_of(c, server)
    return largest_on(b, kind, j, server) if j < c.types.count[c.e, kind] else NONE


@apart
def any_group_fits(b: Batch, server: int) -> bool:
    """Several resources: whether some waiting task of a type that this kind of server has fits on the server."""
    c = b.c
    kind = kind_of(c, server)
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if type_of(c, kind, size_of(c, i)) != NONE and fits(c, i, server):
            return True
    return False


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
    c = b.c
    best = NONE
    for server in range(server_count(c)):
        if any_group_fits(b, server):
            if rules.order == BY_INDEX:
                return server
            if best == NONE or free_share(c, server) < free_share(c, best):
                best = server
    return best


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
            describe_groups(b, kind, server, rules.choices)
        else:
            describe_types(b, kind, server, room, rules.choices)
        describe_wait(b, last, server)
        describe_context(b, kind)
        return
    survey(b, kind)
    mask_types(b, kind, server, rules.choices)
    write_virtual_queues(b, kind, 0, room, server)
    if b.queue.shape[1] > 0:
        write_queue(b)
    write_server(b, server)
    if b.cluster.shape[1] > 0:
        write_cluster(b)


@fused
def mask_types(b: Batch, kind: int, server: int, choices: int) -> None:
    """A virtual queue can be served if one of its tasks fits. Needs `survey`."""
    known = b.c.types.count[b.c.e, kind]
    if choices > 0:
        mask_choices(b, servable(b, kind, server))
        return
    for j in range(b.c.types.least.shape[2]):
        b.mask[b.c.e, j] = server != NONE and j < known and can_serve(b, kind, j, server)


@apart
def servable(b: Batch, kind: int, server: int) -> int:
    """How many virtual queues can be served on the server. Needs `survey`."""
    found = 0
    if server != NONE:
        for j in range(b.c.types.count[b.c.e, kind]):
            found += can_serve(b, kind, j, server)
    return found


@fused
def mask_choices(b: Batch, found: int) -> None:
    """With `choices`, the first actions are valid: as many as there are virtual queues that can be served."""
    for n in range(b.mask.shape[1] - 1):
        b.mask[b.c.e, n] = n < found


@apart
def describe_types(b: Batch, kind: int, server: int, room: int, choices: int) -> None:
    """One resource: in ascending order of size the virtual queues follow each other, so ranks say what each would start."""
    c, e, types = b.c, b.c.e, b.c.types.least.shape[2]
    copy_waiting_sizes(b)
    queue, known = c.types.queue[e, kind], c.types.count[e, kind] if server != NONE else 0
    left = servable(b, kind, server) if choices > 0 else 0  # with `choices`: virtual queues not looked at yet
    mask_choices(b, left)
    for n in range(left, b.mask.shape[1] - 1 if choices > 0 else 0):
        describe_nothing(b, n)
    smaller, fitting = 0, count_up_to(b, room)  # waiting tasks of the types so far; that fit (none without a server)
    for n in range(types):
        j = types - 1 - n
        rank = min(smaller + queue[natural(j)].count, fitting) if j < known else 0
        action = j
        if choices > 0:
            left -= rank > smaller
            action = left
        else:
            b.mask[e, j] = rank > smaller
        if rank > smaller:
            if choices == 0 or action < choices:
                describe_start(b, action, kind, j, server, b.waiting_sizes[e, natural(rank - 1)], rank)
            smaller += queue[natural(j)].count
        elif choices == 0:
            describe_nothing(b, j)


@apart
def describe_groups(b: Batch, kind: int, server: int, choices: int) -> None:
    """Several resources: look at all groups of tasks with equal demands for every type."""
    survey(b, kind)
    mask_types(b, kind, server, choices)
    actions = b.mask.shape[1] - 1
    for n in range(actions):
        if b.mask[b.c.e, n]:
            j = n if choices == 0 else served_by(b, server, n)
            describe_start(b, n, kind, j, server, size_of(b.c, largest_of_groups(b, kind, j, server)), 0)
        else:
            describe_nothing(b, n)
