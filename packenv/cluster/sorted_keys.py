"""Sorted 64-bit keys with an item each: a blocked sorted list, one per cluster of a batch.

With few keys it is one sorted array; with millions it is a directory of blocks, each a sorted array of at most
WIDTH keys. Finding, inserting and removing are a search for the block and a move within it. No cache holds a long
list: its directory has a level above it, and a block can be asked for before it is wanted.
When the blocks run out, neighbours that fit in one are put together: n keys never need more than 2n/WIDTH + 2 blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.machine import aligned_zeros, move, natural, prefetch
from packenv.compile import inner
from packenv.frame import Frame

WIDTH = 32
FILLED = 24  # keys in a block that is made anew: some more have room
STRIDE = 16  # keys that are compared at once
SHARED = 4  # room of the next block that is worth sharing
LONG = 512  # a list of more blocks is long
NODE = 16  # blocks of a long list whose smallest keys are compared at once
EXPECTED = 512  # keys that can be expected at once: a power of two
NONE = -1

PADDING = 2**63 - 1  # above every key: fills the unused end of a block
POSITION = 2**31 - 1  # bits of a position: the compiler sees that what is masked with it is not negative

block_type = np.dtype(
    [
        ("low", "i8"),  # smallest key, PADDING for a block that is not in use
        ("storage", "i4"),  # where it is stored
        ("count", "i4"),  # how many keys it has
    ],
    align=True,
)


class SortedKeys(Frame):
    """First axis: cluster. Blocks 0 .. used - 1 are in key order; those beyond, one at least, name unused storage."""

    keys: NDArray[np.int64]  # (E, blocks, WIDTH) by storage, padded
    items: NDArray[np.int32]  # (E, blocks, WIDTH) by storage
    block: NDArray[np.void]  # (E, blocks) block_type
    top: NDArray[np.int64]  # (E, blocks / NODE + NODE) smallest key of every NODE-th block, padded; (E, 0) if never long
    used: NDArray[np.int64]  # (E,)
    expected: NDArray[np.int64]  # (E, EXPECTED) keys that are soon wanted; (E, 0) if never long
    expected_at: NDArray[np.int32]  # (E, EXPECTED) and their blocks
    found: NDArray[np.int64]  # (E, 2) block of the key that was found last, and where in the block


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    blocks = 2 * capacity // WIDTH + 3 if capacity > 0 else 0
    long = blocks > LONG
    if long:
        blocks += -blocks % NODE  # whole nodes
    keys = aligned_zeros((clusters, blocks, WIDTH), np.dtype(np.int64))
    keys[:] = PADDING
    block = np.zeros((clusters, blocks), block_type)
    block["low"], block["storage"] = PADDING, np.arange(blocks)
    return SortedKeys(
        keys=keys,
        items=aligned_zeros((clusters, blocks, WIDTH), np.dtype(np.int32)),
        block=block,
        top=np.full((clusters, blocks // NODE + NODE if long else 0), PADDING, np.int64),
        used=np.ones(clusters, np.int64),
        expected=np.zeros((clusters, EXPECTED if long else 0), np.int64),
        expected_at=np.zeros((clusters, EXPECTED if long else 0), np.int32),
        found=np.zeros((clusters, 2), np.int64),
    )


def copy_sorted_keys(old: SortedKeys, new: SortedKeys) -> None:
    """Fill a larger, empty list with the contents of a smaller one."""
    blocks = old.block.shape[1]
    for field in ("keys", "items", "block"):
        getattr(new, field)[:, :blocks] = getattr(old, field)
    new.used[:] = old.used
    if new.top.shape[1] > 0:
        new.top[:, :-NODE] = new.block["low"][:, ::NODE]


@inner
def is_long(s: SortedKeys, e: int) -> bool:
    """Whether it is worth asking early for blocks."""
    return s.used[e] > LONG


@inner
def block_of(s: SortedKeys, e: int, key: int) -> int:
    """Position of the last block that starts at or below `key` (the first block if none does)."""
    if is_long(s, e):
        return block_of_many(s, e, key)
    base = 0
    n = s.used[e]
    while n > 1:
        half = n >> 1
        base += half * (s.block[e, base + half].low <= key)  # without a branch to guess wrong
        n -= half
    return base


@inner
def block_of_many(s: SortedKeys, e: int, key: int) -> int:
    """The same in a long list: where the key was expected, if that is still right, or by a search."""
    mark = mark_of(key)
    if s.expected[e, mark] == key:
        k = s.expected_at[e, mark]
        if k < s.used[e] and s.block[e, k].low <= key < s.block[e, k + 1].low:
            return k
    return search_many(s, e, key)


@inner
def mark_of(key: int) -> int:
    return (key ^ (key >> 32)) & (EXPECTED - 1)


@inner
def search_many(s: SortedKeys, e: int, key: int) -> int:
    """By halves to a node of the level above, then by comparing all keys of a node at once, there and below."""
    base = 0
    n = s.used[e] // NODE + 1
    while n > NODE:
        half = n >> 1
        base += half * (s.top[e, base + half] <= key)
        n -= half
    first = base & POSITION
    node = first - 1
    for q in range(NODE):
        node += s.top[e, first + q] <= key
    first = (max(node, 0) * NODE) & POSITION
    k = first - 1
    for q in range(NODE):
        k += s.block[e, first + q].low <= key
    return max(k, 0)


@inner
def set_low(s: SortedKeys, e: int, k: int, key: int) -> None:
    """Note the smallest key of a block."""
    s.block[e, k].low = key
    if s.top.shape[1] > 0 and k % NODE == 0:
        s.top[e, k // NODE] = key


@inner
def expect(s: SortedKeys, e: int, key: int) -> None:
    """Ask early for the block where a key is wanted soon, if the list is long."""
    if is_long(s, e):
        ask_for_block(s, e, key)


@inner
def ask_for_block(s: SortedKeys, e: int, key: int) -> None:
    k, mark = search_many(s, e, key), mark_of(key)
    s.expected[e, mark], s.expected_at[e, mark] = key, k
    storage = s.block[e, k].storage
    for q in range(0, WIDTH, 8):
        prefetch(s.keys[e, storage], q)
    ask_for_items(s, e, storage)


@inner
def ask_for_items(s: SortedKeys, e: int, storage: int) -> None:
    for q in range(0, WIDTH, 16):
        prefetch(s.items[e, storage], q)


@inner
def lower_bound(s: SortedKeys, e: int, k: int, key: int) -> int:
    """How many keys of block k are below `key`: all are compared, STRIDE at once, which loads its cache lines side by side."""
    keys = s.keys[e, s.block[e, k].storage]
    below = 0
    for start in range(0, s.block[e, k].count, STRIDE):
        for q in range(STRIDE):
            below += keys[natural(start + q)] < key
    return below


@inner
def insert(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key that is not yet there."""
    k = block_of(s, e, key)
    if s.block[e, k].count == WIDTH:
        k = make_room(s, e, k, key)
    storage, count = s.block[e, k].storage, s.block[e, k].count
    ask_for_items(s, e, storage)
    p = lower_bound(s, e, k, key)
    move(s.keys[e, storage], p + 1, p, count - p)
    move(s.items[e, storage], p + 1, p, count - p)
    s.keys[e, storage, p] = key
    s.items[e, storage, p] = item
    s.block[e, k].count = count + 1
    if p == 0:
        set_low(s, e, k, key)


