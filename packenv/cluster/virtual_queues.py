"""Reduced configurations, VQS and VQS-BF, and adaptive J.

The reduced configurations K_RED (PAPERS §1.4, eq. 7) are 4J - 4, each at most one type-1 job and one other type. Adaptive J
(PAPERS §1.3) is decided after the n-th task for n = check, 2·check, 4·check, …, changes in the next slot, and never decreases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.events import wake_at
from packenv.cluster.in_service import place
from packenv.cluster.queue.by_type import head_of_line, jobs_of_type, queue_length, retype, set_levels
from packenv.cluster.queue.waiting import largest_of_type_fitting, size_of
from packenv.cluster.servers import kind_of, room_of
from packenv.cluster.state import NONE, Cluster, require
from packenv.compiled.decorators import compiled
from packenv.policy import BY_TYPE


@compiled
def reduced_configuration(levels: int, n: int) -> tuple[int, int, int]:
    """Return K_RED's n-th configuration (k_1, j, k_j), n < 4J - 4, J = levels."""
    if n < levels:
        return 0, 2 * n, 1 << n
    n -= levels - 1  # m of the next form
    if n < levels:
        return 0, 2 * n + 1, 3 << (n - 1)
    n -= levels - 2
    if n < levels:
        return 1, 2 * n, (1 << n) // 3
    n -= levels - 1
    return 1, 2 * n + 1, 1 << (n - 1)


@compiled
def weight(c: Cluster, kind: int, ones: int, j: int, count: int) -> int:
    """Return ⟨k, Q⟩ for k = (ones, j, count)."""
    return ones * queue_length(c, kind, 1) + count * queue_length(c, kind, j)


@compiled
def require_partition(c: Cluster, kind: int) -> None:
    """Raise ValueError unless types are I's (needs BY_TYPE)."""
    require(c, BY_TYPE)
    bound, last = c.types.bound[c.e, kind], c.types.count[c.e, kind] - 1
    if c.types.box.shape[0] > 0 or last < 3 or bound[0] != 2 * bound[last] // 3 or bound[1] != bound[last] // 2:
        raise ValueError("K_RED is of the partition I: name `levels` in `needs`, not `types`")


@compiled
def heaviest(c: Cluster, kind: int) -> tuple[int, int, int]:
    """Return the first heaviest configuration (k_1, j, k_j) (eq. 8, needs BY_TYPE)."""
    require_partition(c, kind)
    levels = c.types.count[c.e, kind] >> 1
    best, best_weight = 0, -1
    for n in range(4 * levels - 4):
        ones, j, count = reduced_configuration(levels, n)
        value = weight(c, kind, ones, j, count)
        if value > best_weight:
            best, best_weight = n, value
    return reduced_configuration(levels, best)


AS_MANY_AS_FIT = 1 << 30


@compiled
def serve_reserved(c: Cluster, server: int, reserved: NDArray[np.int64]) -> int:
    """Start VQS's type-1 job in two thirds of the server.

    Nothing starts if a type-1 job is there. `reserved` (L,) has the units of each server's type-1 job. Returns the free room of
    the other third.
    """
    if jobs_of_type(c, server, 1) == 0:
        reserved[server] = 0
        i = head_of_line(c, kind_of(c, server), 1)
        if i != NONE and size_of(c, i) <= room_of(c, server):
            reserved[server] = size_of(c, i)
            place(c, i, server)
    record = c.server[c.e, server]
    third = record.capacity - (2 * record.capacity + 2) // 3
    occupied = record.capacity - record.room - reserved[server]
    return min(third - occupied, record.room)


@compiled
def serve_in_line(c: Cluster, server: int, j: int, room: int, count: int) -> int:
    """Start heads of VQ_j in `room`, up to `count` jobs.

    A task takes its size, or 2^-J of the server if it is smaller (§1.3). Returns the room left.
    """
    kind, least = kind_of(c, server), c.server[c.e, server].least
    while jobs_of_type(c, server, j) < count:
        i = head_of_line(c, kind, j)
        if i == NONE or max(size_of(c, i), least) > room:
            break
        room -= max(size_of(c, i), least)
        place(c, i, server)
    return room


@compiled
def serve_largest(c: Cluster, server: int, j: int, count: int) -> None:
    """Start VQ_j's largest fitting tasks, up to `count` jobs."""
    while jobs_of_type(c, server, j) < count:
        i = largest_of_type_fitting(c, kind_of(c, server), j, room_of(c, server))
        if i == NONE:
            break
        place(c, i, server)


MOST_LEVELS = 16
SEEN, CHECK, NOW, NEXT = 0, 1, 2, 3


class Levels(NamedTuple):
    """Current J, next J, and the counts that decide it."""

    number: NDArray[np.int64]  # (4,) tasks seen, next check, current J, J from the next slot on
    below: NDArray[np.int64]  # (MOST_LEVELS + 2,) tasks by the largest J with size <= 2^-J of the largest server


def first_levels(levels: int, check: int) -> Levels:
    return Levels(np.array([0, check, levels, levels]), np.zeros(MOST_LEVELS + 2, np.int64))


@compiled
def adapt(c: Cluster, levels: Levels, occupy: bool) -> None:
    """Apply the decided J (`occupy`: minimum size), and count tasks."""
    if levels.number[NEXT] > levels.number[NOW]:
        levels.number[NOW] = levels.number[NEXT]
        divide(c, levels.number[NOW], occupy)
    capacity = 0
    for server in range(c.server.shape[1]):
        capacity = max(capacity, c.server[c.e, server].capacity)
    for n in range(c.head[c.e].fresh):
        see(levels, capacity, c.task[c.e, c.fresh[c.e, n]].size)
    if levels.number[NEXT] > levels.number[NOW]:
        wake_at(c, c.head[c.e].now + 1)


@compiled
def see(levels: Levels, capacity: int, size: int) -> None:
    """Count a size, and decide J at a check."""
    # the largest J with size <= 2^-J of the largest server
    depth = 0
    while depth < MOST_LEVELS and size << (depth + 1) <= capacity:
        depth += 1
    levels.below[depth] += 1
    levels.number[SEEN] += 1
    if levels.number[SEEN] == levels.number[CHECK]:
        levels.number[CHECK] *= 2
        # the least J with at most 1 % of the sizes up to 2^-J
        smaller = levels.below[MOST_LEVELS]
        j = MOST_LEVELS
        while j > 2 and 100 * (smaller + levels.below[j - 1]) <= levels.number[SEEN]:
            j -= 1
            smaller += levels.below[j]
        levels.number[NEXT] = max(levels.number[NEXT], j)


@compiled
def divide(c: Cluster, levels: int, occupy: bool) -> None:
    """Set each kind's levels, and retype all tasks."""
    most = 0
    for server in range(c.server.shape[1]):
        most = max(most, c.server[c.e, server].capacity)
    for server in range(c.server.shape[1]):
        record = c.server[c.e, server]
        of_kind = levels
        while of_kind > 2 and record.capacity << (levels - of_kind + 1) <= most:
            of_kind -= 1
        if occupy:
            record.least = record.capacity >> of_kind
        if c.types.count[c.e, record.kind] != 2 * of_kind:
            set_levels(c, record.kind, record.capacity, of_kind)
    retype(c)
