"""Sorted 64-bit keys with an item each: a blocked sorted list, one per cluster of a batch.

With few keys it is one sorted array; with millions it is a directory of blocks, each a sorted array of at most
WIDTH keys. Finding, inserting and removing are two binary searches and a move within one block.
When the blocks run out, neighbours that fit in one are put together: n keys never need more than 2n/WIDTH + 2 blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.machine import move, natural
from packenv.compile import inlined, outlined
from packenv.frame import Frame

WIDTH = 64
FILLED = 48  # keys in a block that is made anew: some more have room
STRIDE = 16
NONE = -1

PADDING = 2**63 - 1  # above every key: fills the unused end of a block


class SortedKeys(Frame):
    """First axis: cluster. Blocks 0 .. used - 1 are in key order; the entries of `storage` beyond name unused storage."""

    keys: NDArray[np.int64]  # (E, blocks, WIDTH) by storage, padded
    items: NDArray[np.int32]  # (E, blocks, WIDTH) by storage
    low: NDArray[np.int64]  # (E, blocks) smallest key of each block
    storage: NDArray[np.int32]  # (E, blocks) where it is stored
    count: NDArray[np.int32]  # (E, blocks) how many keys it has
    used: NDArray[np.int64]  # (E,)


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    blocks = 2 * capacity // WIDTH + 2 if capacity > 0 else 0
    return SortedKeys(
        keys=np.full((clusters, blocks, WIDTH), PADDING, np.int64),
        items=np.zeros((clusters, blocks, WIDTH), np.int32),
        low=np.zeros((clusters, blocks), np.int64),
        storage=np.repeat(np.arange(blocks, dtype=np.int32)[None], clusters, axis=0),
        count=np.zeros((clusters, blocks), np.int32),
        used=np.ones(clusters, np.int64),
    )


def copy_sorted_keys(old: SortedKeys, new: SortedKeys) -> None:
    """Fill a larger, empty list with the contents of a smaller one."""
    blocks = old.low.shape[1]
    for field in ("keys", "items", "low", "storage", "count"):
        getattr(new, field)[:, :blocks] = getattr(old, field)
    new.used[:] = old.used


@inlined
def block_of(s: SortedKeys, e: int, key: int) -> int:
    """Position of the last block that starts at or below `key` (the first block if none does)."""
    base = 0
    n = s.used[e]
    while n > 1:
        half = n >> 1
        base += half * (s.low[e, base + half] <= key)  # without a branch to guess wrong
        n -= half
    return base


@inlined
def lower_bound(s: SortedKeys, e: int, k: int, key: int) -> int:
    """How many keys of block k are below `key`: all are compared, STRIDE at once, which loads its cache lines side by side."""
    block = s.keys[e, s.storage[e, k]]
    below = 0
    for start in range(0, s.count[e, k], STRIDE):
        for q in range(STRIDE):
            below += block[natural(start + q)] < key
    return below


@outlined
def insert(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key that is not yet there."""
    k = block_of(s, e, key)
    if s.count[e, k] == WIDTH:
        if s.used[e] == s.low.shape[1]:
            tidy(s, e)
            k = block_of(s, e, key)
        split(s, e, k)
        if s.low[e, k + 1] <= key:
            k += 1
    storage, count = s.storage[e, k], s.count[e, k]
    p = lower_bound(s, e, k, key)
    move(s.keys[e, storage], p + 1, p, count - p)
    move(s.items[e, storage], p + 1, p, count - p)
    s.keys[e, storage, p] = key
    s.items[e, storage, p] = item
    s.count[e, k] = count + 1
    if p == 0:
        s.low[e, k] = key


@outlined
def clear(s: SortedKeys, e: int) -> None:
    """Remove all keys."""
    for k in range(s.used[e]):
        for q in range(WIDTH):
            s.keys[e, s.storage[e, k], q] = PADDING
        s.count[e, k] = 0
    s.used[e] = 1


