"""Sorted 64-bit keys with an item each: a blocked sorted list, one per cluster of a batch.

With few keys it is one sorted array; with millions it is a directory of blocks, each a sorted array of at most
WIDTH keys. Finding, inserting and removing are two binary searches and a move within one block.
Neighbouring blocks hold WIDTH/2 keys together at the least, so n keys never need more than 4n/WIDTH + 2 blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.machine import move
from packenv.compile import inlined, outlined
from packenv.frame import Frame

WIDTH = 64
NONE = -1

entry_type = np.dtype([("key", "i8"), ("item", "i8")], align=True)
block_type = np.dtype([("low", "i8"), ("storage", "i4"), ("count", "i4")], align=True)


class SortedKeys(Frame):
    """First axis: cluster. Directory entries beyond `used` name the unused storage."""

    entries: NDArray[np.void]  # (E, blocks, WIDTH) entry_type
    directory: NDArray[np.void]  # (E, blocks) block_type, in key order
    used: NDArray[np.int64]  # (E,)


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    blocks = 4 * capacity // WIDTH + 2
    directory = np.zeros((clusters, blocks), block_type)
    directory["storage"] = np.arange(blocks)
    return SortedKeys(
        entries=np.zeros((clusters, blocks, WIDTH), entry_type),
        directory=directory,
        used=np.ones(clusters, np.int64),
    )


def copy_sorted_keys(old: SortedKeys, new: SortedKeys) -> None:
    """Fill a larger, empty list with the contents of a smaller one."""
    blocks = old.directory.shape[1]
    new.entries[:, :blocks] = old.entries
    new.directory[:, :blocks], new.used[:] = old.directory, old.used


@inlined
def block_of(s: SortedKeys, e: int, key: int) -> int:
    """Position of the last block that starts at or below `key` (the first block if none does)."""
    base = 0
    n = s.used[e]
    while n > 1:
        half = n >> 1
        base += half * (s.directory[e, base + half].low <= key)
        n -= half
    return base


@inlined
def lower_bound(s: SortedKeys, e: int, storage: int, count: int, key: int) -> int:
    """How many keys of a block are below `key`."""
    base = 0
    n = count
    while n > 1:
        half = n >> 1
        base += half * (s.entries[e, storage, base + half - 1].key < key)  # without a branch to guess wrong
        n -= half
    return base + (n == 1 and s.entries[e, storage, base].key < key)


@outlined
def insert(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key that is not yet there."""
    k = block_of(s, e, key)
    if s.directory[e, k].count == WIDTH:
        split(s, e, k)
        if s.directory[e, k + 1].low <= key:
            k += 1
    block = s.directory[e, k]
    storage, count = block.storage, block.count
    p = lower_bound(s, e, storage, count, key)
    move(s.entries[e, storage], p + 1, p, count - p)
    entry = s.entries[e, storage, p]
    entry.key, entry.item = key, item
    block.count = count + 1
    if p == 0:
        block.low = key


@outlined
def remove(s: SortedKeys, e: int, key: int) -> None:
    """Take out a key that is there."""
    k = block_of(s, e, key)
    block = s.directory[e, k]
    storage, count = block.storage, block.count
    p = lower_bound(s, e, storage, count, key)
    move(s.entries[e, storage], p, p + 1, count - 1 - p)
    block.count = count - 1
    if p == 0 and count > 1:
        block.low = s.entries[e, storage, 0].key
    if count - 1 < WIDTH // 4:
        together = WIDTH // 2 if count > 1 else WIDTH  # an empty block always goes
        if k + 1 < s.used[e] and s.directory[e, k + 1].count + count - 1 <= together:
            merge(s, e, k)
        elif k > 0 and s.directory[e, k - 1].count + count - 1 <= together:
            merge(s, e, k - 1)


@outlined
def split(s: SortedKeys, e: int, k: int) -> None:
    """Move the upper half of full block k to a new block k + 1."""
    used = s.used[e]
    new = s.directory[e, used].storage
    for q in range(used, k + 1, -1):
        s.directory[e, q] = s.directory[e, q - 1]
    old = s.directory[e, k].storage
    half = WIDTH // 2
    for q in range(half):
        s.entries[e, new, q] = s.entries[e, old, half + q]
    s.directory[e, k].count = half
    upper = s.directory[e, k + 1]
    upper.storage, upper.count, upper.low = new, half, s.entries[e, new, 0].key
    s.used[e] = used + 1


@outlined
def merge(s: SortedKeys, e: int, k: int) -> None:
    """Append block k + 1 to block k and give its storage back."""
    left, right = s.directory[e, k], s.directory[e, k + 1]
    storage, freed, count = left.storage, right.storage, left.count
    for q in range(right.count):
        s.entries[e, storage, count + q] = s.entries[e, freed, q]
    if count == 0:
        left.low = right.low
    left.count = count + right.count
    used = s.used[e] - 1
    for q in range(k + 1, used):
        s.directory[e, q] = s.directory[e, q + 1]
    s.directory[e, used].storage = freed
    s.used[e] = used


@inlined
def floor_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the largest key at or below `key`; NONE if there is none."""
    k = block_of(s, e, key)
    block = s.directory[e, k]
    p = lower_bound(s, e, block.storage, block.count, key + 1)
    if p == 0:  # only in the first block: any other starts at or below `key`
        return NONE
    return s.entries[e, block.storage, p - 1].item


@inlined
def ceiling_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the smallest key at or above `key`; NONE if there is none."""
    k = block_of(s, e, key)
    block = s.directory[e, k]
    p = lower_bound(s, e, block.storage, block.count, key)
    if p < block.count:
        return s.entries[e, block.storage, p].item
    if k + 1 < s.used[e]:
        return s.entries[e, s.directory[e, k + 1].storage, 0].item
    return NONE


@inlined
def first_key(s: SortedKeys, e: int) -> int:
    """The smallest key; NONE if empty."""
    block = s.directory[e, 0]
    return s.entries[e, block.storage, 0].key if block.count > 0 else NONE


@inlined
def last_key(s: SortedKeys, e: int) -> int:
    """The largest key; NONE if empty."""
    block = s.directory[e, s.used[e] - 1]
    return s.entries[e, block.storage, block.count - 1].key if block.count > 0 else NONE
