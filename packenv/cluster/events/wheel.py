"""The one event queue: a timing wheel of 64-slot levels (completions, timers and messages alike).

An event in slot x lies on the level of the highest base-64 digit in which x differs from the wheel's own slot, in
the bucket of that digit: posting is O(1), and each event moves down once per level at most; idle time costs nothing.

A bucket is a chain of blocks of four cache lines: the block before, then up to 31 events, each a place of the task
pool below the last 32 bits of its slot. So the tasks' own records, far apart in memory, are not touched until their
events are due, and few links are followed. A position in `events` names both an event and its block.

Small clusters have no wheel (packenv.cluster.events.few).
"""

from __future__ import annotations

from packenv.cluster.events.few import first_event, has_few_events, insert_event, take_due
from packenv.cluster.records import BLOCK
from packenv.cluster.state import MESSAGE, NEVER, NONE, UNUSED, Cluster
from packenv.compiled.decorators import apart, inner
from packenv.compiled.intrinsics import leading_zeros, lowest_bit

LEVELS = 11  # 64 ** 11 > 2 ** 63
BUCKETS = LEVELS * 64
SLOT_BITS = 32
LOW = (1 << SLOT_BITS) - 1
LAST_LOW_LEVEL = SLOT_BITS // 6  # a bucket of this level or below spans fewer than 2 ** SLOT_BITS slots


def blocks_for(places: int) -> int:
    """How many blocks hold any `places` events: every bucket may have one that is not full, and one is being emptied."""
    in_use = min(places, BUCKETS)
    return (places + (BLOCK - 2) * in_use) // (BLOCK - 1) + 1


@inner
def schedule_event(c: Cluster, i: int, slot: int) -> None:
    """Put pool place i into the wheel, due in `slot` >= the wheel's own."""
    if has_few_events(c):
        insert_event(c, i, slot)
    else:
        add_to_wheel(c, i, slot)


@apart
def add_to_wheel(c: Cluster, i: int, slot: int) -> None:
    """The same where there is a wheel."""
    difference = slot ^ c.head[c.e].wheel
    level = 0 if difference == 0 else (63 - leading_zeros(difference)) // 6
    digit = (slot >> (6 * level)) & 63
    bucket = level * 64 + digit
    position = c.wheel[c.e, bucket]
    if position % BLOCK == BLOCK - 1:  # full, or NONE
        position = take_block(c, position // BLOCK)
    c.events[c.e, position + 1] = (slot << SLOT_BITS) | i
    c.wheel[c.e, bucket] = position + 1
    c.wheel_bits[c.e, level] |= 1 << digit


@inner
def take_block(c: Cluster, before: int) -> int:
    """The position of an unused block, which now follows block `before` (NONE for the first one of a bucket)."""
    head = c.head[c.e]
    position = head.block * BLOCK
    head.block = c.events[c.e, position]
    c.events[c.e, position] = before
    return position


@inner
def event_before(c: Cluster, position: int) -> int:
    """The position of the event before this one in a bucket that is being emptied, or NONE."""
    if position % BLOCK > 1:
        return position - 1
    head = c.head[c.e]
    before = c.events[c.e, position - 1]
    c.events[c.e, position - 1] = head.block
    head.block = position // BLOCK
    return before * BLOCK + BLOCK - 1  # NONE if that is NONE


@inner
def next_event(c: Cluster, limit: int) -> int:
    """The slot of the first event, or `limit` if that is earlier."""
    return first_event(c, limit) if has_few_events(c) else turn_wheel(c, limit)


@apart
def turn_wheel(c: Cluster, limit: int) -> int:
    """Turn it up to the slot of the first event, or to `limit` if that is earlier; returns that slot."""
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
        position = take_bucket(c, level, digit)
        while position != NONE:
            event = c.events[c.e, position]
            position = event_before(c, position)
            i = event & LOW
            if level <= LAST_LOW_LEVEL:
                add_to_wheel(c, i, slot + (((event >> SLOT_BITS) - slot) & LOW))
            else:
                add_to_wheel(c, i, c.task[c.e, i].slots)


@inner
def take_bucket(c: Cluster, level: int, digit: int) -> int:
    """Empty a bucket; returns the position of its last event."""
    bucket = level * 64 + digit
    last = c.wheel[c.e, bucket]
    c.wheel[c.e, bucket] = NONE
    c.wheel_bits[c.e, level] &= ~(1 << digit)
    return last


@inner
def collect_due(c: Cluster) -> None:
    """Move the events of slot `now` to the list `due`."""
    if has_few_events(c):
        take_due(c)
    else:
        take_from_wheel(c)


@apart
def take_from_wheel(c: Cluster) -> None:
    """The same where there is a wheel."""
    head = c.head[c.e]
    n = 0
    if head.now >> 6 == head.wheel >> 6:
        head.wheel = head.now
        digit = head.now & 63
        if (c.wheel_bits[c.e, 0] >> digit) & 1:
            position = take_bucket(c, 0, digit)
            while position != NONE:
                c.due[c.e, n] = c.events[c.e, position] & LOW
                n += 1
                position = event_before(c, position)
    head.due = n


@inner
def take_place(c: Cluster) -> int:
    """An unused place of the pool; there must be one."""
    head = c.head[c.e]
    i = head.free
    head.free = c.task[c.e, i].next
    head.unused -= 1
    return i


@inner
def give_place_back(c: Cluster, i: int) -> None:
    """Let place i be the first one to be taken again."""
    head = c.head[c.e]
    place = c.task[c.e, i]
    place.next = head.free
    place.server = NONE
    place.kind = UNUSED
    head.free = i
    head.unused += 1


@inner
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
    message.since = c.head[c.e].posted  # messages of one slot are delivered in the order in which they were posted
    c.head[c.e].posted += 1
    message.slots = slot
    message.server = NONE
    schedule_event(c, i, slot)


@inner
def wake_at(c: Cluster, slot: int) -> None:
    """Ask to schedule in `slot` even if nothing arrives or completes; a bare timer, cheaper than a message."""
    head = c.head[c.e]
    if head.now < slot < head.wake:
        head.wake = slot


@inner
def clear_wake(c: Cluster) -> None:
    c.head[c.e].wake = NEVER
