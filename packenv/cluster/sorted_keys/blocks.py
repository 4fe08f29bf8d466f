"""Splits a full block, or moves keys out of it, and merges blocks that have few keys."""

from __future__ import annotations

from packenv.cluster.sorted_keys.arrays import (
    DENSE,
    LONG,
    NODE,
    PADDING,
    SHARED,
    WIDTH,
    SortedKeys,
)
from packenv.cluster.sorted_keys.directory import block_of, end_of_node, is_long, set_low, start_of_node
from packenv.cluster.sorted_keys.nodes import append, deal_out_all, even_out, forget_nodes, gather, put_together
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import move


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
