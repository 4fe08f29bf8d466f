"""The waiting sizes side by side, for one decision: what is asked of them some hundred times is then found in a step or two.

All are copied in ascending order, and it is noted where each of PARTS equal parts of the largest capacity begins.
One resource only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.machine import natural
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import Cluster
from packenv.cluster.waiting import ROW_BITS
from packenv.compile import fused, inner
from packenv.frame import Frame

PARTS = 128
LANES = 8  # sizes that are compared at once
ABOVE = 2**31 - 1  # every size


class Lineup(Frame):
    """Scratch: the sizes of the cluster that was lined up last."""

    size: NDArray[np.int32]  # (P + WIDTH,) of P places: all that wait, ascending, then some that are ABOVE all
    first: NDArray[np.int32]  # (PARTS + 1,) where the sizes of each part begin
    bits: int  # the part of a size is what is left without its last bits


def lineup_for(c: Cluster, wanted: bool) -> Lineup:
    places, parts = (c.task.shape[1] + WIDTH, PARTS + 1) if wanted else (0, 0)
    bits = max(int(c.server["capacity"].max()).bit_length() - PARTS.bit_length() + 1, 0)
    return Lineup(size=np.zeros(places, np.int32), first=np.zeros(parts, np.int32), bits=bits)


@inner
def line_up(lineup: Lineup, c: Cluster) -> None:
    """Copy what waits. Needs BY_SIZE."""
    sizes, line, first, bits = c.sizes, lineup.size, lineup.first, lineup.bits
    n = 0
    for k in range(sizes.used[c.e]):
        block = sizes.block[c.e, k]
        keys = sizes.keys[c.e, natural(block.storage)]
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


@fused
def lined_up_to(lineup: Lineup, size: int) -> int:
    """How many of them are of this size at most; it is at most the largest capacity."""
    line, part = lineup.size, natural(max(size, 0) >> lineup.bits)
    many, end = lineup.first[part], lineup.first[part + natural(1)]
    for start in range(many, end, LANES):
        for q in range(LANES):
            many += line[natural(start + q)] <= size
    return many
