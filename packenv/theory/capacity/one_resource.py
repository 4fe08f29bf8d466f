"""The search where tasks have one size: prices and configurations of finer and finer types, until they are close enough."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from packenv.theory.capacity.bracket import areas
from packenv.theory.capacity.cells import Cells, Price
from packenv.theory.capacity.columns import Enough, Kinds, Program, Solved, generate
from packenv.theory.capacity.ends import Ends, Progress
from packenv.theory.capacity.packing import packing
from packenv.theory.capacity.pricing import PointPricing
from packenv.theory.capacity.proofs import attained_proofs, bounded_proofs
from packenv.theory.capacity.size_law import SizeLaw, cells_of

FEW = 200  # sizes that are types of their own, if their sums allow it
MOST_POINTS, MOST_CELLS = 256, 4096
EVERYWHERE = 0.1  # weight of a price in proportion to size: every cell is cut at last, even where no price rises yet
EXACT = 1e-9  # gap of a program that is solved to its end
SPARE = 1e-8  # lost from a program's value to its proof, at most
WORTH_IT = 0.05  # of the gap that prices must close, or they are left alone for a while


class Search(Ends):
    """The best proofs so far of either end, for one resource."""

    law: SizeLaw
    kinds: Kinds

    def __init__(self, law: SizeLaw, kinds: Kinds, gap: float, seconds: float, progress: Progress) -> None:
        super().__init__(law, kinds, gap, seconds, progress)
        self.offer_bounded(areas(law, kinds))
        self.offer_attained([packing(law, kinds)])

    def run(self) -> None:
        if not self.exact_types():
            self.refine()

    def exact_types(self) -> bool:
        """Where every size can be a type of its own: both ends from one program."""
        sizes = self.law.low
        if not self.law.exact or len(sizes) > FEW:
            return False
        split = np.zeros(len(sizes), np.bool_)
        try:
            pricing = PointPricing(sizes, self.kinds.capacity, split)
        except OverflowError:
            return False
        shares = self.law.mass / self.law.mass.sum()
        solved = generate(
            Program(shares, self.kinds, increasing=True), pricing, sizes.astype(np.float64), within(EXACT), self.deadline
        )
        self.offer_attained(attained_proofs(solved, sizes, self.kinds))
        self.offer_bounded(bounded_proofs(solved, sizes, split))
        return True

    def refine(self) -> None:
        """Twice as many cells each time, cut where the price rises most over the jobs that are there."""
        cells = Cells(self.law, self.kinds)
        solved: Solved | None = None
        next_prices = 0
        with suppress(OverflowError):  # more cells than the knapsack can tell apart
            while not self.done and cells.count < MOST_CELLS:
                prices: list[Price] = [(self.bounded.price, 1.0), (lambda sizes: sizes / 1.0, EVERYWHERE)]
                if solved is not None:
                    prices.append((partial(np.interp, xp=np.append(0, cells.edges()), fp=np.append(0.0, solved.prices)), 1.0))
                cells.split(prices)
                if next_prices <= cells.count <= MOST_POINTS:
                    better = self._better_prices(cells)
                    next_prices = 2 * cells.count if better else 4 * cells.count
                if not self.done:
                    solved = self._better_configurations(cells, solved)

    def _better_prices(self, cells: Cells) -> bool:
        """Whether that was worth its time."""
        points, split = cells.points()
        masses, whole = self.law.spread(np.append(0, points))
        shares = np.array([mass / whole for mass in masses[1:]])
        pricing = PointPricing(points, self.kinds.capacity, split)
        close, before = within(self.gap / 4), self.upper
        solved = generate(
            Program(shares, self.kinds, increasing=True),
            pricing,
            self.bounded.price(points),
            lambda value, bound: close(value, bound) or self.lower >= bound * (1 + SPARE) * (1 - self.gap),
            self.deadline,
        )
        self.offer_bounded(bounded_proofs(solved, points, split))
        return before - self.upper > WORTH_IT * (before - self.lower)

    def _better_configurations(self, cells: Cells, before: Solved | None) -> Solved:
        """Begins with the configurations in use of the cells before the last split."""
        edges = cells.edges()
        shares = np.bincount(cells_of(self.law.high, edges), self.law.mass, len(edges)) / self.law.mass.sum()
        pricing = PointPricing(edges, self.kinds.capacity, np.zeros(len(edges), np.bool_))
        close = within(self.gap / 4)
        solved = generate(
            Program(shares, self.kinds, increasing=True),
            pricing,
            self.bounded.price(edges),
            lambda value, bound: close(value, bound) or value * (1 - SPARE) >= self.upper * (1 - self.gap),
            self.deadline,
            None if before is None else cells.inherit(before.in_use()),
        )
        self.offer_attained(attained_proofs(solved, edges, self.kinds))
        return solved


def within(gap: float) -> Enough:
    return lambda value, bound: value >= bound * (1 - gap)
