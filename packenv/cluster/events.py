"""The one event queue: a timing wheel of 64-slot levels (completions, timers and messages alike).

An event in slot x lies on the level of the highest base-64 digit in which x differs from the wheel's own slot, in
the bucket of that digit: posting is O(1), and each event moves down once per level at most. Events are places of
the task pool, chained through `next`, so the wheel itself is a few hundred numbers, and idle time costs nothing.
"""

from __future__ import annotations

from packenv.cluster.machine import leading_zeros, lowest_bit
from packenv.cluster.state import MESSAGE, NEVER, NONE, UNUSED, Cluster
from packenv.compile import inlined, outlined

LEVELS = 11  # 64 ** 11 > 2 ** 63


@inlined
def schedule_event(c: Cluster, i: int, slot: int) -> None:
    """Put pool place i into the wheel, due in `slot` >= the wheel's own."""
    difference = slot ^ c.head[c.e].wheel
    level = 0 if difference == 0 else (63 - leading_zeros(difference)) // 6
    digit = (slot >> (6 * level)) & 63
    bucket = level * 64 + digit
    c.task[c.e, i].next = c.wheel[c.e, bucket]
    c.wheel[c.e, bucket] = i
    c.wheel_bits[c.e, level] |= 1 << digit


@outlined
def next_event(c: Cluster, limit: int) -> int:
    """The slot of the first event in the wheel, or `limit` if that is earlier. Turns the wheel up to there."""
    head = c.head[c.e]
    while True:
        level = 0
        while level < LEVELS and c.wheel_bits[c.e, level] == 0:
            level += 1
        if level == LEVELS:
            return limit
        digit = lowest_bit(c.wheel_bits[c.e, level])
        slot = (((head.wheel >> (6 * level)) & -64) | digit) << (6 * level)
        if level == 0 or slot > limit:
            return min(slot, limit)
        head.wheel = slot
        i = take_bucket(c, level, digit)
        while i != NONE:
            following = c.task[c.e, i].next
            schedule_event(c, i, c.task[c.e, i].slots)
            i = following


@inlined
def take_bucket(c: Cluster, level: int, digit: int) -> int:
    """Empty a bucket; returns its first event."""
    bucket = level * 64 + digit
    first = c.wheel[c.e, bucket]
    c.wheel[c.e, bucket] = NONE
    c.wheel_bits[c.e, level] &= ~(1 << digit)
    return first


@inlined
def collect_due(c: Cluster) -> None:
    """Move the events of slot `now` to the list `due`."""
    head = c.head[c.e]
    n = 0
    if head.now >> 6 == head.wheel >> 6:
        head.wheel = head.now
        digit = head.now & 63
        if (c.wheel_bits[c.e, 0] >> digit) & 1:
            i = take_bucket(c, 0, digit)
            while i != NONE:
                c.due[c.e, n] = i
                n += 1
                i = c.task[c.e, i].next
    head.due = n


@inlined
def take_place(c: Cluster) -> int:
    """An unused place of the pool; there must be one."""
    head = c.head[c.e]
    i = head.free
    head.free = c.task[c.e, i].next
    head.unused -= 1
    return i


@inlined
def give_place_back(c: Cluster, i: int) -> None:
    head = c.head[c.e]
    c.task[c.e, i].next = head.free
    c.task[c.e, i].server = NONE
    c.task[c.e, i].kind = UNUSED
    head.free = i
    head.unused += 1


@inlined
def post(c: Cluster, slot: int, code: int, payload: int) -> None:
    """A message from the policy to itself, delivered to its `on_message` in a later slot, before it schedules.

    Raises ValueError for a slot that is not in the future, RuntimeError if the pool's reserve is used up.
    """
    if slot <= c.head[c.e].now:
        raise ValueError("a message can only be posted to a later slot")
    if c.head[c.e].unused == 0:
        raise RuntimeError("more messages in one slot than the policy's `reserve`")
    i = take_place(c)
    message = c.task[c.e, i]
    message.kind = MESSAGE
    message.row = payload
    message.job = code
    message.eligible = c.head[c.e].posted  # messages of one slot are delivered in the order in which they were posted
    c.head[c.e].posted += 1
    message.slots = slot
    message.server = NONE
    schedule_event(c, i, slot)


@inlined
def wake_at(c: Cluster, slot: int) -> None:
    """Ask to schedule in `slot` even if nothing arrives or completes; a bare timer, cheaper than a message."""
    head = c.head[c.e]
    if head.now < slot < head.wake:
        head.wake = slot


@inlined
def clear_wake(c: Cluster) -> None:
    c.head[c.e].wake = NEVER
