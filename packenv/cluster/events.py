"""Events, places of the pool, messages and timers.

The queue of events is a heap by slot: event n is not later than events WAYS·n + 1 .. WAYS·(n + 1).
"""

from __future__ import annotations

from packenv.cluster.state import MESSAGE, NONE, UNUSED, Cluster
from packenv.compiled.decorators import apart, compiled

WAYS = 4  # four pairs of words are a cache line


@apart
def schedule_event(c: Cluster, i: int, slot: int) -> None:
    """Add an event for place i, not before this slot."""
    events, n = c.events[c.e], c.head[c.e].events
    c.head[c.e].events += 1
    while n > 0 and events[(n - 1) // WAYS, 0] > slot:
        above = (n - 1) // WAYS
        events[n, 0], events[n, 1] = events[above, 0], events[above, 1]
        n = above
    events[n, 0], events[n, 1] = slot, i


@compiled
def next_event(c: Cluster, limit: int) -> int:
    """Return the first event's slot, or `limit` if earlier."""
    return min(c.events[c.e, 0, 0], limit) if c.head[c.e].events > 0 else limit


@apart
def collect_due(c: Cluster) -> None:
    head, events = c.head[c.e], c.events[c.e]
    head.due = 0
    while head.events > 0 and events[0, 0] == head.now:
        c.due[c.e, head.due] = events[0, 1]
        head.due += 1
        head.events -= 1
        move_down(c, events[head.events, 0], events[head.events, 1])


@compiled
def move_down(c: Cluster, slot: int, i: int) -> None:
    """Move an event down from the empty top."""
    events, count, n, below = c.events[c.e], c.head[c.e].events, 0, 1
    while below < count:
        first = below
        for k in range(below + 1, min(below + WAYS, count)):
            if events[k, 0] < events[first, 0]:
                first = k
        if events[first, 0] >= slot:
            break
        events[n, 0], events[n, 1] = events[first, 0], events[first, 1]
        n, below = first, WAYS * first + 1
    events[n, 0], events[n, 1] = slot, i


@compiled
def allocate_place(c: Cluster) -> int:
    """Take an unused place, which must exist."""
    head = c.head[c.e]
    i = head.free
    head.free = c.task[c.e, i].next
    head.free_places -= 1
    return i


@compiled
def free_place(c: Cluster, i: int) -> None:
    """Mark place i as unused and first in line."""
    head = c.head[c.e]
    place = c.task[c.e, i]
    place.next = head.free
    place.server = NONE
    place.kind = UNUSED
    head.free = i
    head.free_places += 1


@compiled
def post(c: Cluster, slot: int, code: int, payload: int) -> None:
    """Post a message from the policy to itself.

    `on_message` receives it in the later slot `slot`, before the policy schedules. Raises ValueError for a slot that is not in
    the future, RuntimeError if the pool's reserve is used up.
    """
    if slot <= c.head[c.e].now:
        raise ValueError("a message can only be posted to a later slot")
    if c.head[c.e].free_places == 0:
        raise RuntimeError("more messages in one slot than the policy's `reserve`")
    i = allocate_place(c)
    message = c.task[c.e, i]
    message.kind = MESSAGE
    message.row = payload
    message.job = code
    message.since = c.head[c.e].posted  # messages of one slot are delivered in the order in which they were posted
    c.head[c.e].posted += 1
    message.slots = slot
    message.server = NONE
    schedule_event(c, i, slot)


@compiled
def wake_at(c: Cluster, slot: int) -> None:
    """Schedule in `slot` even without an event. Only the earliest counts."""
    head = c.head[c.e]
    if head.now < slot < head.wake:
        head.wake = slot
