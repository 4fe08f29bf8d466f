"""Backfilling by scalar size: best fit from the whole queue, in the room on which no waiting entitled task has a claim."""

from __future__ import annotations

from packenv.cluster import NONE, Cluster, largest_fitting, place, room_of, size_of, waiting
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.entitled import Entitled, next_beyond, smallest_missing, start


@compiled
def fill_idle(cluster: Cluster, own: Entitled, server: int, few: int) -> None:
    """Backfill: best fit from the whole queue, in the room on which no waiting entitled task has a claim."""
    limit = spare_room(cluster, own, server, few)
    while waiting(cluster) > 0:
        task = largest_fitting(cluster, limit)
        if task == NONE:
            break
        j = active_type(own, server, size_of(cluster, task))
        if j == NONE:
            place(cluster, task, server)
        elif own.size[j, 0] <= limit:
            start(cluster, own, task, server, j)
        else:  # the tasks of this type do not fit
            limit = own.least[j, 0] - 1
            continue
        limit = spare_room(cluster, own, server, few)


@compiled
def active_type(own: Entitled, server: int, size: int) -> int:
    """The type of a size, if it is in the active configuration."""
    for n in range(own.types[server]):
        j = own.type[server, n]
        if own.least[j, 0] <= size <= own.size[j, 0]:
            return j
    return NONE


@compiled
def spare_room(cluster: Cluster, own: Entitled, server: int, few: int) -> int:
    """The largest size that may be backfilled, in units; none if negative.

    All that fits, if no entitled task waits for room. Else what leaves in service a task beyond the configuration whose
    departure alone makes room for the smallest entitled task: that one then starts after one service on average, at most.
    """
    room, missing = room_of(cluster, server), smallest_missing(cluster, own, server, few)
    if missing == NONE:
        return room
    beyond = next_beyond(cluster, own, server, 0)
    return min(room, room + (own.least[beyond, 0] if beyond != NONE else 0) - own.size[missing, 0])
