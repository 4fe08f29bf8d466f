"""The search for a bracket on ρ*: prices and configurations of finer and finer types, until they are close enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from packenv.errors import InputError
from packenv.theory.bracket import Bracket, by_area, kinds_of, rounded_down, rounded_up
from packenv.theory.cells import Cells
from packenv.theory.certificate import Attained, Bounded
from packenv.theory.columns import Columns, Enough, Kinds, generate
from packenv.theory.packing import packing
from packenv.theory.pricing import PointPricing
from packenv.theory.proofs import attained_proofs, bounded_proofs
from packenv.theory.size_law import SizeLaw, size_law
from packenv.workloads.workload import Workload

GAP = 0.001
SECONDS = 60.0
FEW = 200  # sizes that are types of their own, if their sums allow it
MOST_POINTS, MOST_CELLS = 256, 4096
EXACT = 1e-9  # gap of a program that is solved to its end
SPARE = 1e-8  # lost from a program's value to its proof, at most
WORTH_IT = 0.05  # of the gap that prices must close, or they are left alone for a while

Progress = Callable[[float, float], None]


def max_workload(workload: Workload, gap: float = GAP, seconds: float = SECONDS, progress: Progress | None = None) -> Bracket:
    """A bracket on the maximum supportable workload of a law of sizes and servers, with proofs.

    It ends when (upper - lower) / upper <= `gap`, or after about `seconds`: `reached` says which. `progress` is told
    every better bracket. Arrivals do not matter, and service only where it depends on the demand (ρ* is in jobs in
    service). Raises InputError for a gap outside (0, 1) or more resources than one.
    """
    if not 0 < gap < 1:
        raise InputError(f"gap must lie between 0 and 1, not {gap}")
    search = Search(size_law(workload), kinds_of(workload), gap, seconds, progress or (lambda lower, upper: None))
    if not search.exact_types():
        search.refine()
    return search.bracket()


class Search:
    """The best proofs so far of either end."""

    def __init__(self, law: SizeLaw, kinds: Kinds, gap: float, seconds: float, progress: Progress) -> None:
        self.law, self.kinds, self.gap, self.progress = law, kinds, gap, progress
        self.began = time.monotonic()
        self.deadline = self.began + seconds
        self.lower, self.upper = 0.0, math.inf
        self.history: list[tuple[float, float]] = []
        self.offer_bounded([by_area(law)])
        self.area_bound = self.upper
        self.offer_attained([packing(law, kinds)])

    def offer_attained(self, proofs: list[Attained]) -> None:
        for proof in proofs:
            value = rounded_down(proof.value(self.law, self.kinds))
            if value > self.lower:
                self.lower, self.attained = value, proof
                self._record()

    def offer_bounded(self, proofs: list[Bounded]) -> None:
        for proof in proofs:
            value = rounded_up(proof.value(self.law, self.kinds))
            if value < self.upper:
                self.upper, self.bounded = value, proof
                self._record()

    def _record(self) -> None:
        if self.lower > 0:
            self.history.append((self.lower, self.upper))
            self.progress(self.lower, self.upper)

    @property
    def done(self) -> bool:
        return self.upper - self.lower <= self.gap * self.upper or time.monotonic() > self.deadline

    def bracket(self) -> Bracket:
        reached = self.upper - self.lower <= self.gap * self.upper
        seconds = time.monotonic() - self.began
        ends = (self.lower, self.upper, self.area_bound, self.attained, self.bounded)
        return Bracket(*ends, reached, seconds, tuple(self.history))

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
        solved = generate(shares, self.kinds, pricing, sizes.astype(np.float64), within(EXACT), self.deadline)
        self.offer_attained(attained_proofs(solved, sizes, self.kinds))
        self.offer_bounded(bounded_proofs(solved, sizes, split))
        return True

    def refine(self) -> None:
        """Twice as many cells each time, cut where the price rises most over the jobs that are there."""
        cells = Cells(self.law, self.kinds)
        known: Columns | None = None
        next_prices = 0
        with suppress(OverflowError):  # more cells than the knapsack can tell apart
            while not self.done and cells.count < MOST_CELLS:
                cells.split(self.bounded)
                if next_prices <= cells.count <= MOST_POINTS:
                    better = self._better_prices(cells)
                    next_prices = 2 * cells.count if better else 4 * cells.count
                if not self.done:
                    known = self._better_configurations(cells, known)

    def _better_prices(self, cells: Cells) -> bool:
        """Whether that was worth its time."""
        points, split = cells.points()
        masses, whole = self.law.spread(np.append(0, points))
        shares = np.array([mass / whole for mass in masses[1:]])
        pricing = PointPricing(points, self.kinds.capacity, split)
        close, before = within(self.gap / 4), self.upper
        solved = generate(
            shares,
            self.kinds,
            pricing,
            self.bounded.price(points),
            lambda value, bound: close(value, bound) or self.lower >= bound * (1 + SPARE) * (1 - self.gap),
            self.deadline,
        )
        self.offer_bounded(bounded_proofs(solved, points, split))
        return before - self.upper > WORTH_IT * (before - self.lower)

    def _better_configurations(self, cells: Cells, known: Columns | None) -> Columns:
        """Returns those in use, for the next cells to begin with."""
        edges = cells.edges()
        shares = np.bincount(np.searchsorted(edges, self.law.high), self.law.mass, len(edges)) / self.law.mass.sum()
        pricing = PointPricing(edges, self.kinds.capacity, np.zeros(len(edges), np.bool_))
        close = within(self.gap / 4)
        solved = generate(
            shares,
            self.kinds,
            pricing,
            self.bounded.price(edges),
            lambda value, bound: close(value, bound) or value * (1 - SPARE) >= self.upper * (1 - self.gap),
            self.deadline,
            None if known is None else cells.inherit(known),
        )
        self.offer_attained(attained_proofs(solved, edges, self.kinds))
        used = solved.weights > 0
        return Columns(solved.columns.held[used], solved.columns.kind[used])


def within(gap: float) -> Enough:
    return lambda value, bound: value >= bound * (1 - gap)
