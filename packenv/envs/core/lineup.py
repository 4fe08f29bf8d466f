"""The waiting sizes side by side: what a decision asks of them some hundred times is then found in a step or two.

All are kept in ascending order, and where each of PARTS equal parts of the largest capacity begins. Tasks enter when they
become eligible and leave as they start; where others have placed tasks in the meantime, all are lined up anew.
One resource only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import new_count, new_task, size_of, waiting
from packenv.cluster.sorted_keys.arrays import WIDTH
from packenv.cluster.sorted_keys.directory import last_block
from packenv.cluster.state import ROW_BITS, Cluster
from packenv.compiled.decorators import apart, fused, inner
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import move, natural

PARTS = 128
LANES = 8  # sizes that are compared at once
ABOVE = 2**31 - 1  # every size
FEW = 16  # tasks that enter one by one
UNKNOWN = -(2**40)  # tasks in a line-up that nobody has followed


class Lineup(Frame):
    """The waiting sizes of each of E clusters with P places. No columns where they are not wanted."""

    size: NDArray[np.int32]  # (E, P + WIDTH) all that wait, ascending, then some that are ABOVE all
    first: NDArray[np.int32]  # (E, PARTS + 1) where the sizes of each part begin
    count: NDArray[np.int64]  # (E,) how many they are,
    started: NDArray[np.int64]  # (E,) and how many tasks had started
    bits: NDArray[np.int64]  # (E,) the part of a size is what is left without its last bits


def lineup_for(c: Cluster, wanted: bool) -> Lineup:
    rows = len(c.head)
    places, parts = (c.task.shape[1] + WIDTH, PARTS + 1) if wanted else (0, 0)
    bits = max(int(c.server["capacity"].max()).bit_length() - PARTS.bit_length() + 1, 0)
    return Lineup(
        size=np.zeros((rows, places), np.int32),
        first=np.zeros((rows, parts), np.int32),
        count=np.full(rows, UNKNOWN),
        started=np.zeros(rows, np.int64),
        bits=np.full(rows, bits),
    )


@fused
def is_wanted(lineup: Lineup) -> bool:
    return lineup.first.shape[1] > 0


@fused
def is_complete(lineup: Lineup, c: Cluster, entering: int) -> bool:
    """Whether it has all that wait but for so many that are still to enter."""
    return lineup.count[c.e] + entering == waiting(c) and lineup.started[c.e] == c.head[c.e].started


@apart
def line_up(lineup: Lineup, c: Cluster) -> None:
    """Have all that wait in the line-up. Needs BY_SIZE."""
    if is_complete(lineup, c, 0):
        return
    e, sizes, line, first, bits = c.e, c.sizes, lineup.size[c.e], lineup.first[c.e], lineup.bits[c.e]
    n = 0
    for k in range(last_block(sizes, e) + 1):
        block = sizes.block[e, k]
        keys = sizes.keys[e, natural(block.storage)]
        for q in range(WIDTH):  # the next block overwrites what this one has not
            line[natural(n + q)] = keys[q] >> ROW_BITS
        n += block.count
    for q in range(LANES):
        line[natural(n + q)] = ABOVE
    for part in range(PARTS):
        first[part] = ABOVE
    for p in range(n - 1, -1, -1):
        first[natural(line[natural(p)] >> bits)] = p
    first[PARTS] = n
    for part in range(PARTS - 1, -1, -1):
        first[part] = min(first[part], first[part + 1])
    lineup.count[e], lineup.started[e] = n, c.head[e].started


@apart
def line_up_new(lineup: Lineup, c: Cluster) -> None:
    """Let this slot's new tasks enter, before any of them starts."""
    many = new_count(c)
    if many > FEW or not is_complete(lineup, c, many):
        lineup.count[c.e] = UNKNOWN
        return
    for n in range(many):
        size = size_of(c, new_task(c, n))
        p, left = lined_up_to(lineup, c.e, size), lineup.count[c.e]
        move(lineup.size[c.e], p + 1, p, left - p + LANES)
        lineup.size[c.e, natural(p)] = size
        _count(lineup, c.e, size, 1)


@apart
def leave_lineup(lineup: Lineup, c: Cluster, size: int) -> None:
    """A task of this size has just started."""
    e = c.e
    if lineup.count[e] - 1 != waiting(c) or lineup.started[e] + 1 != c.head[e].started:
        lineup.count[e] = UNKNOWN
        return
    p = lined_up_to(lineup, e, size) - 1
    move(lineup.size[e], p, p + 1, lineup.count[e] - p - 1 + LANES)
    _count(lineup, e, size, -1)
    lineup.started[e] += 1


@inner
def _count(lineup: Lineup, e: int, size: int, more: int) -> None:
    first = lineup.first[e]
    for part in range((size >> lineup.bits[e]) + 1, PARTS + 1):
        first[natural(part)] += more
    lineup.count[e] += more


@fused
def lined_up_to(lineup: Lineup, e: int, size: int) -> int:
    """How many of them are of this size at most; it is at most the largest capacity."""
    line, first, part = lineup.size[e], lineup.first[e], natural(max(size, 0) >> lineup.bits[e])
    many, end = first[part], first[part + natural(1)]
    for start in range(many, end, LANES):
        for q in range(LANES):
            many += line[natural(start + q)] <= size
    return many
