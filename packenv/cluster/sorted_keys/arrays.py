"""The arrays of a sorted list: blocks of keys, an item for each key, and a directory of the blocks in key order.

A new block moves all directory entries behind it. In a long list the directory is divided into nodes of NODE entries, and
a new block moves only entries of its node; a full node shares its blocks with the fewest nodes around it that have room (a
packed memory array: Bender, Demaine and Farach-Colton, SIAM J. Comput. 35(2), 2005). A long list exceeds the caches. It
therefore keeps the smallest key of each node in a separate array, and a block can be prefetched before it is needed.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import Field, Sizes, allocate
from packenv.cluster.records import numbered
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import prefetch

WIDTH = 32
FILLED = 24  # keys in each block of a list that is filled in order: leaves room for more
STRIDE = 16  # keys that one vectorised comparison takes
SHARED = 4  # free entries of the next block from which a full block moves keys there
LONG = 512  # a list of more blocks than this is long
NODE = 2 * STRIDE  # directory entries of a node
SPARSE, EVEN, DENSE = 8, 16, 24  # average blocks of nodes that share: least, usual, most
EXPECTED = 512  # keys whose blocks can be prefetched at once: a power of two

PADDING = 2**63 - 1  # above every key: fills the unused end of a block
POSITION = 2**31 - 1  # mask that shows the compiler that a position is not negative

block_type = np.dtype(
    [
        ("low", "i8"),  # smallest key, PADDING for a block that is not in use
        ("storage", "i4"),  # row of `keys` and `items`
        ("count", "i4"),  # number of keys
    ],
    align=True,
)


def unused_directory(block: NDArray[np.void]) -> None:
    """Mark all blocks as unused; entry k has storage k."""
    block["low"] = PADDING
    numbered(block["storage"])


class SortedKeys(Frame):
    """A sorted list for each cluster; first axis: cluster.

    Blocks in use are in key order. In a short list they are the first blocks; in a long list the first ones of each node,
    where node n has blocks n NODE .. (n + 1) NODE - 1. The other blocks, among them always the last, have unused storage.
    """

    keys: Annotated[NDArray[np.int64], Field("clusters", "blocks", WIDTH, start=PADDING)]  # by storage, padded
    items: Annotated[NDArray[np.int32], Field("clusters", "blocks", WIDTH)]  # by storage
    block: Annotated[NDArray[np.void], Field("clusters", "blocks", records=block_type, start=unused_directory)]
    used: Annotated[NDArray[np.int64], Field("clusters", start=1)]  # blocks in use
    nodes: Annotated[NDArray[np.int64], Field("clusters")]  # nodes in use of a long list; each has a block in use
    filled: Annotated[NDArray[np.int64], Field("clusters", "nodes")]  # blocks in use of each
    top: Annotated[NDArray[np.int64], Field("clusters", "tops", start=PADDING)]  # smallest key of each, padded
    expected: Annotated[NDArray[np.int64], Field("clusters", "expected", scratch=True)]  # keys that were prefetched
    expected_at: Annotated[NDArray[np.int32], Field("clusters", "expected", scratch=True)]  # and their blocks
    cursor: Annotated[NDArray[np.int64], Field("clusters", 2, scratch=True)]  # block and position of the key that was found last


def key_sizes(clusters: int, capacity: int) -> Sizes:
    """Dimensions of lists of `capacity` keys each; those that can never be long have no nodes."""
    blocks, nodes = 2 * capacity // WIDTH + 3 if capacity > 0 else 0, 0
    long = blocks > LONG
    if long:
        nodes = blocks // DENSE + 2
        blocks = nodes * NODE + 1
    tops, expected = (nodes + STRIDE, EXPECTED) if long else (0, 0)
    return {"clusters": clusters, "blocks": blocks, "nodes": nodes, "tops": tops, "expected": expected}


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    return allocate(SortedKeys, key_sizes(clusters, capacity))


@compiled
def is_long(s: SortedKeys, e: int) -> bool:
    """Whether the directory has nodes; only then is it worth prefetching blocks."""
    return s.used[e] > LONG


@compiled
def block_of(s: SortedKeys, e: int, key: int) -> int:
    """Position of the last block that starts at or below `key` (the first block if none does)."""
    if is_long(s, e):
        return block_of_many(s, e, key)
    base = 0
    n = s.used[e]
    while n > 1:
        half = n >> 1
        base += half * (s.block[e, base + half].low <= key)  # without branches, which the processor would mispredict
        n -= half
    return base


@apart
def block_of_many(s: SortedKeys, e: int, key: int) -> int:
    """`block_of` in a long list: the block that was prefetched for this key, if that is still right, or by a search."""
    mark = mark_of(key)
    if s.expected[e, mark] == key:
        k = s.expected_at[e, mark]
        if s.block[e, k].low <= key < s.block[e, block_after(s, e, k)].low:
            return k
    return search_many(s, e, key)


@compiled
def block_after(s: SortedKeys, e: int, k: int) -> int:
    """The block behind block k; an unused block behind the last one."""
    if s.block[e, k + 1].low == PADDING and is_long(s, e):
        return k - k % NODE + NODE
    return k + 1


@compiled
def mark_of(key: int) -> int:
    """Position of a key in the table of prefetched keys."""
    return (key ^ (key >> 32)) & (EXPECTED - 1)


@apart
def search_many(s: SortedKeys, e: int, key: int) -> int:
    """`block_of` in a long list: bisect to STRIDE nodes, compare them all, then STRIDE blocks of the node that was found."""
    base = 0
    n = s.nodes[e]
    while n > STRIDE:
        half = n >> 1
        base += half * (s.top[e, base + half] <= key)
        n -= half
    first = base & POSITION
    node = first - 1
    for q in range(STRIDE):
        node += s.top[e, first + q] <= key
    first = (max(node, 0) * NODE) & POSITION
    first += STRIDE * (s.block[e, first + STRIDE].low <= key)
    k = first - 1
    for q in range(STRIDE):
        k += s.block[e, first + q].low <= key
    return max(k, 0)


@compiled
def set_low(s: SortedKeys, e: int, k: int, key: int) -> None:
    """Set the smallest key of block k, and of its node if k is its first block."""
    s.block[e, k].low = key
    if k % NODE == 0 and is_long(s, e):
        s.top[e, k // NODE] = key


@compiled
def start_of_node(s: SortedKeys, e: int, k: int) -> int:
    """The first block of k's node, or of a short list."""
    return k - k % NODE if is_long(s, e) else 0


