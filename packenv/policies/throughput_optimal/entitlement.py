"""Entitled tasks: how many of each type may start (PAPERS §6).

A change of the active configuration preempts nothing: tasks beyond the new one finish. A task of type j starts if fewer than the
configuration's k_j tasks of that type are in service and the size of the type fits. It occupies that size. The longest queue goes
first, so that no short queue takes the room of a long one. Backfilled tasks count for their type. They occupy the type's size if
it is in the configuration, so that another one of that type fits in their place, else their own. With `few`, types with at most
this many waiting tasks are left to backfilling: queues of that length do not matter for stability.

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
    lacks,
    next_beyond,
    smallest_entitled,
    start,
    within,
)


@compiled
def fill_idle(cluster: Cluster, entitled: Entitled, server: int, few: int) -> None:
    """Backfill by best fit in room that no waiting entitled task claims."""
    limit = spare_room(cluster, entitled, server, few)
    while waiting(cluster) > 0:
        task = largest_fitting(cluster, limit)
        if task == NONE:
            break
        j = active_type(entitled, server, size_of(cluster, task))
        if j == NONE:
            place(cluster, task, server)
        elif entitled.size[j, 0] <= limit:
            start(cluster, entitled, task, server, j)
        else:  # the tasks of this type do not fit
            limit = entitled.least[j, 0] - 1
            continue
        limit = spare_room(cluster, entitled, server, few)


@compiled
def active_type(entitled: Entitled, server: int, size: int) -> int:
    """Return the type of a size, if it is in the active configuration."""
    for n in range(entitled.types[server]):
        j = entitled.type[server, n]
        if entitled.least[j, 0] <= size <= entitled.size[j, 0]:
            return j
    return NONE


@compiled
def spare_room(cluster: Cluster, entitled: Entitled, server: int, few: int) -> int:
    """Return the largest size that may be backfilled; none if negative.

    It is in units. All that fits may be, if no entitled task waits for room. Otherwise a task beyond the configuration must stay
    in service whose departure alone makes room for the smallest entitled task. That task then starts after one service on
    average, at most.
    """
    room, missing = room_of(cluster, server), smallest_entitled(cluster, entitled, server, few)
    if missing == NONE:
        return room
    beyond = next_beyond(cluster, entitled, server, 0)
    return min(room, room + (entitled.least[beyond, 0] if beyond != NONE else 0) - entitled.size[missing, 0])


@compiled
def least_waiting(cluster: Cluster, entitled: Entitled) -> None:
    """Note the least waiting demand of each resource, which few servers hold."""
    entitled.lowest[:] = 1 << 62
    for n in range(group_count(cluster)):
        task = first_of_group(cluster, n)
        for r in range(entitled.lowest.shape[0]):
            entitled.lowest[r] = min(entitled.lowest[r], demand_of(cluster, task, r))


@compiled
def fill_idle_boxes(cluster: Cluster, entitled: Entitled, server: int, few: int) -> None:
    """Start best tasks. A type of the active configuration takes its box."""
    while leaves_claims(cluster, entitled, server, few):
        task = best_within_limit(cluster, entitled, server)
        if task == NONE:
            break
        place(cluster, task, server)
        if is_active(entitled, server, type_of_task(cluster, kind_of(cluster, server), task)):
            hold_box(cluster, task)


@compiled
def leaves_claims(cluster: Cluster, entitled: Entitled, server: int, few: int) -> bool:
    """Note the limit of backfilling; return False if nothing may start.

    All that fits may start, if no entitled task waits for room. Otherwise a task beyond the configuration must stay in service,
    the largest whose departure alone makes room for the smallest entitled task.
    """
    room = cluster.free[cluster.e, server]
    for r in range(room.shape[0]):
        entitled.limit[r] = room[r]
    # With no entitled task missing, the limit is the free room.
    missing = smallest_entitled(cluster, entitled, server, few)
    if missing == NONE:
        return True
    # Tasks beyond the configuration, largest first: the limit is what their departure leaves beside the missing one.
    beyond = next_beyond(cluster, entitled, server, 0)
    while beyond != NONE:
        possible = True
        for r in range(room.shape[0]):
            left = room[r] + entitled.least[beyond, r] - entitled.size[missing, r]
            entitled.limit[r] = min(room[r], left)
            possible &= left >= 0
        if possible:
            return True
        beyond = next_beyond(cluster, entitled, server, beyond + 1)
    return False


@compiled
def best_within_limit(cluster: Cluster, entitled: Entitled, server: int) -> int:
    """Return the best waiting task within the limit; ties as in best fit."""
    best, most = NONE, -1.0
    for n in range(group_count(cluster)):
        task = first_of_group(cluster, n)
        if is_within_limit(cluster, entitled, server, task):
            value = score(cluster, task, server)
            if value > most or (value == most and precedes(cluster, task, best)):
                best, most = task, value
    return best


@compiled
def is_within_limit(cluster: Cluster, entitled: Entitled, server: int, task: int) -> bool:
    """Return whether the task, or its box if configured, is within the limit."""
    if not within(cluster.demand[cluster.e, task], entitled.limit):
        return False
    j = type_of_task(cluster, kind_of(cluster, server), task)
    return not is_active(entitled, server, j) or within(entitled.size[j], entitled.limit)


@compiled
def is_active(entitled: Entitled, server: int, j: int) -> bool:
    """Whether type j is in the active configuration."""
    for n in range(entitled.types[server]):
        if entitled.type[server, n] == j:
            return True
    return False


MOST = 1 << 62  # units: more than any demand


@compiled
def fill_all(cluster: Cluster, entitled: Entitled, few: int, backfill: bool, before: int) -> None:
    """Backfill every server in index order, after entitled tasks.

    `before`: waiting tasks before the entitled ones started. A start may end a claim on the room of an earlier server, so the
    next slot is looked at too.
    """
    if backfill and cluster.vectors:
        least_waiting(cluster, entitled)
        for server in range(server_count(cluster)):
            if within(entitled.lowest, cluster.free[cluster.e, server]):
                fill_idle_boxes(cluster, entitled, server, few)
    elif backfill:
        server = next_with_room(cluster, 0)
        while server != NONE:
            fill_idle(cluster, entitled, server, few)
            server = next_with_room(cluster, server + 1)
    if 0 < waiting(cluster) < before:
        wake_at(cluster, now(cluster) + 1)


@compiled
def serve_entitled(cluster: Cluster, entitled: Entitled, server: int, few: int) -> None:
    """Start missing heads of line of the configuration, longest queue first."""
    kind = kind_of(cluster, server)
    while True:
        most, first = 0, NONE
        for n in range(entitled.types[server]):
            j = entitled.type[server, n]
            length = queue_length(cluster, kind, j)
            if length > most and has_room(cluster, entitled, server, j) and lacks(cluster, entitled, server, kind, n, few):
                most, first = length, j
        if first == NONE:
            break
        start(cluster, entitled, head_of_line(cluster, kind, first), server, first)


@compiled
def note_least_types(cluster: Cluster, entitled: Entitled) -> None:
    """Note the least that waiting boxes occupy, for `next_roomy` in this slot."""
    if cluster.vectors:
        entitled.lowest[:] = MOST
        for j in range(entitled.size.shape[0]):
            for kind in range(cluster.types.fits.shape[0]):
                if queue_length(cluster, kind, j) > 0:
                    for r in range(entitled.lowest.shape[0]):
                        entitled.lowest[r] = min(entitled.lowest[r], entitled.size[j, r])


@compiled
def next_roomy(cluster: Cluster, entitled: Entitled, start: int) -> int:
    """Return the next server from `start` for the smallest task or box, or NONE."""
    if not cluster.vectors:
        return next_with_room(cluster, start)
    for server in range(start, server_count(cluster)):
        if within(entitled.lowest, cluster.free[cluster.e, server]):
            for j in range(entitled.size.shape[0]):
                if queue_length(cluster, kind_of(cluster, server), j) > 0 and has_room(cluster, entitled, server, j):
                    return server
    return NONE
