"""Releases rows into the queue when their predecessors have completed."""

from __future__ import annotations

from packenv.cluster.state import Cluster
from packenv.compiled.decorators import apart, compiled


@apart
def release_successors(c: Cluster, row: int) -> None:
    """Count a completed row off the pending predecessors of its successors, through barriers; release rows with none left."""
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


@compiled
def was_last(c: Cluster, node: int) -> bool:
    """Subtract one from a node's pending predecessors; returns whether none is left."""
    c.precedence.pending[c.e, node] -= 1
    return c.precedence.pending[c.e, node] == 0


@compiled
def release(c: Cluster, row: int) -> None:
    """Add a row whose predecessors have completed to the rows that join the queue in this slot, if it has arrived."""
    head = c.head[c.e]
    if row < head.next_row:
        c.precedence.released[c.e, head.released] = row
        head.released += 1
        head.held_back -= 1
