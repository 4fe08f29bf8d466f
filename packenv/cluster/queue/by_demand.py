"""Groups of waiting tasks by demand vector and device needs."""

from __future__ import annotations

from packenv.cluster.devices import has_devices, same_devices
from packenv.cluster.records import insert_behind, unlink
from packenv.cluster.state import NONE, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.policy import BY_DEMAND


@compiled
def demand_of(c: Cluster, i: int, resource: int) -> int:
    """Return task i's demand for a resource, in units."""
    return c.demand[c.e, i, resource] if c.demand.shape[1] > 0 else c.task[c.e, i].size


@compiled
def bucket_of(c: Cluster, i: int) -> int:
    mixed = 0
    for r in range(c.demand.shape[2]):
        mixed = (mixed ^ demand_of(c, i, r)) * 0x9E3779B97F4A7
        mixed ^= (mixed >> 23) & 0xFFFFFFFFFF
    return mixed & (c.groups.bucket.shape[1] - 1)


@compiled
def same_demand(c: Cluster, i: int, other: int) -> bool:
    for r in range(c.demand.shape[2]):
        if demand_of(c, i, r) != demand_of(c, other, r):
            return False
    return not has_devices(c) or same_devices(c, i, other)


@apart
def add_to_group(c: Cluster, i: int) -> None:
    """Insert a task by row into its demand's group."""
    groups = c.groups
    # the group of this demand vector, if there is one already
    bucket = bucket_of(c, i)
    g = groups.bucket[c.e, bucket]
    while g != NONE and not same_demand(c, i, groups.group[c.e, g].head):
        g = groups.group[c.e, g].chain
    # else a new one, at the head of its bucket's chain
    if g == NONE:
        n = groups.count[c.e]
        g = groups.active[c.e, n]  # the unused groups follow the first `count`
        groups.count[c.e] = n + 1
        group = groups.group[c.e, g]
        group.head, group.tail, group.count, group.place = NONE, NONE, 0, n
        group.chain = groups.bucket[c.e, bucket]
        groups.bucket[c.e, bucket] = g
    group = groups.group[c.e, g]
    # behind the last task of a lower row: mostly the last one
    before = group.tail
    while before != NONE and c.task[c.e, before].row > c.task[c.e, i].row:
        before = groups.link[c.e, before].prev
    insert_behind(groups.link[c.e], group, before, i)
    groups.of[c.e, i] = g
    group.count += 1


@apart
def remove_from_group(c: Cluster, i: int) -> None:
    groups = c.groups
    g = groups.of[c.e, i]
    group = groups.group[c.e, g]
    if group.count == 1:
        forget_group(c, g, bucket_of(c, i))
    unlink(groups.link[c.e], group, i)
    group.count -= 1


@compiled
def forget_group(c: Cluster, g: int, bucket: int) -> None:
    """Remove a group from its chain and the used ones."""
    groups = c.groups
    # take it out of its hash chain
    link = groups.bucket[c.e, bucket]
    if link == g:
        groups.bucket[c.e, bucket] = groups.group[c.e, g].chain
    else:
        while groups.group[c.e, link].chain != g:
            link = groups.group[c.e, link].chain
        groups.group[c.e, link].chain = groups.group[c.e, g].chain
    # exchange it with the last group in use
    n = groups.count[c.e] - 1
    place = groups.group[c.e, g].place
    last = groups.active[c.e, n]
    groups.active[c.e, place], groups.active[c.e, n] = last, g
    groups.group[c.e, last].place = place
    groups.count[c.e] = n


@compiled
def group_count(c: Cluster) -> int:
    """Return the number of different demand vectors (needs BY_DEMAND)."""
    require(c, BY_DEMAND)
    return c.groups.count[c.e]


@compiled
def first_of_group(c: Cluster, n: int) -> int:
    """Return the earliest row's task in group n < group_count(c) (needs BY_DEMAND)."""
    require(c, BY_DEMAND)
    return c.groups.group[c.e, c.groups.active[c.e, n]].head
