"""What all environments do between two decisions: let time pass, keep their own books, and say what came of it."""

from __future__ import annotations

from packenv.cluster.queue.waiting import order_new, size_of
from packenv.cluster.servers import close, reopen, reopen_all
from packenv.cluster.slots import FINISHED, GROW, READY, all_done, begin_slot, place
from packenv.cluster.slots import LIMIT as TOO_MANY
from packenv.cluster.state import NEVER, NONE
from packenv.compiled.decorators import apart, fused
from packenv.envs.core.books import count_anew, count_start, keep_books
from packenv.envs.core.state import BEGUN, DONE, HORIZON, LIMIT, OVER, STUCK, WAITING, Batch
from packenv.envs.core.window import leave_window
from packenv.units import UNIT


@fused
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
    turn.guarded = 0


@apart
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
    passage.arrivals = turn.rate * elapsed
    passage.arriving = turn.exogenous * elapsed
    passage.guarded = float(turn.guarded)
    passage.slot = head.now
    passage.invalid = turn.invalid
    passage.reason = turn.reason


@apart
def next_slot(b: Batch) -> int:
    """Go to the next slot in which something happens; GROW if the pool must grow first.

    The row's phase is BEGUN then, or OVER.
    """
    c, turn = b.c, b.turn[b.c.e]
    reason = begin_slot(c, turn.until)
    if reason == GROW:
        return GROW
    turn.phase = OVER
    if reason == READY:
        keep_books(b)
        turn.phase = BEGUN
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


@apart
def put(b: Batch, i: int, server: int) -> None:
    """Start task i on a server."""
    size = size_of(b.c, i)
    b.turn[b.c.e].placed += size
    place(b.c, i, server)
    count_start(b, server, size)
    if b.window.shape[1] > 0:
        leave_window(b, i)


@fused
def pass_over(b: Batch, server: int) -> None:
    """Ask this server no more before its next completion or the next arrival: the orders of servers forget it so long."""
    close(b.c, server)
    b.turn[b.c.e].passed = 1


@fused
def call_back(b: Batch) -> None:
    """Servers that were passed, and have had a completion or see an arrival, are asked again."""
    c, turn = b.c, b.turn[b.c.e]
    if turn.passed:
        head = c.head[c.e]
        for n in range(head.freed):
            reopen(c, c.freed[c.e, n])
        if head.fresh > 0:
            turn.passed = 0
            reopen_all(c)


@apart
def begin_episode(b: Batch) -> None:
    """Count anew what stands in the servers, and set out for the first decision."""
    e = b.c.e
    count_anew(b)
    for server in range(b.active.shape[1]):
        b.active[e, server] = NONE
        b.reserved[e, server] = 0
    turn = b.turn[e]
    turn.phase, turn.reason, turn.server, turn.passed, turn.cursor, turn.started = WAITING, 0, NONE, 0, 0, 0
    turn.fresh = 1
    turn.window, turn.window_started = 0, b.c.head[e].started
    begin_step(b)
