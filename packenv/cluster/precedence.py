"""Rows whose predecessors have completed join the queue, if they have arrived."""

from __future__ import annotations

from packenv.cluster.state import Cluster
from packenv.compiled.decorators import apart, inner


@apart
def release_successors(c: Cluster, row: int) -> None:
    """Count down the predecessors of those that wait for `row`, and of those behind a barrier that it opens."""
    precedence = c.precedence
    rows = precedence.released.shape[1]
    for n in range(precedence.offsets[row], precedence.offsets[row + 1]):
        node = precedence.successor[n]
        if not was_last(c, node):
            continue
        if node < rows:
            release(c, node)
        else:
            for m in range(precedence.offsets[node], precedence.offsets[node + 1]):
                if was_last(c, precedence.successor[m]):
                    release(c, precedence.successor[m])


@inner
def was_last(c: Cluster, node: int) -> bool:
    """Count down a node's predecessors; whether none is left."""
    c.precedence.pending[c.e, node] -= 1
    return c.precedence.pending[c.e, node] == 0


@inner
def release(c: Cluster, row: int) -> None:
    """Let a row whose predecessors have completed join the queue in this slot, if it has arrived."""
    head = c.head[c.e]
    if row < head.next_row:
        c.precedence.released[c.e, head.released] = row
        head.released += 1
        head.held_back -= 1
