"""Waiting tasks in arrays: the oldest, and sorted sizes.

The queue itself links tasks that lie anywhere in memory. Its sizes lie in blocks, which every count would have to search. Sizes
are of one resource only.
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
    """Remove task i, which has just started, from the window."""
    turn, window = b.turn[b.c.e], b.window[b.c.e]
    turn.window_started += 1
    for k in range(turn.window):
        if window[k].place == i:
            turn.window -= 1
            move(window, k, k + 1, turn.window - k)
            return


@apart
def fill_window(b: Batch) -> int:
    """Refill the window. Return its length (needs BY_QUEUE)."""
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
    """Write the ascending waiting sizes (needs BY_SIZE)."""
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
    """Return how many copied waiting sizes are at most `size`."""
    sizes, count, rest = b.waiting_sizes[b.c.e], 0, waiting(b.c)
    while rest > 0:
        half = (rest + 1) >> 1
        count += half * (sizes[natural(count + half - 1)] <= size)  # no branch: it could not be predicted
        rest -= half
    return count
