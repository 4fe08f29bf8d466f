"""Entitled tasks: how many of each type a server's active configuration lets start, and how they start (PAPERS §6).

A change of the active configuration preempts nothing: tasks beyond the new one finish. A task of type j starts where fewer
than the configuration's k_j tasks of that type are in service and there is room for the size of the type, which it occupies;
the longest queue first, so that no short queue takes what a task of a long one leaves. Backfilled tasks count for their type;
they occupy the type's size if it is in the configuration, so that another one of that type fits in their place, else their own.
With `few`, a type of which at most so many tasks wait is left to backfilling: queues of that length do not matter for stability.

For one resource a type is an interval of sizes, for several a box of demand vectors.
"""

from __future__ import annotations

from packenv.cluster import (
    NONE,
    Cluster,
    head_of_line,
    kind_of,
    next_with_room,
    now,
    queue_length,
    server_count,
    waiting,
    wake_at,
)
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.backfilling import fill_idle
from packenv.policies.throughput_optimal.backfilling_boxes import fill_all_boxes
from packenv.policies.throughput_optimal.entitled import Entitled, has_room, is_missing, start, within

MOST = 1 << 62  # units: more than any demand


@compiled
def fill_all(cluster: Cluster, own: Entitled, few: int, backfill: bool, before: int) -> None:
    """After the entitled tasks of all servers: backfill every server in index order, if asked to.

    `before`: how many tasks waited before the entitled ones started. What starts may end a claim on the room of a server
    that was served before, so the next slot is looked at too.
    """
    if backfill and cluster.vectors:
        fill_all_boxes(cluster, own, few)
    elif backfill:
        server = next_with_room(cluster, 0)
        while server != NONE:
            fill_idle(cluster, own, server, few)
            server = next_with_room(cluster, server + 1)
    if 0 < waiting(cluster) < before:
        wake_at(cluster, now(cluster) + 1)


@compiled
def serve_entitled(cluster: Cluster, own: Entitled, server: int, few: int) -> None:
    """Start the missing tasks of the active configuration that have room, of the longest queue first, each the head of line."""
    kind = kind_of(cluster, server)
    while True:
        longest, first = 0, NONE
        for n in range(own.types[server]):
            j = own.type[server, n]
            length = queue_length(cluster, kind, j)
            if length > longest and has_room(cluster, own, server, j) and is_missing(cluster, own, server, kind, n, few):
                longest, first = length, j
        if first == NONE:
            break
        start(cluster, own, head_of_line(cluster, kind, first), server, first)


@compiled
def note_least_types(cluster: Cluster, own: Entitled) -> None:
    """Boxes: note the least that the types of waiting tasks occupy of each resource, for `next_roomy` in this slot."""
    if cluster.vectors:
        own.lowest[:] = MOST
        for j in range(own.size.shape[0]):
            for kind in range(cluster.types.fits.shape[0]):
                if queue_length(cluster, kind, j) > 0:
                    for r in range(own.lowest.shape[0]):
                        own.lowest[r] = min(own.lowest[r], own.size[j, r])


@compiled
def next_roomy(cluster: Cluster, own: Entitled, start: int) -> int:
    """The first server from index `start` on with room for the smallest waiting task, or for the box of one; NONE without any."""
    if not cluster.vectors:
        return next_with_room(cluster, start)
    for server in range(start, server_count(cluster)):
        if within(own.lowest, cluster.free[cluster.e, server]):
            for j in range(own.size.shape[0]):
                if queue_length(cluster, kind_of(cluster, server), j) > 0 and has_room(cluster, own, server, j):
                    return server
    return NONE
