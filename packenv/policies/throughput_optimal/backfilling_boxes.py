"""Backfilling for several resources: best fit from the groups of waiting tasks with equal demands.

The task of the highest score, among those that leave the room on which a waiting entitled task has a claim.
"""

from __future__ import annotations

from packenv.cluster import (
    NONE,
    Cluster,
    demand_of,
    first_of_group,
    group_count,
    hold_box,
    kind_of,
    place,
    server_count,
    type_of_task,
)
from packenv.cluster.best_fit import precedes, score
from packenv.compiled.decorators import compiled
from packenv.policies.throughput_optimal.entitled import Entitled, next_beyond, smallest_missing, within


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
