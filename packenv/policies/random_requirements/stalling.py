"""Stalling (PAPERS §1.5), an option of every policy: a server that packs badly takes nothing until it is empty.

Tested once per slot, after scheduling, while tasks wait. It keeps the guarantees under general service times.
"""

from __future__ import annotations

from packenv.cluster import (
    BY_DEMAND,
    Cluster,
    close,
    fits,
    is_closed,
    jobs_in,
    largest_waiting,
    room_of,
    server_count,
    size_of,
    waiting,
)
from packenv.compiled.decorators import apart, inner


@apart
def stall_half_empty(cluster: Cluster) -> None:
    """Best fit and FIFO: stall a server that is less than half full when the largest waiting task does not fit."""
    if waiting(cluster) == 0:
        return
    largest = largest_waiting(cluster)
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) > 0 and not is_closed(cluster, server) and half_empty(cluster, server):
            if cluster.orders & BY_DEMAND:
                stuck = not fits(cluster, largest, server)
            else:
                stuck = size_of(cluster, largest) > room_of(cluster, server)
            if stuck:
                close(cluster, server)


@inner
def half_empty(c: Cluster, server: int) -> bool:
    """Less than half full: in scalar size, or in every resource where the policy packs vectors."""
    if c.orders & BY_DEMAND:
        for r in range(c.capacity.shape[1]):
            capacity = c.capacity[server, r]
            if capacity > 0 and 2 * (capacity - c.free[c.e, server, r]) >= capacity:
                return False
        return True
    record = c.server[c.e, server]
    return 2 * (record.capacity - record.room) < record.capacity
