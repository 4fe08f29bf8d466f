"""Write the observation "actions": the features of packenv.envs.observation.features, for row c.e."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import jobs_in, server_count
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.logarithms import logarithm, logarithm_of
from packenv.envs.core.server_summaries import scalar_room
from packenv.envs.core.state import Batch
from packenv.envs.core.waiting_sizes import count_up_to
from packenv.envs.observation.features import (
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
)


@fused
def logarithm_per_root(b: Batch, count: int) -> float:
    """log(1 + count · √(5 / L)) / 5."""
    table = b.logarithms
    return table[natural(count)] if count < table.shape[0] else logarithm(count * b.scale[2])


@apart
def describe_start(b: Batch, action: int, kind: int, j: int, server: int, size: int, rank: int) -> None:
    """An action that starts a task of this size and of virtual queue j on a server. Needs `copy_waiting_sizes`.

    `rank`: how many waiting tasks have at most this size, the task included; not read with several resources.
    """
    c, e = b.c, b.c.e
    out = b.actions[e, action]
    queue = c.types.queue[e, kind, j]
    share = 1.0 / b.scale[0]
    room = scalar_room(b, server)
    out[VALID], out[WAITS] = 1.0, 0.0
    out[SIZE] = size * share
    left = max(room - size, 0)  # several resources: the scarcest need not be the one that the task demands most of
    out[ROOM_LEFT] = left * share
    out[ROOM_FILLED] = room_after_filling(b, rank, left) * share
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
    describe_server(b, action, server)
    if not b.unread & NO_COMPANY:
        describe_company(b, action, server, size, rank)
        out[QUEUE_PER_ROOT] = logarithm_per_root(b, queue.count)
        out[WAITING] = logarithm_per_root(b, waiting(c))


@fused
def describe_nothing(b: Batch, action: int) -> None:
    """An action that is not valid."""
    if not b.unread & NO_INVALID:
        clear(b.actions[b.c.e, action])


@fused
def clear(out: NDArray[np.float32]) -> None:
    """Set all features of a row to 0."""
    for k in range(FEATURES):
        out[k] = 0.0


@apart
def describe_company(b: Batch, action: int, server: int, size: int, rank: int) -> None:
    """The waiting tasks that could share an empty server with a task of this size; zeros with several resources."""
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
    """The action that waits (`server` NONE), or passes a server."""
    out = b.actions[b.c.e, action]
    clear(out)
    if b.mask[b.c.e, action]:
        out[VALID] = out[WAITS] = 1.0
        out[WAITING] = logarithm_per_root(b, waiting(b.c))
        if server != NONE:
            out[ROOM_LEFT] = scalar_room(b, server) / b.scale[0]
            describe_server(b, action, server)


@fused
def describe_server(b: Batch, action: int, server: int) -> None:
    """The features of an action that depend on its server alone."""
    out, e = b.actions[b.c.e, action], b.c.e
    jobs = jobs_in(b.c, server)
    out[ROOM] = scalar_room(b, server) / b.scale[0]
    out[JOBS] = logarithm_of(jobs)
    if b.unread & NO_TYPES:
        return
    age = now(b.c) - b.ages[e, server, 0] / jobs if jobs > 0 else 0.0
    out[JOB_AGE] = age / (age + b.scale[1])


@fused
def room_after_filling(b: Batch, rank: int, room: int) -> int:
    """Room that is left after up to FILL more tasks, each the largest that fits, except the task of this rank."""
    if b.c.vectors:
        return room
    own, below, sizes = rank - 1, waiting(b.c), b.waiting_sizes[b.c.e]
    for _ in range(FILL):
        largest = min(count_up_to(b, room), below) - 1
        if largest == own:
            largest -= 1
        if largest < 0:
            return room
        below = largest
        room -= sizes[natural(largest)]
    return room


@fused
def first_type_below(c: Cluster, kind: int, first: int, part: int) -> int:
    """The first type from `first` on that has only sizes up to a `part`th of the largest."""
    bound, last = c.types.bound[c.e, kind], c.types.count[c.e, kind] - 1
    j = first
    while j < last and bound[j - 1 if j > 0 else last] * part > bound[last]:
        j += 1
    return j


@apart
def describe_context(b: Batch, kind: int) -> None:
    """The context: the waiting tasks, and the room of the servers, by size."""
    c, e = b.c, b.c.e
    out, head = b.context[e], c.head[e]
    servers = float(server_count(c))
    if b.unread & NO_TYPES:
        return
    out[WAITING_TASKS] = logarithm_of(head.waiting)
    out[WAITING_SIZE] = logarithm(head.waiting_size / b.scale[0])
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
    free, resources = 0.0, b.total.shape[0]
    for r in range(resources):
        if b.total[r] > 0:
            free += 1.0 - c.used[e, r] / float(b.total[r])
    out[FREE] = free / resources
