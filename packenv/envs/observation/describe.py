"""Observation "actions" and its masks (packenv.envs.core.features).

Actions that start tasks on one server begin at `first`: one for each virtual queue, or with `choices` > 0 for that number of
servable queues.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import now, size_of, waiting
from packenv.cluster.servers import jobs_in, scalar_room, server_count
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.between_decisions import count_up_to
from packenv.envs.core.features import (
    COMPANIONS,
    COMPLEMENTS,
    EXCESS,
    FEATURES,
    FILL,
    FREE,
    HEAD_AGE,
    JOB_AGE,
    JOBS,
    LARGE_ROOM,
    LARGE_WAITING,
    LARGEST_OF_TYPE,
    NEAR,
    NO_COMPANY,
    NO_INVALID,
    NO_TYPES,
    QUEUE_COUNT,
    QUEUE_PER_ROOT,
    QUEUE_SIZE,
    ROOM,
    ROOM_FILLED,
    ROOM_LEFT,
    ROOMY_SERVERS,
    SAME_TYPE,
    SIZE,
    VALID,
    WAITING,
    WAITING_SIZE,
    WAITING_TASKS,
    WAITS,
    logarithm,
    logarithm_of,
)
from packenv.envs.core.servable import can_serve, largest_of_groups, servable, served_by, survey
from packenv.envs.core.state import Batch


@fused
def logarithm_per_root(b: Batch, count: int) -> float:
    """log(1 + count · √(5 / L)) / 5."""
    table = b.logarithms
    return table[natural(count)] if count < table.shape[0] else logarithm(count * b.scale[2])


@apart
def describe_start(b: Batch, action: int, kind: int, j: int, server: int, size: int, rank: int) -> None:
    """Describe starting a task on a server.

    `rank` is the number of waiting tasks of at most its size, itself included. It is not read with several resources. Needs
    `copy_waiting_sizes`.
    """
    c, e = b.c, b.c.e
    out = b.actions[e, action]
    queue = c.types.queue[e, kind, j]
    share = 1.0 / b.scale[0]
    room = scalar_room(b.c, server)
    out[VALID], out[WAITS] = 1.0, 0.0
    out[SIZE] = size * share
    # what is left beside the task, and once waiting tasks have filled that
    left = max(room - size, 0)  # several resources: the scarcest need not be the one that the task demands most of
    out[ROOM_LEFT] = left * share
    out[ROOM_FILLED] = room_after_filling(b, rank, left) * share
    # its virtual queue
    if not b.unread & NO_TYPES:
        out[QUEUE_COUNT] = logarithm_of(queue.count)
        out[QUEUE_SIZE] = logarithm(queue.size * share)
        out[HEAD_AGE] = logarithm((now(c) - queue.since) / b.scale[1])
        out[SAME_TYPE] = logarithm_of(c.types.in_service[e, server, j])
        out[LARGEST_OF_TYPE] = c.types.bound[e, kind, j - 1 if j > 0 else c.types.count[e, kind] - 1] * share
        roomy = 0
        for k in range(j + 1):
            roomy += b.rooms[e, k]
        out[ROOMY_SERVERS] = roomy / float(server_count(c))
    # the server, and the tasks that wait beside it
    describe_server(b, action, server)
    if not b.unread & NO_COMPANY:
        describe_company(b, action, server, size, rank)
        out[QUEUE_PER_ROOT] = logarithm_per_root(b, queue.count)
        out[WAITING] = logarithm_per_root(b, waiting(c))


@fused
def describe_nothing(b: Batch, action: int) -> None:
    if not b.unread & NO_INVALID:
        clear(b.actions[b.c.e, action])


@fused
def clear(out: NDArray[np.float32]) -> None:
    for k in range(FEATURES):
        out[k] = 0.0


@apart
def describe_company(b: Batch, action: int, server: int, size: int, rank: int) -> None:
    """Describe tasks that fit alongside (several resources: zeros)."""
    c, out = b.c, b.actions[b.c.e, action]
    if c.vectors:
        out[COMPLEMENTS] = out[COMPANIONS] = out[EXCESS] = 0.0
        return
    capacity = c.server[c.e, server].capacity
    fitting = count_up_to(b, capacity - size)
    out[COMPLEMENTS] = logarithm_per_root(b, fitting - count_up_to(b, capacity - size - capacity // NEAR))
    out[COMPANIONS] = logarithm_per_root(b, fitting)
    excess = fitting + rank - waiting(c)
    out[EXCESS] = logarithm_per_root(b, excess) if excess >= 0 else -logarithm_per_root(b, -excess)


@apart
def describe_wait(b: Batch, action: int, server: int) -> None:
    """Describe waiting (`server` NONE) or passing a server."""
    out = b.actions[b.c.e, action]
    clear(out)
    if b.mask[b.c.e, action]:
        out[VALID] = out[WAITS] = 1.0
        out[WAITING] = logarithm_per_root(b, waiting(b.c))
        if server != NONE:
            out[ROOM_LEFT] = scalar_room(b.c, server) / b.scale[0]
            describe_server(b, action, server)


@fused
def describe_server(b: Batch, action: int, server: int) -> None:
    """Write the features that depend on the server alone."""
    out, e = b.actions[b.c.e, action], b.c.e
    jobs = jobs_in(b.c, server)
    out[ROOM] = scalar_room(b.c, server) / b.scale[0]
    out[JOBS] = logarithm_of(jobs)
    if b.unread & NO_TYPES:
        return
    age = now(b.c) - b.ages[e, server, 0] / jobs if jobs > 0 else 0.0
    out[JOB_AGE] = age / (age + b.scale[1])


@fused
def room_after_filling(b: Batch, rank: int, room: int) -> int:
    """Return the room after up to FILL largest additional tasks."""
    if b.c.vectors:
        return room
    place, below, sizes = rank - 1, waiting(b.c), b.waiting_sizes[b.c.e]
    for _ in range(FILL):
        # the largest smaller task that fits, except the one of this rank
        largest = min(count_up_to(b, room), below) - 1
        if largest == place:
            largest -= 1
        if largest < 0:
            return room
        below = largest
        room -= sizes[natural(largest)]
    return room


@fused
def first_type_below(c: Cluster, kind: int, first: int, part: int) -> int:
    """Return the first type with sizes <= a `part`th of the largest."""
    bound, last = c.types.bound[c.e, kind], c.types.count[c.e, kind] - 1
    j = first
    while j < last and bound[j - 1 if j > 0 else last] * part > bound[last]:
        j += 1
    return j


@apart
def describe_context(b: Batch, kind: int) -> None:
    """Describe waiting tasks, and servers' room by size."""
    c, e = b.c, b.c.e
    out, head = b.context[e], c.head[e]
    servers = float(server_count(c))
    if b.unread & NO_TYPES:
        return
    out[WAITING_TASKS] = logarithm_of(head.waiting)
    out[WAITING_SIZE] = logarithm(head.waiting_size / b.scale[0])
    # sizes above 1/2 of the largest, above 1/4, and the rest: waiting tasks, and the share of servers with such room
    first = 0
    for k in range(3):
        waiting_tasks, roomy = 0, 0
        end = b.rooms.shape[1] - 1 if k == 2 else first_type_below(c, kind, first, 2 << k)
        for j in range(first, end):
            waiting_tasks += c.types.queue[e, kind, j].count
            roomy += b.rooms[e, j]
        first = end
        out[LARGE_WAITING + k] = logarithm_of(waiting_tasks)
        out[LARGE_ROOM + k] = roomy / servers
    # the share of the cluster that is free
    free, resources = 0.0, b.total.shape[0]
    for r in range(resources):
        if b.total[r] > 0:
            free += 1.0 - c.used[e, r] / float(b.total[r])
    out[FREE] = free / resources


