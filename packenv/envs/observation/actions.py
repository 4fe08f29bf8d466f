"""The observation "actions": a row of features for every action, and a few numbers about the whole cluster.

All are of order 1 whatever the workload: sizes are shares of the largest server, ages are in mean services, counts are
taken as log(1 + n) / 5. A network that scores every action by the same weights then knows nothing of the number of
servers or of types. Features 14 to 18 count per root of the servers, n · √(5 / L): a queue of L servers wavers by √L tasks,
so what they say means the same on 5 servers and on 1,000. An action that is not valid has a row of zeros.

| feature | an action that starts a task | Configuration: an action that takes configuration k |
|---|---|---|
| 0 | 1: valid | 1: valid |
| 1 | 1 for wait or pass, of which only 0, 1, 3, 11, 12 and 18 are told | 1 if k has a type-1 job |
| 2 | size of the task | size that k would start now, at most the capacity |
| 3 | room of the server once it has started | what is left of the capacity |
| 4 | room if the largest that fit then started too, up to FILL of them | – |
| 5 | tasks in its virtual queue | weight of k: ⟨k, Q⟩ |
| 6 | size waiting in its virtual queue | size waiting in the virtual queues of k |
| 7 | age of the head of its virtual queue, log(1 + age) | the oldest head of these |
| 8 | jobs of its type in the server | jobs in k |
| 9 | largest size of its type | largest size of its main type |
| 10 | share of servers with room of its type or a larger one | share of servers with k active |
| 11 | room of the server | capacity of the server |
| 12 | jobs in the server | – |
| 13 | mean age of its jobs, as a share of itself and the mean service | – |
| 14 | its complements: tasks that would fill an empty server with it, but for 1/32 | – |
| 15 | tasks that would fit beside it on an empty server | – |
| 16 | these and those up to its own size, less all that wait; below 0 where larger ones outnumber what fits beside them | – |
| 17 | tasks in its virtual queue | – |
| 18 | tasks waiting | tasks waiting |

Context: 0 tasks waiting; 1 size waiting; 2–4 tasks waiting of sizes above ½, ¼ and below, of the kind of server at hand;
5 free share of the cluster; 6–8 share of servers with room above ½, ¼ and below (full ones are left out).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import jobs_in, kind_of, server_count
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.books import scalar_room
from packenv.envs.core.lineup import lined_up_to
from packenv.envs.core.state import Batch

FEATURES, CONTEXT = 19, 9
FIRST_FEATURES = 14
"""Agents may know only so many of them, the first."""
REST, COMPANY, INVALID = 1, 2, 4
"""What an agent in the compiled loop may leave unread and is then not told: all that a linear network does not look at
(features 5 to 10 and 13, and the context); features 14 to 18; and the rows of actions that are not valid."""
COMMON_SERVERS = 5
"""With so many servers a count per root of them is the count."""
FILL = 3
NEAR = 32
HIGHEST = 32.0
"""No feature is larger: log(1 + n) / 5 of anything is not, and the rest are shares."""
SIGNED = (16,)
"""The features that may be below 0."""

LOG = 0.2


def logarithms(share: float) -> NDArray[np.float32]:
    """(4096,) of as many tasks, each counted as this share of one."""
    return (np.log1p(share * np.arange(4096)) * LOG).astype(np.float32)


LOGARITHMS = logarithms(1.0)


@fused
def logarithm(x: float) -> float:
    return math.log1p(x) * LOG


@fused
def logarithm_of(count: int) -> float:
    return LOGARITHMS[natural(count)] if count < LOGARITHMS.shape[0] else logarithm(count)


@fused
def logarithm_per_root(b: Batch, count: int) -> float:
    table = b.logarithms
    return table[natural(count)] if count < table.shape[0] else logarithm(count * b.scale[2])


@apart
def describe_start(b: Batch, action: int, kind: int, j: int, server: int, size: int, rank: int) -> None:
    """An action that starts a task of this size and of virtual queue j on a server. Needs `line_up`.

    `rank`: how many wait of this size at most, itself one of them; with several resources nothing is made of it.
    """
    c, e = b.c, b.c.e
    out = b.actions[e, action]
    queue = c.types.queue[e, kind, j]
    share = 1.0 / b.scale[0]
    room = scalar_room(b, server)
    out[0], out[1] = 1.0, 0.0
    out[2] = size * share
    out[3] = (room - size) * share
    out[4] = room_after_filling(b, rank, room - size) * share
    if not b.unread & REST:
        out[5] = logarithm_of(queue.count)
        out[6] = logarithm(queue.size * share)
        out[7] = logarithm((now(c) - queue.since) / b.scale[1])
        out[8] = logarithm_of(c.types.in_service[e, server, j])
        out[9] = c.types.bound[e, kind, j - 1 if j > 0 else c.types.count[e, kind] - 1] * share
        roomy = 0
        for k in range(j + 1):
            roomy += b.rooms[e, k]
        out[10] = roomy / float(server_count(c))
    describe_server(b, action, server)
    if not b.unread & COMPANY:
        describe_company(b, action, server, size, rank)
        out[17] = logarithm_per_root(b, queue.count)
        out[18] = logarithm_per_root(b, waiting(c))


@fused
def describe_nothing(b: Batch, action: int) -> None:
    """An action that is not valid."""
    if not b.unread & INVALID:
        clear(b.actions[b.c.e, action])


@fused
def clear(out: NDArray[np.float32]) -> None:
    for k in range(FEATURES):
        out[k] = 0.0


@apart
def describe_company(b: Batch, action: int, server: int, size: int, rank: int) -> None:
    """What waits that could share an empty server with a task of this size. One resource only."""
    c, out = b.c, b.actions[b.c.e, action]
    if c.vectors:
        for k in range(14, 17):
            out[k] = 0.0
        return
    capacity = c.server[c.e, server].capacity
    fitting = lined_up_to(b.lineup, c.e, capacity - size)
    out[14] = logarithm_per_root(b, fitting - lined_up_to(b.lineup, c.e, capacity - size - capacity // NEAR))
    out[15] = logarithm_per_root(b, fitting)
    excess = fitting + rank - waiting(c)
    out[16] = logarithm_per_root(b, excess) if excess >= 0 else -logarithm_per_root(b, -excess)


@apart
def describe_wait(b: Batch, action: int, server: int) -> None:
    """Wait, or passing a server."""
    out = b.actions[b.c.e, action]
    clear(out)
    if b.mask[b.c.e, action]:
        out[0] = out[1] = 1.0
        out[18] = logarithm_per_root(b, waiting(b.c))
        if server != NONE:
            out[3] = scalar_room(b, server) / b.scale[0]
            describe_server(b, action, server)


@fused
def describe_server(b: Batch, action: int, server: int) -> None:
    out, e = b.actions[b.c.e, action], b.c.e
    jobs = jobs_in(b.c, server)
    out[11] = scalar_room(b, server) / b.scale[0]
    out[12] = logarithm_of(jobs)
    if b.unread & REST:
        return
    age = now(b.c) - b.ages[e, server, 0] / jobs if jobs > 0 else 0.0
    out[13] = age / (age + b.scale[1])


@fused
def room_after_filling(b: Batch, rank: int, room: int) -> int:
    """What is left of `room` after the FILL largest tasks that fit in turn, without the one of this rank. One resource only."""
    if b.c.vectors:
        return room
    own, below, sizes = rank - 1, waiting(b.c), b.lineup.size[b.c.e]
    for _ in range(FILL):
        largest = min(lined_up_to(b.lineup, b.c.e, room), below) - 1
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
def describe_cluster(b: Batch, kind: int) -> None:
    """The context: what waits, and what room there is."""
    c, e = b.c, b.c.e
    out, head = b.context[e], c.head[e]
    servers = float(server_count(c))
    if b.unread & REST:
        return
    out[0] = logarithm_of(head.waiting)
    out[1] = logarithm(head.waiting_size / b.scale[0])
    first = 0
    for k in range(3):
        waiting_tasks, roomy = 0, 0
        end = b.rooms.shape[1] - 1 if k == 2 else first_type_below(c, kind, first, 2 << k)
        for j in range(first, end):
            waiting_tasks += c.types.queue[e, kind, j].count
            roomy += b.rooms[e, j]
        first = end
        out[2 + k] = logarithm_of(waiting_tasks)
        out[6 + k] = roomy / servers
    free, resources = 0.0, b.total.shape[0]
    for r in range(resources):
        if b.total[r] > 0:
            free += 1.0 - c.used[e, r] / float(b.total[r])
    out[5] = free / resources


@apart
def describe_configuration(b: Batch, n: int, kind: int, server: int) -> None:
    """Taking configuration n on a server of this kind, which is empty."""
    c, e = b.c, b.c.e
    out = b.actions[e, n]
    clear(out)
    if not b.mask[e, n] or server == NONE:
        return
    share, capacity = 1.0 / b.scale[0], float(c.server[e, server].capacity)
    weight, jobs, starts, size, age, main = 0.0, 0, 0.0, 0.0, 0, NONE
    for j in range(b.table.shape[2]):
        many = b.table[kind, n, j]
        if many > 0:
            queue = c.types.queue[e, kind, j]
            jobs += many
            weight += many * queue.count
            size += queue.size
            if main == NONE or j != 1:
                main = j
            if queue.count > 0:
                starts += min(many, queue.count) * (queue.size / float(queue.count))
                age = max(age, now(c) - queue.since)
    starts = min(starts, capacity)
    active = 0
    for s in range(server_count(c)):
        active += b.active[e, s] == n and kind_of(c, s) == kind and jobs_in(c, s) > 0
    out[0], out[1] = 1.0, 1.0 if b.table[kind, n, 1] > 0 else 0.0
    out[2] = starts * share
    out[3] = (capacity - starts) * share
    out[5] = logarithm(weight)
    out[6] = logarithm(size * share)
    out[7] = logarithm(age / b.scale[1])
    out[8] = logarithm_of(jobs)
    out[9] = c.types.bound[e, kind, main - 1 if main > 0 else c.types.count[e, kind] - 1] * share
    out[10] = active / float(server_count(c))
    out[11] = capacity * share
    out[18] = logarithm_per_root(b, waiting(c))