@inner
def make_room(s: SortedKeys, e: int, k: int, key: int) -> int:
    """The block for `key`, which belongs to full block k, with room for it."""
    if k + 1 < s.used[e] and s.block[e, k + 1].count <= WIDTH - SHARED:
        share(s, e, k)
    else:
        if s.used[e] + 1 == s.block.shape[1]:
            tidy(s, e)
            k = block_of(s, e, key)
        split(s, e, k)
    return k + 1 if s.block[e, k + 1].low <= key else k


@inner
def clear(s: SortedKeys, e: int) -> None:
    """Remove all keys."""
    for k in range(s.used[e]):
        block = s.block[e, k]
        for q in range(WIDTH):
            s.keys[e, block.storage, q] = PADDING
        block.low, block.count = PADDING, 0
    s.used[e] = 1
    for node in range(s.top.shape[1]):
        s.top[e, node] = PADDING


@inner
def add_last(s: SortedKeys, e: int, key: int, item: int) -> None:
    """Add a key above all others."""
    k = s.used[e] - 1
    if s.block[e, k].count >= FILLED:
        k += 1
        s.used[e] = k + 1
    storage, count = s.block[e, k].storage, s.block[e, k].count
    s.keys[e, storage, count] = key
    s.items[e, storage, count] = item
    if count == 0:
        set_low(s, e, k, key)
    s.block[e, k].count = count + 1


