"""How VQS and VQS-BF start the tasks of a server's active configuration (PAPERS §1.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.best_fit import foresee_smaller
from packenv.cluster.in_service import place
from packenv.cluster.queue.by_type import head_of_line, jobs_of_type
from packenv.cluster.queue.waiting import largest_of_type_fitting, size_of
from packenv.cluster.servers import kind_of, room_of
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import compiled

AS_MANY_AS_FIT = 1 << 30


@compiled
def serve_reserved(c: Cluster, server: int, reserved: NDArray[np.int64]) -> int:
    """VQS: start the head of VQ_1 in the two thirds of the server kept for it, unless a type-1 job is there.

    `reserved` (L,): units that each server's type-1 job takes. Returns the free room of the other third.
    """
    if jobs_of_type(c, server, 1) == 0:
        reserved[server] = 0
        i = head_of_line(c, kind_of(c, server), 1)
        if i != NONE and size_of(c, i) <= room_of(c, server):
            reserved[server] = size_of(c, i)
            place(c, i, server)
    record = c.server[c.e, server]
    third = record.capacity - (2 * record.capacity + 2) // 3
    others = record.capacity - record.room - reserved[server]
    return min(third - others, record.room)


@compiled
def serve_in_line(c: Cluster, server: int, j: int, room: int, count: int) -> int:
    """VQS: start heads of line of VQ_j while they fit in `room` and the server has fewer than `count`; returns the room left.

    A task takes its size, or 2^-J of the server if it is smaller (§1.3).
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
    """VQS-BF: start the largest tasks of VQ_j that fit, until `count` jobs of that type are on the server."""
    while jobs_of_type(c, server, j) < count:
        i = largest_of_type_fitting(c, kind_of(c, server), j, room_of(c, server))
        if i == NONE:
            break
        foresee_smaller(c)
        place(c, i, server)
