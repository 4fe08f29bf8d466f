"""The tasks that VQS and VQS-BF start next on a server with an active configuration (PAPERS §1.5)."""

from __future__ import annotations

from packenv.cluster.queue.by_type import head_of_line, jobs_of_type
from packenv.cluster.queue.waiting import largest_of_type_fitting, size_of
from packenv.cluster.servers import kind_of, room_of
from packenv.cluster.state import NONE, Cluster
from packenv.compiled.decorators import compiled


@compiled
def unreserved_room(c: Cluster, server: int, reserved: int) -> int:
    """VQS: free room in the third of a server that is not reserved for its type-1 job; that job takes `reserved`."""
    record = c.server[c.e, server]
    third = record.capacity - (2 * record.capacity + 2) // 3
    others = record.capacity - record.room - reserved
    return min(third - others, record.room)


@compiled
def held_by(c: Cluster, server: int, i: int) -> int:
    """Room that task i takes: its size, or 2^-J of the server if it is smaller (§1.3)."""
    return max(size_of(c, i), c.server[c.e, server].least)


@compiled
def next_reserved(c: Cluster, server: int) -> int:
    """VQS: the head of VQ_1, to start in the reserved two thirds; NONE if there is none, if the server has one or no room."""
    if jobs_of_type(c, server, 1) > 0:
        return NONE
    i = head_of_line(c, kind_of(c, server), 1)
    return i if i != NONE and size_of(c, i) <= room_of(c, server) else NONE


@compiled
def next_unreserved(c: Cluster, server: int, j: int, room: int) -> int:
    """VQS: the head of VQ_j if it fits in `room`, else NONE."""
    i = head_of_line(c, kind_of(c, server), j)
    return i if i != NONE and held_by(c, server, i) <= room else NONE


@compiled
def next_of_configuration(c: Cluster, server: int, j: int, count: int) -> int:
    """VQS-BF: the largest of VQ_j that fits, while fewer than `count` of that type are in service on the server; else NONE."""
    if jobs_of_type(c, server, j) >= count:
        return NONE
    return largest_of_type_fitting(c, kind_of(c, server), j, room_of(c, server))