@inner
def remove(s: SortedKeys, e: int, key: int) -> None:
    """Take out a key that is there."""
    find(s, e, key)
    remove_found(s, e)


@inner
def find(s: SortedKeys, e: int, key: int) -> None:
    """Let a key that is there be the one that was found last."""
    k, p = s.found[e, 0], s.found[e, 1]
    if s.keys[e, s.block[e, k].storage, p] != key:
        k = block_of(s, e, key)
        s.found[e, 0], s.found[e, 1] = k, lower_bound(s, e, k, key)


@inner
def key_before(s: SortedKeys, e: int) -> int:
    """The key before the one that was found last; NONE if that is the smallest."""
    k, p = s.found[e, 0], s.found[e, 1]
    if p > 0:
        return s.keys[e, s.block[e, k].storage, p - 1]
    return s.keys[e, s.block[e, k - 1].storage, s.block[e, k - 1].count - 1] if k > 0 else NONE


@inner
def key_after(s: SortedKeys, e: int) -> int:
    """The key after the one that was found last; PADDING if that is the largest."""
    k, p = s.found[e, 0], s.found[e, 1]
    if p + 1 < s.block[e, k].count:
        return s.keys[e, s.block[e, k].storage, p + 1]
    return s.block[e, k + 1].low


@inner
def remove_found(s: SortedKeys, e: int) -> None:
    """Take out the key that was found last."""
    k, p = s.found[e, 0], s.found[e, 1]
    storage, left = s.block[e, k].storage, s.block[e, k].count - 1
    move(s.keys[e, storage], p, p + 1, left - p)
    move(s.items[e, storage], p, p + 1, left - p)
    s.keys[e, storage, left] = PADDING
    s.block[e, k].count = left
    if p == 0:
        set_low(s, e, k, s.keys[e, storage, 0])
    if left < WIDTH // 4:
        together = WIDTH // 2 if left > 0 else WIDTH  # an empty block always goes
        if k + 1 < s.used[e] and s.block[e, k + 1].count + left <= together:
            merge(s, e, k)
        elif k > 0 and s.block[e, k - 1].count + left <= together:
            merge(s, e, k - 1)


@inner
def share(s: SortedKeys, e: int, k: int) -> None:
    """Let full block k share the room of the next one: a split would shift all blocks behind."""
    storage, following, count = s.block[e, k].storage, s.block[e, k + 1].storage, s.block[e, k + 1].count
    moved = (WIDTH - count) >> 1
    left = WIDTH - moved
    move(s.keys[e, following], moved, 0, count)
    move(s.items[e, following], moved, 0, count)
    for q in range(moved):
        s.keys[e, following, q] = s.keys[e, storage, left + q]
        s.items[e, following, q] = s.items[e, storage, left + q]
        s.keys[e, storage, left + q] = PADDING
    s.block[e, k].count = left
    s.block[e, k + 1].count = count + moved
    set_low(s, e, k + 1, s.keys[e, following, 0])


@inner
def split(s: SortedKeys, e: int, k: int) -> None:
    """Move the upper half of full block k to a new block k + 1."""
    used = s.used[e]
    old, new = s.block[e, k].storage, s.block[e, used].storage
    half = WIDTH // 2
    for q in range(half):
        s.keys[e, new, q] = s.keys[e, old, half + q]
        s.items[e, new, q] = s.items[e, old, half + q]
        s.keys[e, old, half + q] = PADDING
    move(s.block[e], k + 2, k + 1, used - k - 1)
    s.used[e] = used + 1
    added = s.block[e, k + 1]
    added.low, added.storage = s.keys[e, new, 0], new
    added.count = s.block[e, k].count = half
    renew_top(s, e, k + 1)


