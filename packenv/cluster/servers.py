"""The servers, ordered by room and by index.

Servers of equal capacity are one kind, with its own virtual queues (PAPERS §1.5). Equal means the same scalar capacity or, if
types are boxes of demand vectors, the same capacity of every resource. The room of a server is its free capacity: in scalar
sizes, or a vector if the policy packs vectors. The orders are updated only when they are read. So a server that changes five
times in a slot moves once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import devices_for, has_devices
from packenv.cluster.locality import can_read
from packenv.cluster.sorted_keys import LARGE, add_last, ceiling_item, clear, insert, last_key, remove, sort_by_high_half
from packenv.cluster.state import NONE, Cluster, require
from packenv.compiled.decorators import apart, compiled
from packenv.policy import BY_INDEX, BY_ROOM


def scalar_capacity(capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return scalar capacities, (L,): the least over scaled resources."""
    scale = capacity.max(axis=0)
    most = int(scale.max())
    wide = capacity[:, scale > 0].astype(object) * most // scale[scale > 0].astype(object)
    return np.asarray(wide.min(axis=1), dtype=np.int64)


def server_kinds(capacity: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return kinds and their capacities, by first appearance."""
    values, first, inverse = np.unique(capacity, return_index=True, return_inverse=True, axis=0)
    order = np.argsort(first)
    return np.argsort(order)[inverse.ravel()], values[order]


def kind_levels(levels: int, capacity: NDArray[np.int64]) -> list[int]:
    """Return each kind's J (PAPERS §1.5), at least 2."""
    # a kind with 2^-i of the largest capacity has i levels fewer
    most = int(capacity.max())
    return [max(2, levels - ((most // max(int(units), 1)).bit_length() - 1)) for units in capacity]


INDEX_BITS = 32
INDEX_MASK = (1 << INDEX_BITS) - 1


@compiled
def touch(c: Cluster, server: int) -> None:
    """Mark a server's position in the orders as outdated."""
    if c.orders & (BY_ROOM | BY_INDEX) and c.server[c.e, server].stale == 0:
        head = c.head[c.e]
        c.server[c.e, server].stale = 1
        c.stale[c.e, head.stale] = server
        head.stale += 1


@compiled
def note_freed(c: Cluster, server: int) -> None:
    """Record that a completion freed room on a server now."""
    head, record = c.head[c.e], c.server[c.e, server]
    if record.freed != head.now:
        record.freed = head.now
        c.freed[c.e, head.freed] = server
        head.freed += 1
    touch(c, server)


@apart
def refresh(c: Cluster) -> None:
    head = c.head[c.e]
    if c.orders & BY_ROOM and head.stale > LARGE and 16 * head.stale > c.server.shape[1]:
        sort_rooms(c)  # sorting all servers anew costs less than moving so many one by one
    for n in range(head.stale):
        server = c.stale[c.e, n]
        record = c.server[c.e, server]
        record.stale = 0
        if c.orders & BY_ROOM:
            move_in_rooms(c, server)
        if c.orders & BY_INDEX:
            move_in_tree(c, server)
    head.stale = 0


@apart
def sort_rooms(c: Cluster) -> None:
    words = c.sorting.words
    # a word for each open server: its room above its index
    n = 0
    for server in range(c.server.shape[1]):
        room = room_of(c, server)
        c.server[c.e, server].indexed = room
        if room != NONE:
            words[c.e, n] = (room << INDEX_BITS) | server
            n += 1
    sort_by_high_half(c.sorting, c.e, n)
    # refill the order, from the lowest room
    clear(c.rooms, c.e)
    for k in range(n):
        add_last(c.rooms, c.e, words[c.e, k], words[c.e, k] & INDEX_MASK)


@apart
def move_in_rooms(c: Cluster, server: int) -> None:
    """Update a server's position by room, none when closed."""
    record, room = c.server[c.e, server], room_of(c, server)
    if room != record.indexed:
        if record.indexed != NONE:
            remove(c.rooms, c.e, (record.indexed << INDEX_BITS) | server)
        if room != NONE:
            insert(c.rooms, c.e, (room << INDEX_BITS) | server, server)
        record.indexed = room


@apart
def move_in_tree(c: Cluster, server: int) -> None:
    """Write a server's room to the tree and its ancestors."""
    tree = c.tree
    node = tree.shape[1] // 2 + server
    closed = c.server[c.e, server].closed
    # the leaf, NONE for a closed server
    if not c.vectors:
        tree[c.e, node, 0] = NONE if closed else c.server[c.e, server].room
    else:
        for r in range(tree.shape[2]):
            tree[c.e, node, r] = NONE if closed else c.free[c.e, server, r]
    # upwards, as long as a node changes
    node >>= 2
    changed = True
    while node >= 1 and changed:
        changed = False
        for r in range(tree.shape[2]):
            largest = max(
                max(tree[c.e, 4 * node, r], tree[c.e, 4 * node + 1, r]),
                max(tree[c.e, 4 * node + 2, r], tree[c.e, 4 * node + 3, r]),
            )
            changed |= tree[c.e, node, r] != largest
            tree[c.e, node, r] = largest
        node >>= 2


@compiled
def room_of(c: Cluster, server: int) -> int:
    """Return the largest size sure to fit, or NONE.

    NONE if the server is closed. With several resources it is the room of the scarcest.
    """
    return NONE if c.server[c.e, server].closed else scalar_room(c, server)


@compiled
def scalar_room(c: Cluster, server: int) -> int:
    """Return a server's room in units of its scarcest resource."""
    return c.server[c.e, server].room if not c.vectors else least_room(c, server)


@apart
def least_room(c: Cluster, server: int) -> int:
    """Return the least free amount, scaled like task sizes."""
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    room = c.server[c.e, server].capacity
    for r in range(c.scale.shape[0]):
        if c.scale[r] > 0:
            room = min(room, c.free[c.e, server, r] * most // c.scale[r])
    return room


@compiled
def free_of(c: Cluster, server: int, resource: int) -> int:
    return c.free[c.e, server, resource] if c.free.shape[1] > 0 else c.server[c.e, server].room


@compiled
def tightest_server(c: Cluster, size: int) -> int:
    """Return the first open server of least room >= size, or NONE (needs BY_ROOM)."""
    require(c, BY_ROOM)
    refresh(c)
    return ceiling_item(c.rooms, c.e, size << INDEX_BITS)


@compiled
def largest_room(c: Cluster) -> int:
    """Return the largest open room or NONE (needs BY_ROOM)."""
    require(c, BY_ROOM)
    refresh(c)
    key = last_key(c.rooms, c.e)
    return NONE if key == NONE else key >> INDEX_BITS


@compiled
def first_server(c: Cluster, size: int, start: int) -> int:
    """Return the first open server >= start with room, or NONE (needs BY_INDEX)."""
    require(c, BY_INDEX)
    if c.vectors:  # the tree has the room of each resource
        return first_with_room(c, size, start)
    refresh(c)
    leaves = c.tree.shape[1] // 2
    if start >= leaves:
        return NONE
    node = 1 if start == 0 else leaves + start
    # the first subtree with room, then down to its first server
    while c.tree[c.e, node, 0] < size:
        node = after_subtree(node)
        if node == 0:
            return NONE
    while node < leaves:  # without branches, which the processor would mispredict
        node *= 4
        first = c.tree[c.e, node, 0] < size
        second = first & (c.tree[c.e, node + 1, 0] < size)
        third = second & (c.tree[c.e, node + 2, 0] < size)
        node += first + second + third
    return node - leaves


@apart
def first_with_room(c: Cluster, size: int, start: int) -> int:
    for server in range(start, c.server.shape[1]):
        if room_of(c, server) >= size:
            return server
    return NONE


@compiled
def after_subtree(node: int) -> int:
    """Return the highest next node after a subtree, or 0."""
    while node & 3 == 3:
        node >>= 2
    return node + 1 if node > 1 else 0


@compiled
def first_server_for(c: Cluster, i: int, checked: int = 0) -> int:
    """Return the first server for task i, or NONE.

    With `checked` > 0 only the first `checked` resources and devices count. Needs BY_INDEX.
    """
    require(c, BY_INDEX)
    if not c.vectors:
        return first_server(c, c.task[c.e, i].size, 0)
    refresh(c)
    leaves = c.tree.shape[1] // 2
    node = 1
    while node:
        # skip subtrees without room in some resource
        fits = True
        for r in range(checked if checked > 0 else c.tree.shape[2]):
            fits &= c.tree[c.e, node, r] >= c.demand[c.e, i, r]
        if not fits:
            node = after_subtree(node)
        elif node >= leaves:
            server = node - leaves
            readable = checked > 0 or can_read(c, c.task[c.e, i].row, server)
            if readable and (not has_devices(c) or devices_for(c, i, server) != NONE):
                return server
            node = after_subtree(node)
        else:
            node *= 4
    return NONE


@compiled
def fits(c: Cluster, i: int, server: int) -> bool:
    """Return whether open server and task i fit, with devices and reads."""
    if c.server[c.e, server].closed:
        return False
    if not c.vectors and max(c.task[c.e, i].size, c.server[c.e, server].least) > c.server[c.e, server].room:
        return False  # a policy that packs sizes: the largest demand of a task counts
    if c.demand.shape[1] == 0:
        return True
    for r in range(c.demand.shape[2]):
        if c.demand[c.e, i, r] > c.free[c.e, server, r]:
            return False
    if has_devices(c) and devices_for(c, i, server) == NONE:
        return False
    return can_read(c, c.task[c.e, i].row, server)


@compiled
def next_server_for(c: Cluster, i: int, start: int) -> int:
    """Return the first server >= start for i, or NONE."""
    if not c.vectors:
        return first_server(c, c.task[c.e, i].size, start)
    for server in range(start, server_count(c)):
        if fits(c, i, server):
            return server
    return NONE


@compiled
def close(c: Cluster, server: int) -> None:
    """Stall a server with jobs until it is empty."""
    c.server[c.e, server].closed = 1
    touch(c, server)


@compiled
def reopen(c: Cluster, server: int) -> None:
    """Let a closed server take jobs again."""
    if c.server[c.e, server].closed:
        c.server[c.e, server].closed = 0
        touch(c, server)


@compiled
def reopen_all(c: Cluster) -> None:
    """Let every server take jobs."""
    for server in range(c.server.shape[1]):
        reopen(c, server)


@compiled
def is_closed(c: Cluster, server: int) -> bool:
    """Return whether a server takes no tasks until empty."""
    return c.server[c.e, server].closed != 0


@compiled
def server_count(c: Cluster) -> int:
    """Return the number of servers, L."""
    return c.server.shape[1]


@compiled
def jobs_in(c: Cluster, server: int) -> int:
    """Return the number of jobs in service on a server."""
    return c.server[c.e, server].jobs


@compiled
def kind_of(c: Cluster, server: int) -> int:
    """Return a server's kind, numbered by first appearance.

    Servers of equal scalar capacity are one kind. If types are boxes, their capacity vectors must be equal.
    """
    return c.server[c.e, server].kind


@compiled
def freed_count(c: Cluster) -> int:
    """Return the number of servers with a completion this slot."""
    return c.head[c.e].freed


@compiled
def freed_server(c: Cluster, n: int) -> int:
    """Return this slot's n-th freed server, in index order."""
    return c.freed[c.e, n]
