"""The event queue of clusters with at most FEW tasks in service: an array sorted by slot, the first event last.

All events of a small cluster then share a few cache lines, and no event moves between levels as in the wheel.
"""

from __future__ import annotations

from packenv.cluster.state import Cluster
from packenv.compiled.decorators import fused

FEW = 64


@fused
def has_few_events(c: Cluster) -> bool:
    """Whether this array is used instead of the wheel."""
    return c.wheel.shape[1] == 0


@fused
def insert_event(c: Cluster, i: int, slot: int) -> None:
    """Add an event, a pair of words: the slot, and the place in the pool."""
    head, events = c.head[c.e], c.few_events[c.e]
    n = head.events
    while n > 0 and events[2 * n - 2] < slot:
        events[2 * n], events[2 * n + 1] = events[2 * n - 2], events[2 * n - 1]
        n -= 1
    events[2 * n], events[2 * n + 1] = slot, i
    head.events += 1


@fused
def first_event(c: Cluster, limit: int) -> int:
    """The slot of the first event, or `limit` if that is earlier."""
    n = c.head[c.e].events
    return min(c.few_events[c.e, 2 * n - 2], limit) if n > 0 else limit


@fused
def take_due(c: Cluster) -> None:
    """Move the events of slot `now` to the list `due`."""
    head, events, due = c.head[c.e], c.few_events[c.e], c.due[c.e]
    n, taken = head.events, 0
    while n > 0 and events[2 * n - 2] == head.now:
        n -= 1
        due[taken] = events[2 * n + 1]
        taken += 1
    head.events, head.due = n, taken
