"""A partition of sizes into cells, refined stepwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.linear_program import ConfigurationColumns, Ints, ServerKinds
from packenv.theory.capacity.one_resource.size_law import SizeLaw

FIRST = 32  # cells of the first partition
GRID = 3 * 2**10  # the largest server has at least this many steps
FREEDOM = 8  # the range of sizes has at least this many steps for every cell
MOST_STEPS = 2**25  # states times cells of the knapsack: about a tenth of a second
HEAVY = 1 / 64  # a size between two steps that this share of the tasks has ends a cell of its own

Price = tuple[Callable[[Ints], Any], float]
"""A function from sizes (m,) in units to prices, to any scale, and the weight that it has in `split`."""


class SizePartition:
    """Cells that end at `cuts` or at frequent `odd` sizes.

    Cuts are multiples of `step` units. They have few sums, so the knapsack has few states. Every odd size multiplies the number
    of sums by its number of tasks that fit a server.
    """

    def __init__(self, law: SizeLaw, kinds: ServerKinds) -> None:
        self.law = law
        self.largest = int(kinds.capacity[0])
        self.step = 1 << max(0, (self.largest // GRID).bit_length() - 1)
        self.cuts = self._ends()
        self.odd = self.cuts[:0]
        self.earlier = self.edges()

    @property
    def count(self) -> int:
        """The number of cells between cuts."""
        return len(self.cuts) - 1

    def edges(self) -> Ints:
        """(n,) units: the upper ends of the cells, increasing."""
        return np.union1d(self.cuts[1:], self.odd)

    def points(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return cell ends (n,), and whether sizes lie between."""
        points = np.union1d(self.cuts[self.cuts > 0], self.odd)
        return points, self.law.between(np.append(0, points))

    def split(self, prices: Sequence[Price], target: int = 0) -> None:
        """Cut into `target` (by default twice as many) cells, by share · rise of prices."""
        target = target or max(FIRST, 2 * self.count)
        self.earlier = self.edges()
        self._refine_steps(target)
        self.odd = self._odd_sizes(target)
        # Cut at the steps around every odd size.
        around = self.odd // self.step * self.step
        self.cuts = np.unique(np.concatenate([self.cuts, around, around + self.step]))
        # Weigh the prices alike, without the odd sizes.
        mass = self.law.mass.copy()
        mass[np.searchsorted(self.law.low, self.odd)] = 0.0
        below = np.append(0.0, np.cumsum(mass))
        shares = np.diff(below[np.searchsorted(self.law.high, self.cuts, side="right")])
        weighed = [(price, weight / max(float(shares @ price(self.cuts[1:])), 1e-300)) for price, weight in prices]

        def scored(a: int, b: int) -> tuple[float, int, int]:
            share = np.diff(below[np.searchsorted(self.law.high, (a, b), side="right")])[0]
            rises = (weight * float(np.diff(price(np.array([a, b])))[0]) for price, weight in weighed)
            return -float(share) * sum(rises), a, b

        # Halve the cell with the best score until there are enough. Cells of one step are done.
        queue = [scored(a, b) for a, b in zip(self.cuts.tolist(), self.cuts[1:].tolist(), strict=False)]
        heapify(queue)
        done: list[int] = []
        while queue and len(queue) + len(done) < target:
            _, a, b = heappop(queue)
            if b - a == self.step:
                done.append(b)
            else:
                middle = (a + b) // 2 // self.step * self.step
                heappush(queue, scored(a, middle))
                heappush(queue, scored(middle, b))
        self.cuts = np.array(sorted([int(self.cuts[0]), *done, *(b for _, _, b in queue)]))

    def _refine_steps(self, target: int) -> None:
        """Halve the step until `target` cells are possible."""

        def enough() -> bool:
            ends = self._ends()
            return int(ends[1] - ends[0]) >= FREEDOM * target * self.step

        while self.step > 1 and not enough() and 2 * self.largest // self.step * target <= MOST_STEPS:
            self.step //= 2
        first, last = self._ends().tolist()
        self.cuts = np.unique(np.clip(self.cuts, first, last))

    def _ends(self) -> Ints:
        """(2,) multiples of the step around all sizes."""
        first, last = int(self.law.low[0]) // self.step, -(-int(self.law.high[-1]) // self.step)
        return np.array([min(first, last - 1), last]) * self.step

    def _odd_sizes(self, target: int) -> Ints:
        """Return frequent sizes between steps, for small knapsacks."""
        mass = self.law.mass / self.law.mass.sum()
        odd = np.flatnonzero((mass >= HEAVY) & (self.law.low % self.step > 0))
        kept, states = [], self.largest // self.step
        for i in odd[np.argsort(-mass[odd], kind="stable")].tolist():
            more = states * (1 + self.largest // int(self.law.low[i]))
            if more * target <= MOST_STEPS:
                kept.append(int(self.law.low[i]))
                states = more
        return np.array(sorted(kept), np.int64)

    def inherit(self, columns: ConfigurationColumns) -> ConfigurationColumns:
        """Translate configurations to new cells, by largest sizes."""
        place = np.searchsorted(self.edges(), self.earlier, side="right") - 1
        counts = np.zeros((len(columns.counts), len(self.edges())))
        for j in np.flatnonzero(place >= 0).tolist():
            counts[:, place[j]] += columns.counts[:, j]
        return ConfigurationColumns(counts, columns.kind)
