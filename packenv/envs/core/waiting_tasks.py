"""The waiting tasks of a row in arrays, as observations read them: the oldest ones, and all sizes in ascending order.

The queue itself links tasks that lie anywhere in memory, and keeps sizes in blocks, in which each count would search for its
block first. Sizes are of one resource only.
"""

from __future__ import annotations

from packenv.cluster.queue.waiting import waiting
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import ROW_BITS
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import move, natural
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


@apart
def copy_waiting_sizes(b: Batch) -> None:
    """Write the sizes of the row's waiting tasks into `waiting_sizes`, ascending. Needs BY_SIZE."""
    sorted_tasks, sizes = b.c.sizes, b.waiting_sizes[b.c.e]
    n = 0
    for k in range(sorted_tasks.used[b.c.e]):
        block = sorted_tasks.block[b.c.e, k]
        keys = sorted_tasks.keys[b.c.e, natural(block.storage)]
        for q in range(WIDTH):  # the whole block: the next one overwrites what is not in use
            sizes[natural(n + q)] = keys[q] >> ROW_BITS
        n += block.count


@fused
def count_up_to(b: Batch, size: int) -> int:
    """How many of the waiting tasks have at most this size. Needs `copy_waiting_sizes`."""
    sizes, count, rest = b.waiting_sizes[b.c.e], 0, waiting(b.c)
    while rest > 0:
        half = (rest + 1) >> 1
        count += half * (sizes[natural(count + half - 1)] <= size)  # no branch: it could not be predicted
        rest -= half
    return count