@inlined
def add_last(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key above all others."""
    k = s.used[e] - 1
    if s.count[e, k] >= FILLED:
        k += 1
        s.used[e] = k + 1
    storage, count = s.storage[e, k], s.count[e, k]
    s.keys[e, storage, count] = key
    s.items[e, storage, count] = item
    if count == 0:
        s.low[e, k] = key
    s.count[e, k] = count + 1


@outlined
def remove(s: SortedKeys, e: int, key: int) -> None:
    """Take out a key that is there."""
    k = block_of(s, e, key)
    storage, left = s.storage[e, k], s.count[e, k] - 1
    p = lower_bound(s, e, k, key)
    move(s.keys[e, storage], p, p + 1, left - p)
    move(s.items[e, storage], p, p + 1, left - p)
    s.keys[e, storage, left] = PADDING
    s.count[e, k] = left
    if p == 0 and left > 0:
        s.low[e, k] = s.keys[e, storage, 0]
    if left < WIDTH // 4:
        together = WIDTH // 2 if left > 0 else WIDTH  # an empty block always goes
        if k + 1 < s.used[e] and s.count[e, k + 1] + left <= together:
            merge(s, e, k)
        elif k > 0 and s.count[e, k - 1] + left <= together:
            merge(s, e, k - 1)


@outlined
def split(s: SortedKeys, e: int, k: int) -> None:
    """Move the upper half of full block k to a new block k + 1."""
    used = s.used[e]
    old, new = s.storage[e, k], s.storage[e, used]
    half = WIDTH // 2
    for q in range(half):
        s.keys[e, new, q] = s.keys[e, old, half + q]
        s.items[e, new, q] = s.items[e, old, half + q]
        s.keys[e, old, half + q] = PADDING
    move(s.low[e], k + 2, k + 1, used - k - 1)
    move(s.storage[e], k + 2, k + 1, used - k - 1)
    move(s.count[e], k + 2, k + 1, used - k - 1)
    s.low[e, k + 1], s.storage[e, k + 1] = s.keys[e, new, 0], new
    s.count[e, k] = s.count[e, k + 1] = half
    s.used[e] = used + 1


@outlined
def merge(s: SortedKeys, e: int, k: int) -> None:
    """Append block k + 1 to block k and give its storage back."""
    append(s, e, k, k + 1)
    freed, last = s.storage[e, k + 1], s.used[e] - 1
    move(s.low[e], k + 1, k + 2, last - k - 1)
    move(s.storage[e], k + 1, k + 2, last - k - 1)
    move(s.count[e], k + 1, k + 2, last - k - 1)
    s.storage[e, last], s.count[e, last] = freed, 0
    s.used[e] = last


@outlined
def tidy(s: SortedKeys, e: int) -> None:
    """Append every block to the one before it if that has room for it."""
    last = 0
    for k in range(1, s.used[e]):
        if s.count[e, last] + s.count[e, k] <= WIDTH:
            append(s, e, last, k)
        else:
            last += 1
            s.low[e, last], s.count[e, last] = s.low[e, k], s.count[e, k]
            s.storage[e, last], s.storage[e, k] = s.storage[e, k], s.storage[e, last]
    for k in range(last + 1, s.used[e]):
        s.count[e, k] = 0
    s.used[e] = last + 1


@inlined
def append(s: SortedKeys, e: int, k: int, later: int) -> None:
    """Move the keys of a later block to the end of block k."""
    storage, emptied, count = s.storage[e, k], s.storage[e, later], s.count[e, k]
    for q in range(s.count[e, later]):
        s.keys[e, storage, count + q] = s.keys[e, emptied, q]
        s.items[e, storage, count + q] = s.items[e, emptied, q]
        s.keys[e, emptied, q] = PADDING
    if count == 0:
        s.low[e, k] = s.low[e, later]
    s.count[e, k] = count + s.count[e, later]


@inlined
def floor_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the largest key at or below `key`; NONE if there is none."""
    k = block_of(s, e, key)
    p = lower_bound(s, e, k, key + 1)
    if p == 0:  # only in the first block: any other starts at or below `key`
        return NONE
    return s.items[e, s.storage[e, k], p - 1]


@inlined
def floor_key(s: SortedKeys, e: int, key: int) -> int:
    """The largest key at or below `key`; NONE if there is none."""
    k = block_of(s, e, key)
    p = lower_bound(s, e, k, key + 1)
    return NONE if p == 0 else s.keys[e, s.storage[e, k], p - 1]


@inlined
def ceiling_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the smallest key at or above `key`; NONE if there is none."""
    k = block_of(s, e, key)
    p = lower_bound(s, e, k, key)
    if p < s.count[e, k]:
        return s.items[e, s.storage[e, k], p]
    if k + 1 < s.used[e]:
        return s.items[e, s.storage[e, k + 1], 0]
    return NONE


@inlined
def first_key(s: SortedKeys, e: int) -> int:
    """The smallest key; NONE if empty."""
    return s.keys[e, s.storage[e, 0], 0] if s.count[e, 0] > 0 else NONE


@inlined
def last_key(s: SortedKeys, e: int) -> int:
    """The largest key; NONE if empty."""
    k = s.used[e] - 1
    return s.keys[e, s.storage[e, k], s.count[e, k] - 1] if s.count[e, k] > 0 else NONE
