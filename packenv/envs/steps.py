"""What all environments do between two decisions: let time pass, keep their own books, and say what came of it."""

from __future__ import annotations

from packenv.cluster.by_type import type_of
from packenv.cluster.servers import kind_of, server_count, touch
from packenv.cluster.slots import FINISHED, GROW, READY, all_done, begin_slot, place
from packenv.cluster.slots import LIMIT as TOO_MANY
from packenv.cluster.state import DONE as COMPLETED
from packenv.cluster.state import NEVER, NONE, TASK
from packenv.cluster.waiting import now, order_new, size_of
from packenv.compile import inlined, outlined
from packenv.envs.state import DECIDING, DONE, HORIZON, LIMIT, OVER, STUCK, WAITING, Batch
from packenv.units import UNIT


@inlined
def begin_step(b: Batch) -> None:
    """Remember where the step begins."""
    c, turn = b.c, b.turn[b.c.e]
    head = c.head[c.e]
    turn.invalid = 0
    turn.placed = 0
    turn.now = head.now
    turn.queue_sum = head.queue_sum
    turn.size_sum = head.size_sum
    turn.delay_sum = head.delay_sum
    turn.tasks = head.started


@inlined
def end_step(b: Batch) -> None:
    """Say what came of it: nothing, on the way to the first decision of an episode."""
    c, turn, passage = b.c, b.turn[b.c.e], b.passage[b.c.e]
    if turn.fresh:
        turn.fresh = 0
        begin_step(b)
    head = c.head[c.e]
    elapsed = float(head.now - turn.now)
    passage.elapsed = elapsed
    passage.queue = float(head.queue_sum - turn.queue_sum)
    passage.size = (head.size_sum - turn.size_sum) * (1.0 / UNIT)
    passage.delay = float(head.delay_sum - turn.delay_sum)
    passage.started = float(head.started - turn.tasks)
    passage.placed = float(turn.placed) * (1.0 / UNIT)
    passage.arriving = turn.exogenous * elapsed
    passage.slot = head.now
    passage.invalid = turn.invalid
    passage.reason = turn.reason


@inlined
def next_slot(b: Batch) -> int:
    """Go to the next slot in which something happens; GROW if the pool must grow first.

    The row's phase is DECIDING then, whether or not there is something to decide, or OVER.
    """
    c, turn = b.c, b.turn[b.c.e]
    reason = begin_slot(c, turn.until)
    if reason == GROW:
        return GROW
    turn.phase = OVER
    if reason == READY:
        count_completions(b)
        turn.phase = DECIDING
        if b.finite and all_done(c):
            turn.phase, turn.reason = OVER, DONE
    elif reason == TOO_MANY:
        turn.reason = LIMIT
        order_new(c)  # the arrivals were cut short before they were put in order
    elif reason == FINISHED:
        if turn.until < NEVER:
            turn.reason = HORIZON
        else:
            turn.reason = DONE if all_done(c) else STUCK
    return READY


@inlined
def put(b: Batch, i: int, server: int) -> None:
    """Start task i on a server."""
    c = b.c
    b.turn[c.e].placed += size_of(c, i)
    place(c, i, server)
    slot = now(c)
    b.since[c.e, i] = slot
    if b.ages.shape[1] > 0:
        b.ages[c.e, server, 0] += slot
        b.ages[c.e, server, 1] += float(slot) * slot
        classify(b, server)


@inlined
def count_completions(b: Batch) -> None:
    """Bring the servers' books up to date with what left in this slot."""
    c = b.c
    if b.ages.shape[1] > 0:
        for n in range(c.head[c.e].due):
            i = c.due[c.e, n]
            if c.task[c.e, i].kind == COMPLETED:
                server, start = c.task[c.e, i].server, float(b.since[c.e, i])
                b.ages[c.e, server, 0] -= start
                b.ages[c.e, server, 1] -= start * start
        for n in range(c.head[c.e].freed):
            classify(b, c.freed[c.e, n])


@inlined
def scalar_room(b: Batch, server: int) -> int:
    """Room of a server in scalar size units: where vectors are packed, that of its scarcest resource."""
    c = b.c
    if not c.vectors:
        return c.server[c.e, server].room
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    room = c.server[c.e, server].capacity
    for r in range(c.scale.shape[0]):
        if c.scale[r] > 0:
            room = min(room, c.free[c.e, server, r] * most // c.scale[r])
    return room


@outlined
def classify(b: Batch, server: int) -> None:
    """Count a server under the type of its room; the last class has none."""
    c = b.c
    room = scalar_room(b, server)
    j = type_of(c, kind_of(c, server), room) if room > 0 else b.rooms.shape[1] - 1
    old = b.room_class[c.e, server]
    if old != NONE:
        b.rooms[c.e, old] -= 1
    b.rooms[c.e, j] += 1
    b.room_class[c.e, server] = j


@inlined
def pass_over(b: Batch, server: int) -> None:
    """Ask this server no more before its next completion or the next arrival: the orders of servers forget it so long."""
    c = b.c
    c.server[c.e, server].closed = 1
    touch(c, server)
    b.turn[c.e].passed = 1


@inlined
def call_back(b: Batch) -> None:
    """Servers that were passed, and have had a completion or see an arrival, are asked again."""
    c, turn = b.c, b.turn[b.c.e]
    if turn.passed:
        head = c.head[c.e]
        for n in range(head.freed):
            reopen(b, c.freed[c.e, n])
        if head.fresh > 0:
            turn.passed = 0
            for server in range(server_count(c)):
                reopen(b, server)


@inlined
def reopen(b: Batch, server: int) -> None:
    c = b.c
    if c.server[c.e, server].closed:
        c.server[c.e, server].closed = 0
        touch(c, server)


@outlined
def begin_episode(b: Batch) -> None:
    """Count anew what stands in the servers, and set out for the first decision."""
    c, e = b.c, b.c.e
    if b.ages.shape[1] > 0:
        for k in range(b.rooms.shape[1]):
            b.rooms[e, k] = 0
        for server in range(server_count(c)):
            b.ages[e, server, 0] = b.ages[e, server, 1] = 0.0
            b.room_class[e, server] = NONE
            classify(b, server)
        for i in range(c.task.shape[1]):
            task = c.task[e, i]
            if task.kind == TASK and task.server != NONE:
                start = float(b.since[e, i])
                b.ages[e, task.server, 0] += start
                b.ages[e, task.server, 1] += start * start
    for server in range(b.active.shape[1]):
        b.active[e, server] = NONE
        b.reserved[e, server] = 0
    turn = b.turn[e]
    turn.phase, turn.reason, turn.server, turn.passed, turn.cursor, turn.started = WAITING, 0, NONE, 0, 0, 0
    turn.fresh = 1
    begin_step(b)
