"""Moves blocks in the directory: evens out the nodes of a long list, and merges neighbouring blocks of few keys."""

from __future__ import annotations

from packenv.cluster.sorted_keys.arrays import (
    DENSE,
    EVEN,
    NODE,
    PADDING,
    SPARSE,
    WIDTH,
    SortedKeys,
)
from packenv.cluster.sorted_keys.directory import is_long
from packenv.compiled.decorators import apart, compiled


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
