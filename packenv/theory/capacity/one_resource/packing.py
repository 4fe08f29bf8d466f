"""A lower bound on ρ* by packing.

Cut the law into N parts of equal probability, round every part up to its largest size, and pack the N sizes by best fit
decreasing. If they fit B copies of the cluster, the cluster can hold the B packings in turn, and so ρ* >= N / B.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter

import numpy as np

from packenv.theory.capacity.linear_program import Ints, ServerKinds
from packenv.theory.capacity.one_resource.certificate import Attained, ServerConfiguration
from packenv.theory.capacity.one_resource.size_law import SizeLaw

PARTS = 5_000, 50_000  # fewest and most parts
ROUNDING = 2_000  # about how many servers are packed: the last one may be nearly empty


def packing(law: SizeLaw, kinds: ServerKinds) -> Attained:
    """Prove the lower bound from the best packing found."""
    per_server = float(kinds.capacity @ kinds.number) / float(kinds.number.sum()) / law.mean_low
    parts = quantiles(law, int(np.clip(ROUNDING * per_server, *PARTS)))
    edges = np.unique(parts)
    bins, packed = pack(parts[::-1].tolist(), kinds, law.mean_low)
    place = {size: j for j, size in enumerate(edges.tolist())}
    kind = np.repeat(np.arange(len(bins)), bins).tolist()
    contents = ((k, tuple(sorted(Counter(place[size] for size in sizes).items()))) for k, sizes in zip(kind, packed, strict=True))
    parts_of_a_server = math.lcm(*bins)
    per_bin = [count * parts_of_a_server // number for count, number in zip(kinds.number.tolist(), bins, strict=True)]
    configurations = [ServerConfiguration(k, held, number * per_bin[k]) for (k, held), number in Counter(contents).items()]
    return Attained(tuple(edges.tolist()), tuple(configurations), parts_of_a_server)


def quantiles(law: SizeLaw, count: int) -> Ints:
    """(count,) units, increasing: largest sizes of `count` equally likely parts."""
    below = np.cumsum(law.mass) / law.mass.sum()
    upto = np.searchsorted(below, np.arange(1, count + 1) / count - 1e-12)
    return np.asarray(law.high[np.append(upto[:-1], len(law.high) - 1)])


def pack(sizes: list[int], kinds: ServerKinds, mean: float) -> tuple[list[int], list[list[int]]]:
    """Pack decreasing sizes (`mean`: at least) like best fit. Return servers and contents."""
    full = len(sizes) * mean / float(kinds.capacity @ kinds.number)
    enough, packed = full, None
    while packed is None:  # add servers of all kinds until the sizes fit
        enough *= 1.1
        bins = [max(1, int(enough * count)) for count in kinds.number.tolist()]
        packed = best_fit_decreasing(sizes, np.repeat(kinds.capacity, bins).tolist())
    if len(kinds.number) == 1:  # best fit decreasing uses an empty server only if it must
        packed = [held for held in packed if held]
        return [len(packed)], packed
    # Bisect the number of servers, in the proportion of the cluster.
    low, high = full, enough
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        fewer = [max(1, int(middle * count)) for count in kinds.number.tolist()]
        trial = best_fit_decreasing(sizes, np.repeat(kinds.capacity, fewer).tolist())
        if trial is None:
            low = middle
        else:
            high, bins, packed = middle, fewer, trial
    return bins, packed


def best_fit_decreasing(sizes: list[int], rooms: list[int]) -> list[list[int]] | None:
    """Pack decreasing sizes by best fit, and return contents or None."""
    by_room = sorted((room, n) for n, room in enumerate(rooms))
    packed: list[list[int]] = [[] for _ in rooms]
    for size in sizes:
        at = bisect_left(by_room, (size, -1))
        if at == len(by_room):
            return None
        room, n = by_room.pop(at)
        packed[n].append(size)
        insort(by_room, (room - size, n))
    return packed
