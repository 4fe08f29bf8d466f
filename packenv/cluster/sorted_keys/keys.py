"""A sorted list of 64-bit keys, each with an item; one list for each cluster of a batch.

With few keys it is one sorted array; with millions it is a directory of blocks (`blocks`), each a sorted array
of at most WIDTH keys. To insert or remove a key is to search for its block and move keys within it. When all blocks are
used, neighbours that fit in one are merged: n keys never need more than 2n/WIDTH + 2 blocks.
"""

from __future__ import annotations

from packenv.cluster.records import NONE
from packenv.cluster.sorted_keys.arrays import FILLED, PADDING, STRIDE, WIDTH, SortedKeys
from packenv.cluster.sorted_keys.blocks import add_block, make_room, use_less
from packenv.cluster.sorted_keys.directory import (
    block_after,
    block_of,
    end_of_node,
    last_block,
    set_low,
    start_of_node,
)
from packenv.cluster.sorted_keys.nodes import forget_nodes
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import move, natural


@compiled
def lower_bound(s: SortedKeys, e: int, k: int, key: int) -> int:
    """Number of keys of block k below `key`. Comparing all, STRIDE at once, loads the cache lines at the same time."""
    keys = s.keys[e, s.block[e, k].storage]
    below = 0
    for start in range(0, s.block[e, k].count, STRIDE):
        for q in range(STRIDE):
            below += keys[natural(start + q)] < key
    return below


@apart
def insert(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key that is not in the list."""
    k = block_of(s, e, key)
    if s.block[e, k].count == WIDTH:
        k = make_room(s, e, k, key)
    storage, count = s.block[e, k].storage, s.block[e, k].count
    p = lower_bound(s, e, k, key)
    move(s.keys[e, storage], p + 1, p, count - p)
    move(s.items[e, storage], p + 1, p, count - p)
    s.keys[e, storage, p] = key
    s.items[e, storage, p] = item
    s.block[e, k].count = count + 1
    if p == 0:
        set_low(s, e, k, key)


@apart
def clear(s: SortedKeys, e: int) -> None:
    """Remove all keys."""
    for k in range(last_block(s, e) + 1):
        block = s.block[e, k]
        for q in range(WIDTH):
            s.keys[e, block.storage, q] = PADDING
        block.low, block.count = PADDING, 0
    forget_nodes(s, e)
    s.used[e] = 1


@apart
def add_last(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key above all others."""
    if s.block[e, last_block(s, e)].count >= FILLED:
        add_block(s, e)
    k = last_block(s, e)
    storage, count = s.block[e, k].storage, s.block[e, k].count
    s.keys[e, storage, count] = key
    s.items[e, storage, count] = item
    if count == 0:
        set_low(s, e, k, key)
    s.block[e, k].count = count + 1


@apart
def remove(s: SortedKeys, e: int, key: int) -> None:
    """Remove a key that is in the list."""
    find(s, e, key)
    remove_found(s, e)


@apart
def find(s: SortedKeys, e: int, key: int) -> None:
    """Find a key that is in the list and store its position in `found`."""
    k, p = s.found[e, 0], s.found[e, 1]
    if s.keys[e, s.block[e, k].storage, p] != key:
        k = block_of(s, e, key)
        s.found[e, 0], s.found[e, 1] = k, lower_bound(s, e, k, key)


@apart
def key_before(s: SortedKeys, e: int) -> int:
    """The key before the one that was found last; NONE if that is the smallest."""
    k, p = s.found[e, 0], s.found[e, 1]
    if p > 0:
        return s.keys[e, s.block[e, k].storage, p - 1]
    if k == 0:
        return NONE
    before = s.block[e, k - 1 if k > start_of_node(s, e, k) else end_of_node(s, e, k - 1) - 1]
    return s.keys[e, before.storage, before.count - 1]


@apart
def key_after(s: SortedKeys, e: int) -> int:
    """The key after the one that was found last; PADDING if that is the largest."""
    k, p = s.found[e, 0], s.found[e, 1]
    if p + 1 < s.block[e, k].count:
        return s.keys[e, s.block[e, k].storage, p + 1]
    return s.block[e, block_after(s, e, k)].low


@apart
def remove_found(s: SortedKeys, e: int) -> None:
    """Remove the key that was found last."""
    k, p = s.found[e, 0], s.found[e, 1]
    storage, left = s.block[e, k].storage, s.block[e, k].count - 1
    move(s.keys[e, storage], p, p + 1, left - p)
    move(s.items[e, storage], p, p + 1, left - p)
    s.keys[e, storage, left] = PADDING
    s.block[e, k].count = left
    if p == 0:
        set_low(s, e, k, s.keys[e, storage, 0])
    if left < WIDTH // 4:
        use_less(s, e, k, left)


@apart
def floor_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the largest key at or below `key`; NONE if there is none."""
    if key < s.block[e, 0].low:
        return NONE
    k = block_of(s, e, key)
    storage = s.block[e, k].storage
    p = lower_bound(s, e, k, key + 1) - 1
    s.found[e, 0], s.found[e, 1] = k, p
    return s.items[e, storage, p]


@apart
def floor_key(s: SortedKeys, e: int, key: int) -> int:
    """The largest key at or below `key`; NONE if there is none."""
    if key < s.block[e, 0].low:
        return NONE
    k = block_of(s, e, key)
    return s.keys[e, s.block[e, k].storage, lower_bound(s, e, k, key + 1) - 1]


@apart
def ceiling_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the smallest key at or above `key`; NONE if there is none."""
    k = block_of(s, e, key)
    p = lower_bound(s, e, k, key)
    if p == s.block[e, k].count:
        k, p = block_after(s, e, k), 0
        if s.block[e, k].count == 0:
            return NONE
    s.found[e, 0], s.found[e, 1] = k, p
    return s.items[e, s.block[e, k].storage, p]


@compiled
def first_key(s: SortedKeys, e: int) -> int:
    """The smallest key; NONE if empty."""
    return s.keys[e, s.block[e, 0].storage, 0] if s.block[e, 0].count > 0 else NONE


@compiled
def first_item(s: SortedKeys, e: int) -> int:
    """Item of the smallest key; NONE if empty."""
    return s.items[e, s.block[e, 0].storage, 0] if s.block[e, 0].count > 0 else NONE


@compiled
def last_key(s: SortedKeys, e: int) -> int:
    """The largest key; NONE if empty."""
    last = s.block[e, last_block(s, e)]
    return s.keys[e, last.storage, last.count - 1] if last.count > 0 else NONE
