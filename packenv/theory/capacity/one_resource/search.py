"""The search for ρ* with one resource, and its exact proofs."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.best_proofs import BestProofs, Progress
from packenv.theory.capacity.linear_program import (
    ConfigurationColumns,
    ConfigurationProgram,
    Enough,
    Floats,
    Ints,
    ServerKinds,
    SolvedProgram,
    generate,
)
from packenv.theory.capacity.one_resource.certificate import LARGEST_PRICE, Attained, Bounded, ServerConfiguration, area_proof
from packenv.theory.capacity.one_resource.knapsack import PointPricing
from packenv.theory.capacity.one_resource.packing import packing
from packenv.theory.capacity.one_resource.size_law import Price, SizeLaw, SizePartition, cells_of

FINE = 2**60  # parts of a server, if weights are taken as they are
SIMPLE = 1000  # weights and prices are also tried as fractions with denominators up to this, which are often the exact ones


def attained_proofs(solved: SolvedProgram, edges: Ints, kinds: ServerKinds) -> list[Attained]:
    """Return lower-bound proofs, from exact weights and from simple fractions."""
    choices = weighted(solved.columns, solved.weights, kinds.number)
    return [Attained(tuple(edges.tolist()), configurations, parts) for configurations, parts in choices]


def weighted(columns: ConfigurationColumns, weights: Floats, number: Ints) -> list[tuple[tuple[ServerConfiguration, ...], int]]:
    """Return configurations with exact and with simple parts of servers."""
    used = np.flatnonzero(weights > 1e-12)
    contents = [tuple((int(j), int(columns.counts[n, j])) for j in np.flatnonzero(columns.counts[n])) for n in used]
    kind = columns.kind[used].tolist()
    exactly = [Fraction(weight) for weight in weights[used].tolist()]
    simple = [weight.limit_denominator(SIMPLE) for weight in exactly]
    choices = []
    for servers, parts in ((exactly, FINE), (simple, math.lcm(*(weight.denominator for weight in simple)))):
        counts = [int(weight * parts) for weight in servers]
        total = [sum(count for count, k in zip(counts, kind, strict=True) if k == g) for g in range(len(number))]
        most = [count * parts for count in number.tolist()]
        scaled = [count * most[k] // max(total[k], most[k]) for count, k in zip(counts, kind, strict=True)]
        choices.append((tuple(ServerConfiguration(*row) for row in zip(kind, contents, scaled, strict=True)), parts))
    return choices


def bounded_proofs(solved: SolvedProgram, points: Ints, split: NDArray[np.bool_]) -> list[Bounded]:
    """Return upper-bound proofs, from exact prices and from simple fractions."""
    relative = solved.prices / solved.prices.max()
    choices = [np.floor(relative * LARGEST_PRICE).astype(np.int64).tolist()]
    simple = [Fraction(price).limit_denominator(SIMPLE) for price in relative.tolist()]
    scale = math.lcm(*(price.denominator for price in simple))
    if scale <= LARGEST_PRICE:
        choices.append([int(price * scale) for price in simple])
    return [Bounded(tuple(points.tolist()), tuple(prices), tuple(split.tolist())) for prices in choices]


FEW = 200  # up to so many sizes each become a type of their own, if they have few enough sums
MOST_POINTS, MOST_CELLS = 256, 4096
EVERYWHERE = 0.1  # weight of a price in proportion to size: cells are cut in the end even where no price rises yet
EXACT = 1e-9  # gap to which a program with few types is solved
SPARE = 1e-8  # a proof has at most this much less than the value of its program, as a share of it
WORTH_IT = 0.05  # new prices that close less than this share of the gap are not computed for the next partition


class OneResourceSearch(BestProofs):
    """A search from area bound and packing."""

    law: SizeLaw
    kinds: ServerKinds

    def __init__(self, law: SizeLaw, kinds: ServerKinds, gap: float, seconds: float, progress: Progress) -> None:
        super().__init__(law, kinds, gap, seconds, progress)
        self.offer_bounded([area_proof(law)])
        self.offer_attained([packing(law, kinds)])

    def run(self) -> None:
        """Search until `should_stop`, or until the partition cannot get finer."""
        if not self.exact_types():
            self.refine()

    def exact_types(self) -> bool:
        """Take both bounds from one type per size, if possible."""
        sizes = self.law.low
        if not self.law.exact or len(sizes) > FEW:
            return False
        split = np.zeros(len(sizes), np.bool_)
        try:
            pricing = PointPricing(sizes, self.kinds.capacity, split)
        except OverflowError:
            return False
        shares = self.law.mass / self.law.mass.sum()
        program = ConfigurationProgram(shares, self.kinds, increasing=True)
        solved = generate(program, pricing, sizes.astype(np.float64), within(EXACT), self.deadline)
        self.offer_attained(attained_proofs(solved, sizes, self.kinds))
        self.offer_bounded(bounded_proofs(solved, sizes, split))
        return True

    def refine(self) -> None:
        """Double the types repeatedly, where prices rise most."""
        partition = SizePartition(self.law, self.kinds)
        solved: SolvedProgram | None = None
        next_prices = 0
        with suppress(OverflowError):  # the knapsack has too many states
            while not self.should_stop and partition.count < MOST_CELLS:
                prices: list[Price] = [(self.bounded.price, 1.0), (lambda sizes: sizes / 1.0, EVERYWHERE)]
                if solved is not None:
                    prices.append((partial(np.interp, xp=np.append(0, partition.edges()), fp=np.append(0.0, solved.prices)), 1.0))
                partition.split(prices)
                if next_prices <= partition.count <= MOST_POINTS:
                    better = self._better_prices(partition)
                    next_prices = 2 * partition.count if better else 4 * partition.count
                if not self.should_stop:
                    solved = self._better_configurations(partition, solved)

    def _better_prices(self, partition: SizePartition) -> bool:
        """Compute prices at cell ends, and report success."""
        points, split = partition.points()
        masses, total = self.law.spread(np.append(0, points))
        shares = np.array([mass / total for mass in masses[1:]])
        pricing = PointPricing(points, self.kinds.capacity, split)
        close, before = within(self.gap / 4), self.upper
        solved = generate(
            ConfigurationProgram(shares, self.kinds, increasing=True),
            pricing,
            self.bounded.price(points),
            lambda value, bound: close(value, bound) or self.lower >= bound * (1 + SPARE) * (1 - self.gap),
            self.deadline,
        )
        self.offer_bounded(bounded_proofs(solved, points, split))
        return before - self.upper > WORTH_IT * (before - self.lower)

    def _better_configurations(self, partition: SizePartition, before: SolvedProgram | None) -> SolvedProgram:
        """Compute configurations of cells, from earlier ones."""
        edges = partition.edges()
        shares = np.bincount(cells_of(self.law.high, edges), self.law.mass, len(edges)) / self.law.mass.sum()
        pricing = PointPricing(edges, self.kinds.capacity, np.zeros(len(edges), np.bool_))
        close = within(self.gap / 4)
        solved = generate(
            ConfigurationProgram(shares, self.kinds, increasing=True),
            pricing,
            self.bounded.price(edges),
            lambda value, bound: close(value, bound) or value * (1 - SPARE) >= self.upper * (1 - self.gap),
            self.deadline,
            None if before is None else partition.inherit(before.in_use()),
        )
        self.offer_attained(attained_proofs(solved, edges, self.kinds))
        return solved


def within(gap: float) -> Enough:
    """Return a test: value within this share of the bound."""
    return lambda value, bound: value >= bound * (1 - gap)
