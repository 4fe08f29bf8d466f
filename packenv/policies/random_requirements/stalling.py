"""Stalling: a badly packed server starts nothing until it is empty (PAPERS §1.5).

It is an option of the policies of this folder. Servers are checked once per slot, after scheduling, if tasks wait. With stalling
the guarantees hold for general service times.
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
from packenv.compiled.decorators import apart, compiled


@apart
def stall_half_empty(cluster: Cluster) -> None:
    """Stall half-empty servers that cannot hold the largest waiting task.

    For best fit and FIFO.
    """
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


@compiled
def half_empty(c: Cluster, server: int) -> bool:
    """Return whether a server is less than half full.

    In scalar size, or in every resource if the policy packs demand vectors.
    """
    if c.orders & BY_DEMAND:
        for r in range(c.capacity.shape[1]):
            capacity = c.capacity[server, r]
            if capacity > 0 and 2 * (capacity - c.free[c.e, server, r]) >= capacity:
                return False
        return True
    record = c.server[c.e, server]
    return 2 * (record.capacity - record.room) < record.capacity
