"""The oldest waiting tasks of a row side by side, as the agent sees them: the queue itself is scattered over the pool."""

from __future__ import annotations

from packenv.compiled.decorators import apart
from packenv.compiled.intrinsics import move
from packenv.envs.core.state import Batch


@apart
def leave_window(b: Batch, i: int) -> None:
    """Task i has just started."""
    turn, window = b.turn[b.c.e], b.window[b.c.e]
    turn.window_started += 1
    for k in range(turn.window):
        if window[k].place == i:
            turn.window -= 1
            move(window, k, k + 1, turn.window - k)
            return


@apart
def fill_window(b: Batch) -> int:
    """Take in what has moved up; anew, if others have placed tasks in the meantime. Returns how many it holds. Needs BY_QUEUE."""
    c, e = b.c, b.c.e
    turn, head, window = b.turn[e], c.head[e], b.window[e]
    n = turn.window
    if turn.window_started != head.started:
        turn.window_started = head.started
        n = 0
    while n < min(window.shape[0], head.waiting):
        i = c.queue[e].head if n == 0 else c.task[e, window[n - 1].place].next
        task = c.task[e, i]
        window[n].place, window[n].size, window[n].since = i, task.size, task.since
        n += 1
    turn.window = n
    return n
