"""The blocks of sorted keys (packenv.cluster.sorted_keys.keys): where each is stored, and in which order they follow.

A new block moves all behind it. In a long list these are only those of its node: the directory is cut into nodes of
NODE places, and one that is full evens out with the nodes around it, as few as have room (a packed memory array: Bender,
Demaine and Farach-Colton, SIAM J. Comput. 35(2), 2005). No cache holds a long list: there is a level above its nodes,
and a block can be asked for before it is wanted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import apart, inner
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import aligned_zeros, move, prefetch

WIDTH = 32
FILLED = 24  # keys in a block that is made anew: some more have room
STRIDE = 16  # keys that are compared at once
SHARED = 4  # room of the next block that is worth sharing
LONG = 512  # a list of more blocks is long
NODE = 2 * STRIDE  # blocks of a long list among which a new one is put
SPARSE, EVEN, DENSE = 8, 16, 24  # blocks of a node, on average over nodes that share: at least, mostly, at most
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
    """First axis: cluster.

    Blocks in use are in key order: in a short list the first ones, in a long one the first ones of each node, where node n
    has blocks n NODE .. (n + 1) NODE - 1. The others, the last one always, name unused storage.
    """

    keys: NDArray[np.int64]  # (E, blocks, WIDTH) by storage, padded
    items: NDArray[np.int32]  # (E, blocks, WIDTH) by storage
    block: NDArray[np.void]  # (E, blocks) block_type
    used: NDArray[np.int64]  # (E,) blocks in use
    nodes: NDArray[np.int64]  # (E,) nodes in use, of a long list: each has a block in use
    filled: NDArray[np.int64]  # (E, most nodes) blocks in use of each; (E, 0) if never long
    top: NDArray[np.int64]  # (E, most nodes + STRIDE) smallest key of each, padded; (E, 0) if never long
    expected: NDArray[np.int64]  # (E, EXPECTED) keys that are soon wanted; (E, 0) if never long
    expected_at: NDArray[np.int32]  # (E, EXPECTED) and their blocks
    found: NDArray[np.int64]  # (E, 2) block of the key that was found last, and where in the block


def sorted_keys(clusters: int, capacity: int) -> SortedKeys:
    """Room for `capacity` keys in each of `clusters` lists."""
    blocks, nodes = 2 * capacity // WIDTH + 3 if capacity > 0 else 0, 0
    long = blocks > LONG
    if long:
        nodes = blocks // DENSE + 2
        blocks = nodes * NODE + 1
    keys = aligned_zeros((clusters, blocks, WIDTH), np.dtype(np.int64))
    keys[:] = PADDING
    block = np.zeros((clusters, blocks), block_type)
    block["low"], block["storage"] = PADDING, np.arange(blocks)
    return SortedKeys(
        keys=keys,
        items=aligned_zeros((clusters, blocks, WIDTH), np.dtype(np.int32)),
        block=block,
        used=np.ones(clusters, np.int64),
        nodes=np.zeros(clusters, np.int64),
        filled=np.zeros((clusters, nodes), np.int64),
        top=np.full((clusters, nodes + STRIDE if long else 0), PADDING, np.int64),
        expected=np.zeros((clusters, EXPECTED if long else 0), np.int64),
        expected_at=np.zeros((clusters, EXPECTED if long else 0), np.int32),
        found=np.zeros((clusters, 2), np.int64),
    )


def copy_sorted_keys(old: SortedKeys, new: SortedKeys) -> None:
    """Fill a larger, empty list with the contents of a smaller one."""
    for field in ("keys", "items", "block", "filled", "top"):
        part = getattr(old, field)
        getattr(new, field)[:, : part.shape[1]] = part
    new.used[:], new.nodes[:] = old.used, old.nodes


@inner
def is_long(s: SortedKeys, e: int) -> bool:
    """Whether its directory has nodes, and it is worth asking early for blocks."""
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


@apart
def block_of_many(s: SortedKeys, e: int, key: int) -> int:
    """The same in a long list: where the key was expected, if that is still right, or by a search."""
    mark = mark_of(key)
    if s.expected[e, mark] == key:
        k = s.expected_at[e, mark]
        if s.block[e, k].low <= key < s.block[e, block_after(s, e, k)].low:
            return k
    return search_many(s, e, key)


@inner
def block_after(s: SortedKeys, e: int, k: int) -> int:
    """The block behind block k; behind the last one, one that is not in use."""
    if s.block[e, k + 1].low == PADDING and is_long(s, e):
        return k - k % NODE + NODE
    return k + 1


@inner
def mark_of(key: int) -> int:
    return (key ^ (key >> 32)) & (EXPECTED - 1)


@apart
def search_many(s: SortedKeys, e: int, key: int) -> int:
    """By halves to some nodes and then to some blocks of a node, which are compared all at once."""
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


@inner
def set_low(s: SortedKeys, e: int, k: int, key: int) -> None:
    """Note the smallest key of a block."""
    s.block[e, k].low = key
    if k % NODE == 0 and is_long(s, e):
        s.top[e, k // NODE] = key


@inner
def start_of_node(s: SortedKeys, e: int, k: int) -> int:
    """The first block of k's node, or of a short list."""
    return k - k % NODE if is_long(s, e) else 0


