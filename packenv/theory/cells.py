"""The partition of the sizes, refined where it tightens most."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from packenv.theory.certificate import Bounded
from packenv.theory.columns import Columns, Ints, Kinds
from packenv.theory.size_law import SizeLaw

FIRST = 32  # cells
GRID = 3 * 2**10  # parts of the largest server on which cells are cut, at least
FREEDOM = 8  # times as many as there are cells, at least


class Cells:
    """Cell i lies between cuts[i] and cuts[i + 1], multiples of a `grid`-th of the largest server.

    Multiples of a unit keep the sums of sizes few: a configuration is found in a table of `grid` entries.
    """

    def __init__(self, law: SizeLaw, kinds: Kinds) -> None:
        self.law, self.kinds = law, kinds
        self.grid = GRID
        self.largest = int(kinds.capacity[0])
        first, last = int(law.low[0]) * GRID // self.largest, -(-int(law.high[-1]) * GRID // self.largest)
        self.cuts = np.array([min(first, last - 1), last])
        self.earlier = self.cuts
        self.below = np.append(0.0, np.cumsum(law.mass))

    @property
    def count(self) -> int:
        return len(self.cuts) - 1

    def split(self, prices: Bounded) -> None:
        """Twice as many cells (FIRST at first): always halve that in which share × rise of price is largest."""
        target = max(FIRST, 2 * self.count)
        while self.grid < FREEDOM * target:
            self.grid, self.cuts = 2 * self.grid, 2 * self.cuts
        self.earlier = self.cuts
        queue = [self._scored(a, b, prices) for a, b in zip(self.cuts.tolist(), self.cuts[1:].tolist(), strict=False)]
        heapify(queue)
        done: list[int] = []
        while queue and len(queue) + len(done) < target:
            _, a, b = heappop(queue)
            if b - a == 1:
                done.append(b)
            else:
                heappush(queue, self._scored(a, (a + b) // 2, prices))
                heappush(queue, self._scored((a + b) // 2, b, prices))
        self.cuts = np.array(sorted([int(self.cuts[0]), *done, *(b for _, _, b in queue)]))

    def _scored(self, a: int, b: int, prices: Bounded) -> tuple[float, int, int]:
        ends = np.array([a, b]) * self.largest // self.grid
        share = np.diff(self.below[np.searchsorted(self.law.high, ends, side="right")])[0]
        return -float(share * np.diff(prices.price(ends))[0]), a, b

    def edges(self) -> Ints:
        """(count,) units: the upper ends, rounded down. Configurations whose upper cuts add up to `capacity()` fit."""
        return np.asarray(self.cuts[1:] * self.largest // self.grid)

    def capacity(self) -> Ints:
        """(G,) of each kind of server, on the grid."""
        return np.asarray(self.kinds.capacity * self.grid // self.largest)

    def points(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Points (n,) in units up to one that no size exceeds, and whether sizes occur between each and the one before."""
        points = self.cuts * -(-self.largest // self.grid)
        points = points[points > 0]
        between = np.searchsorted(points, self.law.low[~np.isin(self.law.low, points)])
        return points, np.bincount(between, minlength=len(points)) > 0

    def inherit(self, columns: Columns) -> Columns:
        """Configurations of the cells before the last split: a job of a cell that was cut counts for its upper part."""
        held = np.zeros((len(columns.held), self.count))
        held[:, np.searchsorted(self.cuts[1:], self.earlier[1:])] = columns.held
        return Columns(held, columns.kind)
