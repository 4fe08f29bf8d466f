"""The window: the oldest waiting tasks of a row in one array, as observations show them.

The queue itself links tasks that lie anywhere in memory.
"""

from __future__ import annotations

from packenv.compiled.decorators import apart
from packenv.compiled.intrinsics import move
from packenv.envs.core.state import Batch


@apart
def leave_window(b: Batch, i: int) -> None:
    """Take task i, which has just started, out of the window."""
    turn, window = b.turn[b.c.e], b.window[b.c.e]
    turn.window_started += 1
    for k in range(turn.window):
        if window[k].place == i:
            turn.window -= 1
            move(window, k, k + 1, turn.window - k)
            return


@apart
def fill_window(b: Batch) -> int:
    """Add the tasks that have moved up, and return how many tasks the window has. Needs BY_QUEUE.

    Where others than the agent placed tasks, the window is filled anew.
    """
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
