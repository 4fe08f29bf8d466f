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
    demand_of,
    first_of_group,
    group_count,
    head_of_line,
    hold_box,
    kind_of,
    largest_fitting,
    next_with_room,
    now,
    place,
    queue_length,
    room_of,
    server_count,
    size_of,
    type_of_task,
    waiting,
    wake_at,
)
from packenv.cluster.best_fit import precedes, score
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.entitled import (
    Entitled,
    has_room,
    is_missing,
    next_beyond,
    smallest_missing,
    start,
    within,
)


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


@compiled
def fill_all_boxes(cluster: Cluster, own: Entitled, few: int) -> None:
    """Backfill every server in index order."""
    least_waiting(cluster, own)
    for server in range(server_count(cluster)):
        if within(own.lowest, cluster.free[cluster.e, server]):
            fill_idle_boxes(cluster, own, server, few)


@compiled
def least_waiting(cluster: Cluster, own: Entitled) -> None:
    """Note the least demand for each resource among the waiting tasks: few servers have that much room while many wait."""
    own.lowest[:] = 1 << 62
    for n in range(group_count(cluster)):
        task = first_of_group(cluster, n)
        for r in range(own.lowest.shape[0]):
            own.lowest[r] = min(own.lowest[r], demand_of(cluster, task, r))


@compiled
def fill_idle_boxes(cluster: Cluster, own: Entitled, server: int, few: int) -> None:
    """Start the best task as long as there is one. A task of a type of the active configuration takes its box."""
    while leaves_claims(cluster, own, server, few):
        task = best_within_limit(cluster, own, server)
        if task == NONE:
            break
        place(cluster, task, server)
        if is_active(own, server, type_of_task(cluster, kind_of(cluster, server), task)):
            hold_box(cluster, task)


@compiled
def leaves_claims(cluster: Cluster, own: Entitled, server: int, few: int) -> bool:
    """Note the limit on what may be backfilled; False if nothing may.

    All that fits, if no entitled task waits for room. Else what leaves in service a task beyond the configuration whose
    departure alone makes room for the smallest entitled task: the largest one of which that is true.
    """
    room = cluster.free[cluster.e, server]
    for r in range(room.shape[0]):
        own.limit[r] = room[r]
    missing = smallest_missing(cluster, own, server, few)
    if missing == NONE:
        return True
    beyond = next_beyond(cluster, own, server, 0)
    while beyond != NONE:
        possible = True
        for r in range(room.shape[0]):
            left = room[r] + own.least[beyond, r] - own.size[missing, r]
            own.limit[r] = min(room[r], left)
            possible &= left >= 0
        if possible:
            return True
        beyond = next_beyond(cluster, own, server, beyond + 1)
    return False


@compiled
def best_within_limit(cluster: Cluster, own: Entitled, server: int) -> int:
    """The waiting task of the highest score of which what it would take is within the limit; ties as in best fit."""
    best, most = NONE, -1.0
    for n in range(group_count(cluster)):
        task = first_of_group(cluster, n)
        if is_within_limit(cluster, own, server, task):
            value = score(cluster, task, server)
            if value > most or (value == most and precedes(cluster, task, best)):
                best, most = task, value
    return best


@compiled
def is_within_limit(cluster: Cluster, own: Entitled, server: int, task: int) -> bool:
    """Whether the task, or its box if its type is in the active configuration, is within the limit."""
    if not within(cluster.demand[cluster.e, task], own.limit):
        return False
    j = type_of_task(cluster, kind_of(cluster, server), task)
    return not is_active(own, server, j) or within(own.size[j], own.limit)


@compiled
def is_active(own: Entitled, server: int, j: int) -> bool:
    """Whether type j is in the active configuration."""
    for n in range(own.types[server]):
        if own.type[server, n] == j:
            return True
    return False


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
