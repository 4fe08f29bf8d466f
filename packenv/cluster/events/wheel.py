"""The event queue for completions and messages: a timing wheel whose levels have 64 buckets each.

An event in slot x is on the level of the highest base-64 digit in which x differs from the wheel's current slot, in the
bucket of that digit of x. Adding an event is O(1), each event moves down at most once per level, and slots without events
cost nothing.

A bucket is a chain of blocks of BLOCK words: the number of the block before, then up to 31 events. An event has the last 32
bits of its slot above the 32 bits of its place in the task pool, so that the tasks' records, which are far apart in memory,
are not read until their events are due. A position in `events` identifies an event and its block.

Clusters with few tasks in service have no wheel (packenv.cluster.events.few).
"""

from __future__ import annotations

from packenv.cluster.events.few import first_event, has_few_events, insert_event, take_due
from packenv.cluster.records import BLOCK
from packenv.cluster.state import MESSAGE, NEVER, NONE, UNUSED, Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import leading_zeros, lowest_bit

LEVELS = 11  # 64 ** 11 > 2 ** 63
BUCKETS = LEVELS * 64
SLOT_BITS = 32
LOW = (1 << SLOT_BITS) - 1
LAST_LOW_LEVEL = SLOT_BITS // 6  # a bucket of this level or below spans fewer than 2 ** SLOT_BITS slots


def blocks_for(places: int) -> int:
    """Blocks that suffice for any `places` events: each bucket may have one that is not full, and one is being emptied."""
    in_use = min(places, BUCKETS)
    return (places + (BLOCK - 2) * in_use) // (BLOCK - 1) + 1


@compiled
def schedule_event(c: Cluster, i: int, slot: int) -> None:
    """Add an event for place i of the pool, due in `slot`, which is not before the current slot."""
    if has_few_events(c):
        insert_event(c, i, slot)
    else:
        add_to_wheel(c, i, slot)


@apart
def add_to_wheel(c: Cluster, i: int, slot: int) -> None:
    """`schedule_event` for clusters with a wheel."""
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


@compiled
def take_block(c: Cluster, before: int) -> int:
    """Take an unused block, chained to block `before` (NONE for the first one of a bucket); returns its first position."""
    head = c.head[c.e]
    position = head.block * BLOCK
    head.block = c.events[c.e, position]
    c.events[c.e, position] = before
    return position


@compiled
def event_before(c: Cluster, position: int) -> int:
    """The position of the event before this one in a bucket that is being emptied, or NONE; frees a block that is read."""
    if position % BLOCK > 1:
        return position - 1
    head = c.head[c.e]
    before = c.events[c.e, position - 1]
    c.events[c.e, position - 1] = head.block
    head.block = position // BLOCK
    return before * BLOCK + BLOCK - 1  # NONE if that is NONE


@compiled
def next_event(c: Cluster, limit: int) -> int:
    """The slot of the first event, or `limit` if that is earlier."""
    return first_event(c, limit) if has_few_events(c) else turn_wheel(c, limit)


@apart
def turn_wheel(c: Cluster, limit: int) -> int:
    """`next_event` for clusters with a wheel: moves events down the levels until the slot of the first one is known."""
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


@compiled
def take_bucket(c: Cluster, level: int, digit: int) -> int:
    """Empty a bucket; returns the position of its last event."""
    bucket = level * 64 + digit
    last = c.wheel[c.e, bucket]
    c.wheel[c.e, bucket] = NONE
    c.wheel_bits[c.e, level] &= ~(1 << digit)
    return last


@compiled
def collect_due(c: Cluster) -> None:
    """Move the events of slot `now` to the list `due`."""
    if has_few_events(c):
        take_due(c)
    else:
        take_from_wheel(c)


@apart
def take_from_wheel(c: Cluster) -> None:
    """`collect_due` for clusters with a wheel."""
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


@compiled
def take_place(c: Cluster) -> int:
    """Take an unused place of the pool; there must be one."""
    head = c.head[c.e]
    i = head.free
    head.free = c.task[c.e, i].next
    head.unused -= 1
    return i


@compiled
def give_place_back(c: Cluster, i: int) -> None:
    """Mark place i as unused; it is the next one to be taken."""
    head = c.head[c.e]
    place = c.task[c.e, i]
    place.next = head.free
    place.server = NONE
    place.kind = UNUSED
    head.free = i
    head.unused += 1


@compiled
def post(c: Cluster, slot: int, code: int, payload: int) -> None:
    """Post a message from the policy to itself: `on_message` receives it in a later slot, before the policy schedules.

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


@compiled
def wake_at(c: Cluster, slot: int) -> None:
    """Ask to schedule in `slot` even if nothing arrives or completes; cheaper than a message.

    Only the earliest slot asked for is kept.
    """
    head = c.head[c.e]
    if head.now < slot < head.wake:
        head.wake = slot


@compiled
def clear_wake(c: Cluster) -> None:
    """Remove the policy's timer."""
    c.head[c.e].wake = NEVER