@compiled
def end_of_node(s: SortedKeys, e: int, k: int) -> int:
    """The position behind the last block in use of k's node, or of a short list."""
    return k - k % NODE + s.filled[e, k // NODE] if is_long(s, e) else s.used[e]


@compiled
def last_block(s: SortedKeys, e: int) -> int:
    """The last block in use. In a long list some blocks before it are unused and have no keys."""
    last = s.nodes[e] - 1
    return last * NODE + s.filled[e, last] - 1 if is_long(s, e) else s.used[e] - 1


@compiled
def expect(s: SortedKeys, e: int, key: int) -> None:
    """Prefetch the block of a key that is needed soon, if the list is long.

    Without this and `foresee` best fit does 0.4 times as many tasks/s with 10^6 waiting (1.5 million down to 0.5).
    """
    if is_long(s, e):
        ask_for_block(s, e, key)


@apart
def ask_for_block(s: SortedKeys, e: int, key: int) -> None:
    """Find and prefetch the block of a key, and remember which block it is."""
    k, mark = search_many(s, e, key), mark_of(key)
    s.expected[e, mark], s.expected_at[e, mark] = key, k
    storage = s.block[e, k].storage
    for q in range(0, WIDTH, 8):
        prefetch(s.keys[e, storage], q)
    ask_for_items(s, e, storage)


@compiled
def ask_for_items(s: SortedKeys, e: int, storage: int) -> None:
    """Prefetch the items of a block."""
    for q in range(0, WIDTH, 16):
        prefetch(s.items[e, storage], q)
