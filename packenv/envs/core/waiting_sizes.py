"""The sizes of the waiting tasks in one ascending array, where features of actions count them many times.

One resource only. The queue itself keeps them in blocks, in which each count would search for its block first.
"""

from __future__ import annotations

from packenv.cluster.queue.waiting import waiting
from packenv.cluster.sorted_keys.arrays import WIDTH
from packenv.cluster.sorted_keys.directory import last_block
from packenv.cluster.state import ROW_BITS
from packenv.compiled.decorators import apart, fused
from packenv.compiled.intrinsics import natural
from packenv.envs.core.state import Batch


@apart
def copy_waiting_sizes(b: Batch) -> None:
    """Write the sizes of the row's waiting tasks into `waiting_sizes`, ascending. Needs BY_SIZE."""
    sorted_tasks, sizes = b.c.sizes, b.waiting_sizes[b.c.e]
    n = 0
    for k in range(last_block(sorted_tasks, b.c.e) + 1):
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
