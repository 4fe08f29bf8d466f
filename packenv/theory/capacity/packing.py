"""A lower bound on ρ* without a linear program: pack equally likely jobs into as few servers as one can.

Cut the law into N parts of equal probability, round every part up to its largest size, and pack the N sizes by best
fit decreasing. If servers in proportion to the cluster's, B times as many, hold them, then the cluster can serve these
configurations in turn, and ρ* >= N / B.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter

import numpy as np

from packenv.theory.capacity.certificate import Attained, Configuration
from packenv.theory.capacity.columns import Ints, Kinds
from packenv.theory.capacity.size_law import SizeLaw

PARTS = 5_000, 50_000
ROUNDING = 2_000  # servers to pack into, or more: the last one may be nearly empty


def packing(law: SizeLaw, kinds: Kinds) -> Attained:
    """Configurations of the best packing of equally likely parts."""
    per_server = float(kinds.capacity @ kinds.number) / float(kinds.number.sum()) / law.mean_low
    parts = quantiles(law, int(np.clip(ROUNDING * per_server, *PARTS)))
    edges = np.unique(parts)
    bins, packed = pack(parts[::-1].tolist(), kinds, law.mean_low)
    place = {size: j for j, size in enumerate(edges.tolist())}
    kind = np.repeat(np.arange(len(bins)), bins).tolist()
    contents = ((k, tuple(sorted(Counter(place[size] for size in sizes).items()))) for k, sizes in zip(kind, packed, strict=True))
    parts_of_a_server = math.lcm(*bins)
    each = [count * parts_of_a_server // number for count, number in zip(kinds.number.tolist(), bins, strict=True)]
    configurations = [Configuration(k, held, number * each[k]) for (k, held), number in Counter(contents).items()]
    return Attained(tuple(edges.tolist()), tuple(configurations), parts_of_a_server)


def quantiles(law: SizeLaw, count: int) -> Ints:
    """(count,) units: the largest size of each of `count` equally likely parts, increasing."""
    below = np.cumsum(law.mass) / law.mass.sum()
    upto = np.searchsorted(below, np.arange(1, count + 1) / count - 1e-12)
    return np.asarray(law.high[np.append(upto[:-1], len(law.high) - 1)])


def pack(sizes: list[int], kinds: Kinds, mean: float) -> tuple[list[int], list[list[int]]]:
    """Decreasing sizes in about as few servers as best fit decreasing needs: how many of each kind, and what they hold."""
    full = len(sizes) * mean / float(kinds.capacity @ kinds.number)
    enough, packed = full, None
    while packed is None:  # enough servers of each kind
        enough *= 1.1
        bins = [max(1, int(enough * count)) for count in kinds.number.tolist()]
        packed = best_fit_decreasing(sizes, np.repeat(kinds.capacity, bins).tolist())
    if len(kinds.number) == 1:  # it opens a server only where it must
        packed = [held for held in packed if held]
        return [len(packed)], packed
    low, high = full, enough
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        fewer = [max(1, int(middle * count)) for count in kinds.number.tolist()]
        found = best_fit_decreasing(sizes, np.repeat(kinds.capacity, fewer).tolist())
        if found is None:
            low = middle
        else:
            high, bins, packed = middle, fewer, found
    return bins, packed


def best_fit_decreasing(sizes: list[int], rooms: list[int]) -> list[list[int]] | None:
    """Sizes in decreasing order, each on the server with the least room that is enough; None if one fits nowhere."""
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
