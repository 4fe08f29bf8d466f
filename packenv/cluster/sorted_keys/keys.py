"""A sorted list of 64-bit keys, each with an item; one list for each cluster of a batch.

With few keys it is one sorted array; with millions it is a directory of blocks, each a sorted array
of at most WIDTH keys. To insert or remove a key is to search for its block and move keys within it. When all blocks are
used, neighbours that fit in one are merged: n keys never need more than 2n/WIDTH + 2 blocks.
"""

from __future__ import annotations

from packenv.cluster.records import NONE
from packenv.cluster.sorted_keys.arrays import (
    DENSE,
    EVEN,
    FILLED,
    LONG,
    NODE,
    PADDING,
    SHARED,
    SPARSE,
    STRIDE,
    WIDTH,
    SortedKeys,
    block_after,
    block_of,
    end_of_node,
    is_long,
    last_block,
    set_low,
    start_of_node,
)
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import move, natural


@apart
def forget_nodes(s: SortedKeys, e: int) -> None:
    """Empty all nodes, for a list that is no longer long."""
    for n in range(s.nodes[e]):
        s.filled[e, n], s.top[e, n] = 0, PADDING
    s.nodes[e] = 0


@apart
def even_out(s: SortedKeys, e: int, n: int) -> None:
    """Spread the blocks of node n, which is full or empty, and of the nodes around it evenly over these nodes.

    It takes the smallest aligned range of nodes of the right density; if there is none, all nodes are made anew.
    """
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
    """Make the nodes that a list needs, and spread over them its blocks, which lie together at the front."""
    s.nodes[e] = min(s.used[e] // EVEN + 1, s.filled.shape[1])
    deal_out(s, e, 0, s.nodes[e], s.used[e])


@apart
def gather(s: SortedKeys, e: int, first: int, end: int) -> int:
    """Move the blocks of nodes first .. end - 1 together, to the front of these nodes; returns their number."""
    start = to = first * NODE
    for node in range(first, end):
        for q in range(s.filled[e, node]):
            swap(s, e, to, node * NODE + q)
            to += 1
    return to - start


@compiled
def deal_out(s: SortedKeys, e: int, first: int, end: int, blocks: int) -> None:
    """Spread `blocks` blocks, which lie together at the front of nodes first .. end - 1, evenly over these nodes."""
    for node in range(end - 1, first - 1, -1):  # from the end, so that no block moves onto one that has not moved yet
        start, stop = blocks * (node - first) // (end - first), blocks * (node + 1 - first) // (end - first)
        for q in range(stop - start - 1, -1, -1):
            swap(s, e, node * NODE + q, first * NODE + start + q)
        s.filled[e, node] = stop - start
        s.top[e, node] = s.block[e, node * NODE].low


@compiled
def swap(s: SortedKeys, e: int, k: int, other: int) -> None:
    """Exchange two blocks."""
    a, b = s.block[e, k], s.block[e, other]
    a.low, b.low = b.low, a.low
    a.storage, b.storage = b.storage, a.storage
    a.count, b.count = b.count, a.count


@apart
def put_together(s: SortedKeys, e: int, blocks: int) -> int:
    """Append each of the first `blocks` blocks to the one before it if that has room; returns the number that is left."""
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


@apart
def make_room(s: SortedKeys, e: int, k: int, key: int) -> int:
    """Make room for `key`, which belongs in full block k; returns the block to insert it in."""
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
    """Merge block k, which has `left` keys, with a neighbour in its node if both are nearly empty; drop it if it is empty."""
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
    """Add an empty block behind all others."""
    if is_long(s, e) and s.filled[e, s.nodes[e] - 1] >= DENSE:
        s.nodes[e] += 1
    use_block(s, e, s.nodes[e] - 1)


@apart
def share(s: SortedKeys, e: int, k: int) -> None:
    """Move keys of full block k to the next block, which has room; cheaper than making a new block."""
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


@compiled
def use_block(s: SortedKeys, e: int, n: int) -> None:
    """Count a new block, of node n if the list is long; make the nodes if the list has just become long."""
    s.used[e] += 1
    if s.used[e] == LONG + 1:
        deal_out_all(s, e)
    elif is_long(s, e):
        s.filled[e, n] += 1


@apart
def drop(s: SortedKeys, e: int, k: int) -> None:
    """Take block k, which has no keys, out of the directory."""
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
    k, p = s.cursor[e, 0], s.cursor[e, 1]
    if s.keys[e, s.block[e, k].storage, p] != key:
        k = block_of(s, e, key)
        s.cursor[e, 0], s.cursor[e, 1] = k, lower_bound(s, e, k, key)


@apart
def key_before(s: SortedKeys, e: int) -> int:
    """The key before the one that was found last; NONE if that is the smallest."""
    k, p = s.cursor[e, 0], s.cursor[e, 1]
    if p > 0:
        return s.keys[e, s.block[e, k].storage, p - 1]
    if k == 0:
        return NONE
    before = s.block[e, k - 1 if k > start_of_node(s, e, k) else end_of_node(s, e, k - 1) - 1]
    return s.keys[e, before.storage, before.count - 1]


@apart
def key_after(s: SortedKeys, e: int) -> int:
    """The key after the one that was found last; PADDING if that is the largest."""
    k, p = s.cursor[e, 0], s.cursor[e, 1]
    if p + 1 < s.block[e, k].count:
        return s.keys[e, s.block[e, k].storage, p + 1]
    return s.block[e, block_after(s, e, k)].low


@apart
def remove_found(s: SortedKeys, e: int) -> None:
    """Remove the key that was found last."""
    k, p = s.cursor[e, 0], s.cursor[e, 1]
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
    s.cursor[e, 0], s.cursor[e, 1] = k, p
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
    s.cursor[e, 0], s.cursor[e, 1] = k, p
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