@inner
def end_of_node(s: SortedKeys, e: int, k: int) -> int:
    """Behind the last block in use of k's node, or of a short list."""
    return k - k % NODE + s.filled[e, k // NODE] if is_long(s, e) else s.used[e]


@inner
def last_block(s: SortedKeys, e: int) -> int:
    """The last block in use; a long list has unused ones before it, of no keys."""
    last = s.nodes[e] - 1
    return last * NODE + s.filled[e, last] - 1 if is_long(s, e) else s.used[e] - 1


@inner
def expect(s: SortedKeys, e: int, key: int) -> None:
    """Ask early for the block where a key is wanted soon, if the list is long."""
    if is_long(s, e):
        ask_for_block(s, e, key)


@apart
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


@apart
def make_room(s: SortedKeys, e: int, k: int, key: int) -> int:
    """The block for `key`, which belongs to full block k, with room for it."""
    end = end_of_node(s, e, k)
    if k + 1 < end and s.block[e, k + 1].count <= WIDTH - SHARED:
        share(s, e, k)
    else:
        if is_long(s, e):
            if end % NODE == 0:
                even_out(s, e, k // NODE)
                k = block_of(s, e, key)
        elif end + 1 == s.block.shape[1]:
            s.used[e] = put_together(s, e, end)
            k = block_of(s, e, key)
        split(s, e, k)
    if is_long(s, e):
        return block_of(s, e, key)
    return k + 1 if s.block[e, k + 1].low <= key else k


@apart
def use_less(s: SortedKeys, e: int, k: int, left: int) -> None:
    """Have block k, of few keys or none, and a neighbour in its node put together; an empty one always goes."""
    together = WIDTH // 2
    if left == 0:
        if s.used[e] > 1:
            drop(s, e, k)
    elif k + 1 < end_of_node(s, e, k) and s.block[e, k + 1].count + left <= together:
        append(s, e, k, k + 1)
        drop(s, e, k + 1)
    elif k > start_of_node(s, e, k) and s.block[e, k - 1].count + left <= together:
        append(s, e, k - 1, k)
        drop(s, e, k)


@apart
def add_block(s: SortedKeys, e: int) -> None:
    """A new block behind all others, of no keys yet."""
    if is_long(s, e) and s.filled[e, s.nodes[e] - 1] >= DENSE:
        s.nodes[e] += 1
    use_block(s, e, s.nodes[e] - 1)


@apart
def share(s: SortedKeys, e: int, k: int) -> None:
    """Let full block k share the room of the next one, which is less work than a new block."""
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


@apart
def split(s: SortedKeys, e: int, k: int) -> None:
    """Move the upper half of full block k to a new block k + 1, for which its node has room."""
    end = end_of_node(s, e, k)
    old, new = s.block[e, k].storage, s.block[e, end].storage
    half = WIDTH // 2
    for q in range(half):
        s.keys[e, new, q] = s.keys[e, old, half + q]
        s.items[e, new, q] = s.items[e, old, half + q]
        s.keys[e, old, half + q] = PADDING
    move(s.block[e], k + 2, k + 1, end - k - 1)
    added = s.block[e, k + 1]
    added.low, added.storage = s.keys[e, new, 0], new
    added.count = s.block[e, k].count = half
    use_block(s, e, k // NODE)


@inner
def use_block(s: SortedKeys, e: int, n: int) -> None:
    """Count a new block, in node n of a long list; one that has become long gets its nodes."""
    s.used[e] += 1
    if s.used[e] == LONG + 1:
        deal_out_all(s, e)
    elif is_long(s, e):
        s.filled[e, n] += 1


@apart
def drop(s: SortedKeys, e: int, k: int) -> None:
    """Give back block k, which has no keys."""
    last, storage = end_of_node(s, e, k) - 1, s.block[e, k].storage
    move(s.block[e], k, k + 1, last - k)
    unused = s.block[e, last]
    unused.low, unused.storage, unused.count = PADDING, storage, 0
    s.used[e] -= 1
    n = k // NODE
    if s.used[e] == LONG:
        s.filled[e, n] -= 1
        gather(s, e, 0, s.nodes[e])
        forget_nodes(s, e)
    elif is_long(s, e):
        s.filled[e, n] -= 1
        s.top[e, n] = s.block[e, n * NODE].low
        if s.filled[e, n] == 0:
            even_out(s, e, n)


@apart
def forget_nodes(s: SortedKeys, e: int) -> None:
    for n in range(s.nodes[e]):
        s.filled[e, n], s.top[e, n] = 0, PADDING
    s.nodes[e] = 0


@apart
def even_out(s: SortedKeys, e: int, n: int) -> None:
    """Let node n, which is full or empty, share its blocks with as few nodes around it as it takes; or all with all."""
    width, nodes = 1, s.nodes[e]
    while width < nodes:
        width *= 2
        first = n - n % width
        end = min(first + width, nodes)
        blocks = 0
        for node in range(first, end):
            blocks += s.filled[e, node]
        if SPARSE * (end - first) <= blocks <= DENSE * (end - first):
            deal_out(s, e, first, end, gather(s, e, first, end))
            return
    gather(s, e, 0, nodes)
    forget_nodes(s, e)
    if s.used[e] > DENSE * s.filled.shape[1]:
        s.used[e] = put_together(s, e, s.used[e])
    if is_long(s, e):
        deal_out_all(s, e)


@apart
def deal_out_all(s: SortedKeys, e: int) -> None:
    """Give a list as many nodes as it needs; its blocks lie together at the front."""
    s.nodes[e] = min(s.used[e] // EVEN + 1, s.filled.shape[1])
    deal_out(s, e, 0, s.nodes[e], s.used[e])


@apart
def gather(s: SortedKeys, e: int, first: int, end: int) -> int:
    """Move the blocks of nodes first .. end - 1 together, to the front; returns how many they are."""
    start = to = first * NODE
    for node in range(first, end):
        for q in range(s.filled[e, node]):
            swap(s, e, to, node * NODE + q)
            to += 1
    return to - start


@inner
def deal_out(s: SortedKeys, e: int, first: int, end: int, blocks: int) -> None:
    """Give each of these nodes as many of the blocks that lie together at their front."""
    for node in range(end - 1, first - 1, -1):  # from behind: no block meets another that is still to move
        start, stop = blocks * (node - first) // (end - first), blocks * (node + 1 - first) // (end - first)
        for q in range(stop - start - 1, -1, -1):
            swap(s, e, node * NODE + q, first * NODE + start + q)
        s.filled[e, node] = stop - start
        s.top[e, node] = s.block[e, node * NODE].low


@inner
def swap(s: SortedKeys, e: int, k: int, other: int) -> None:
    """Exchange two blocks."""
    a, b = s.block[e, k], s.block[e, other]
    a.low, b.low = b.low, a.low
    a.storage, b.storage = b.storage, a.storage
    a.count, b.count = b.count, a.count


@apart
def put_together(s: SortedKeys, e: int, blocks: int) -> int:
    """Append every one of the first `blocks` blocks to the one before it if that has room; returns how many are left."""
    last = 0
    for k in range(1, blocks):
        if s.block[e, last].count + s.block[e, k].count <= WIDTH:
            append(s, e, last, k)
            s.block[e, k].low, s.block[e, k].count = PADDING, 0
        else:
            last += 1
            swap(s, e, last, k)
    return last + 1


@apart
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