@inner
def merge(s: SortedKeys, e: int, k: int) -> None:
    """Append block k + 1 to block k and give its storage back."""
    append(s, e, k, k + 1)
    freed, last = s.block[e, k + 1].storage, s.used[e] - 1
    move(s.block[e], k + 1, k + 2, last - k - 1)
    unused = s.block[e, last]
    unused.low, unused.storage, unused.count = PADDING, freed, 0
    s.used[e] = last
    renew_top(s, e, k)


@inner
def tidy(s: SortedKeys, e: int) -> None:
    """Append every block to the one before it if that has room for it."""
    last = 0
    for k in range(1, s.used[e]):
        if s.block[e, last].count + s.block[e, k].count <= WIDTH:
            append(s, e, last, k)
        else:
            last += 1
            kept, moved = s.block[e, last], s.block[e, k]
            kept.low, kept.count = moved.low, moved.count
            kept.storage, moved.storage = moved.storage, kept.storage
    for k in range(last + 1, s.used[e]):
        s.block[e, k].low, s.block[e, k].count = PADDING, 0
    s.used[e] = last + 1
    renew_top(s, e, 0)


@inner
def append(s: SortedKeys, e: int, k: int, later: int) -> None:
    """Move the keys of a later block to the end of block k."""
    block, emptied = s.block[e, k], s.block[e, later]
    for q in range(emptied.count):
        s.keys[e, block.storage, block.count + q] = s.keys[e, emptied.storage, q]
        s.items[e, block.storage, block.count + q] = s.items[e, emptied.storage, q]
        s.keys[e, emptied.storage, q] = PADDING
    if block.count == 0:
        block.low = emptied.low
    block.count += emptied.count


@inner
def renew_top(s: SortedKeys, e: int, k: int) -> None:
    """Blocks from k on have moved."""
    if s.top.shape[1] > 0:
        for node in range(k // NODE, s.used[e] // NODE + 1):
            s.top[e, node] = s.block[e, node * NODE].low


@inner
def floor_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the largest key at or below `key`; NONE if there is none."""
    if key < s.block[e, 0].low:
        return NONE
    k = block_of(s, e, key)
    storage = s.block[e, k].storage
    ask_for_items(s, e, storage)
    p = lower_bound(s, e, k, key + 1) - 1
    s.found[e, 0], s.found[e, 1] = k, p
    return s.items[e, storage, p]


@inner
def floor_key(s: SortedKeys, e: int, key: int) -> int:
    """The largest key at or below `key`; NONE if there is none."""
    if key < s.block[e, 0].low:
        return NONE
    k = block_of(s, e, key)
    return s.keys[e, s.block[e, k].storage, lower_bound(s, e, k, key + 1) - 1]


@inner
def ceiling_item(s: SortedKeys, e: int, key: int) -> int:
    """Item of the smallest key at or above `key`; NONE if there is none."""
    k = block_of(s, e, key)
    p = lower_bound(s, e, k, key)
    if p == s.block[e, k].count:
        k, p = k + 1, 0
        if k == s.used[e]:
            return NONE
    s.found[e, 0], s.found[e, 1] = k, p
    return s.items[e, s.block[e, k].storage, p]


@inner
def first_key(s: SortedKeys, e: int) -> int:
    """The smallest key; NONE if empty."""
    return s.keys[e, s.block[e, 0].storage, 0] if s.block[e, 0].count > 0 else NONE


@inner
def first_item(s: SortedKeys, e: int) -> int:
    """Item of the smallest key; NONE if empty."""
    return s.items[e, s.block[e, 0].storage, 0] if s.block[e, 0].count > 0 else NONE


@inner
def last_key(s: SortedKeys, e: int) -> int:
    """The largest key; NONE if empty."""
    last = s.block[e, s.used[e] - 1]
    return s.keys[e, last.storage, last.count - 1] if last.count > 0 else NONE