@fused
def mask_types(b: Batch, first: int, kind: int, server: int, choices: int) -> None:
    """Allow virtual queues with a fitting task (needs `survey`)."""
    if choices > 0:
        mask_choices(b, first, choices, servable(b, kind, server))
        return
    count = b.c.types.count[b.c.e, kind]
    for j in range(b.c.types.least.shape[2]):
        b.mask[b.c.e, first + j] = server != NONE and j < count and can_serve(b, kind, j, server)


@fused
def mask_choices(b: Batch, first: int, choices: int, count: int) -> None:
    """Allow one choice for each servable virtual queue."""
    for n in range(choices):
        b.mask[b.c.e, first + n] = n < count


@apart
def describe_types(b: Batch, first: int, kind: int, server: int, room: int, choices: int) -> None:
    """Describe each queue's task by its rank, for one resource."""
    c, e, types = b.c, b.c.e, b.c.types.least.shape[2]
    queue, count = c.types.queue[e, kind], c.types.count[e, kind] if server != NONE else 0
    # with `choices` only the first virtual queues that can be served are actions
    left = servable(b, kind, server) if choices > 0 else 0  # with `choices`: virtual queues not looked at yet
    mask_choices(b, first, choices, left)
    for n in range(left, choices):
        describe_nothing(b, first + n)
    # types by increasing size: the largest task that fits is the last of its virtual queue, or of those that fit
    smaller, fitting = 0, count_up_to(b, room)  # waiting tasks of the types so far; that fit (none without a server)
    for n in range(types):
        j = types - 1 - n
        rank = min(smaller + queue[natural(j)].count, fitting) if j < count else 0
        action = j
        if choices > 0:
            left -= rank > smaller
            action = left
        else:
            b.mask[e, first + j] = rank > smaller
        if rank > smaller:
            if choices == 0 or action < choices:
                describe_start(b, first + action, kind, j, server, b.waiting_sizes[e, natural(rank - 1)], rank)
            smaller += queue[natural(j)].count
        elif choices == 0:
            describe_nothing(b, first + j)


@apart
def describe_groups(b: Batch, first: int, kind: int, server: int, choices: int) -> None:
    """Describe each type's task by groups, for several resources."""
    survey(b, kind)
    mask_types(b, first, kind, server, choices)
    for n in range(choices if choices > 0 else b.c.types.least.shape[2]):
        if b.mask[b.c.e, first + n]:
            j = n if choices == 0 else served_by(b, server, n)
            describe_start(b, first + n, kind, j, server, size_of(b.c, largest_of_groups(b, kind, j, server)), 0)
        else:
            describe_nothing(b, first + n)
