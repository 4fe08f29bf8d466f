"""The search for ρ* with several resources.

Lower bound: demands are rounded up to boxes and packed. Then a linear program combines packings and other good
configurations (all configurations, if there are few demands). Upper bound: for every weighted sum of the resources, the
bound for one resource holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from packenv.theory.capacity.best_proofs import BestProofs, Progress, rounded_up
from packenv.theory.capacity.linear_program import ConfigurationColumns, ConfigurationProgram, Floats, Ints, ServerKinds, generate
from packenv.theory.capacity.one_resource.certificate import LARGEST_PRICE
from packenv.theory.capacity.one_resource.search import SPARE, OneResourceSearch, weighted
from packenv.theory.capacity.one_resource.size_law import SizeLaw
from packenv.theory.capacity.several_resources.certificate import (
    LARGEST_WEIGHT,
    MOST_VECTORS,
    Boxes,
    Priced,
    Scalarised,
    area_proofs,
    maximal_fillings,
)
from packenv.theory.capacity.several_resources.demand_law import FEW, Atoms, VectorKinds, VectorLaw
from packenv.theory.capacity.several_resources.packing import IntegerPricing, columns_of, packing, valuable

FINE = 8 * FEW  # boxes to pack; the linear program has at most FEW
MIXTURES = (1 / 2, 1 / 3, 2 / 3, 1 / 5, 4 / 5)  # weights of the scarcest resource; the second has the rest


class SeveralResourcesSearch(BestProofs):
    """Begins with the area bounds, and improves both bounds."""

    law: VectorLaw
    kinds: VectorKinds

    def __init__(self, law: VectorLaw, kinds: VectorKinds, gap: float, seconds: float, progress: Progress) -> None:
        super().__init__(law, kinds, gap, seconds, progress)
        by_area = area_proofs(law, kinds)
        self.area_bounds = {proof.weights.index(1): rounded_up(proof.value(law, kinds)) for proof in by_area}
        self.offer_bounded(by_area)

    def run(self) -> None:
        """Search until `should_stop`, or until no method is left."""
        if not self.few_vectors():
            self.refine()

    def only_bound(self) -> None:
        """Search the upper bound alone, unless `few_vectors` gives both."""
        if not self.few_vectors():
            for vector in self._weights():
                if self.should_stop:
                    return
                self._bound(vector)

    def few_vectors(self) -> bool:
        """Take both bounds from all configurations, if few."""
        law, kinds = self.law, self.kinds
        if not isinstance(law, Atoms) or len(law.vectors) > MOST_VECTORS:
            return False
        try:
            held = [maximal_fillings(law.vectors, capacity) for capacity in kinds.capacity]
        except OverflowError:
            return False
        program = ConfigurationProgram(law.mass / law.mass.sum(), ServerKinds(np.arange(len(held)), kinds.number))
        kind = np.repeat(np.arange(len(held)), [len(fillings) for fillings in held])
        program.add(ConfigurationColumns(np.concatenate([np.array(fillings, np.float64) for fillings in held]), kind))
        _, prices = program.solve()
        self.offer_attained(self._boxes(program, law.vectors))
        integers = np.floor(prices / prices.max() * LARGEST_PRICE).astype(np.int64)
        self.offer_bounded([Priced(tuple(map(tuple, law.vectors.tolist())), tuple(integers.tolist()))])
        return True

    def refine(self) -> None:
        """Pack boxes, bound by weights, and improve packings."""
        weights = list(self._weights())
        self._pack(weights)
        for vector in weights:
            if self.should_stop:
                return
            self._bound(vector)
        if not self.should_stop:
            self._improve(weights)

    def _pack(self, weights: list[tuple[int, ...]]) -> None:
        boxes, shares = self._boxes_and_shares(FINE)
        until = time.monotonic() + (self.deadline - time.monotonic()) / 4
        for vector in sorted(weights, key=lambda vector: vector.count(0)):  # all resources at once is best more often
            if self.attained is None or not (self.should_stop or time.monotonic() > until):
                self.offer_attained([packing(boxes, shares, self.kinds, np.array(vector, np.float64))])

    def _boxes_and_shares(self, most: int) -> tuple[Ints, Floats]:
        """Return `most` boxes (n, D) or fewer, with shares."""
        parts = max(2, int(most ** (1 / self.kinds.capacity.shape[1]) + 1e-9))
        boxes = self.law.boxes(parts, self.kinds)
        largest = np.maximum(self.kinds.capacity.max(axis=0), 1)
        boxes = boxes[np.argsort((boxes / largest).sum(axis=1), kind="stable")]
        masses = self.law.shares(boxes)
        assert masses is not None
        shares = np.array([share / masses[1] for share in masses[0]])
        return boxes[shares > 0], shares[shares > 0]

    def _weights(self) -> Iterator[tuple[int, ...]]:
        """Yield weights (D,): single ones, all, mixtures."""
        capacity = self.kinds.number @ self.kinds.capacity
        order = sorted(self.area_bounds, key=lambda r: self.area_bounds[r])
        unit = np.eye(len(capacity), dtype=np.int64)
        yield from (tuple(unit[r].tolist()) for r in order)
        if len(order) > 1:
            a, b = (unit[r] / capacity[r] for r in order[:2])
            every = [sum(unit[r] / capacity[r] for r in order)] if len(order) > 2 else []
            for mixed in [*every, *(share * a + (1 - share) * b for share in MIXTURES)]:
                integers = np.minimum(np.round(4 * mixed / mixed[mixed > 0].min()), LARGEST_WEIGHT).astype(np.int64)
                yield tuple((integers // np.gcd.reduce(integers)).tolist())

    def _bound(self, weights: tuple[int, ...]) -> None:
        """Bound ρ* by this weighted sum, if useful."""
        law = self.law.scalar(np.array(weights))
        nonzero = law.low > 0
        share = float(law.mass[nonzero].sum() / law.mass.sum())
        positive = SizeLaw(law.low[nonzero], law.high[nonzero], law.mass[nonzero] / share, law.exact)
        seconds = (self.deadline - time.monotonic()) / 8
        servers = self.kinds.scalar(np.array(weights))
        search = OneResourceSearch(positive, servers, self.gap / 4, seconds, lambda lower, upper: None)
        search.useless = self.upper * share * (1 - self.gap / 2)
        if not search.should_stop:
            search.run()
        self.offer_bounded([Scalarised(weights, search.bounded)])

    def _improve(self, weights: list[tuple[int, ...]]) -> None:
        """Solve a linear program over boxes, with good further configurations."""
        boxes, shares = self._boxes_and_shares(FEW)
        program = ConfigurationProgram(shares, ServerKinds(np.arange(len(self.kinds.number)), self.kinds.number))
        for vector in weights[: self.kinds.capacity.shape[1]]:
            packed = packing(boxes, shares, self.kinds, np.array(vector, np.float64))
            program.add(columns_of(packed))
        prices: Floats = np.asarray(boxes @ np.array(weights[0]), np.float64)
        for pricing in (partial(valuable, boxes, self.kinds), IntegerPricing(boxes, self.kinds)):
            prices = generate(program, pricing, prices, self._enough, self.deadline).prices
            self.offer_attained(self._boxes(program, boxes))
            if self.should_stop:
                return

    def _enough(self, value: float, bound: float) -> bool:
        return value * (1 - SPARE) >= self.upper * (1 - self.gap)

    def _boxes(self, program: ConfigurationProgram, boxes: Ints) -> list[Boxes]:
        vectors = tuple(map(tuple, boxes.tolist()))
        choices = weighted(program.columns(), program.weights(), self.kinds.number)
        return [Boxes(vectors, configurations, parts) for configurations, parts in choices]
