"""Proofs of both bounds on ρ* for several resources.

They are in integers and fractions. Lower bound: `Boxes`, configurations of boxes that hold the demands. Upper bound:
`Scalarised`, a proof for a weighted sum of all resources, or `Priced`, prices of a few vectors with enumerable configurations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from packenv.theory.capacity.linear_program import Ints
from packenv.theory.capacity.one_resource.certificate import (
    LARGEST_PRICE,
    LARGEST_SIZE,
    Bounded,
    ServerConfiguration,
    area_proof,
    count_places,
    require,
)
from packenv.theory.capacity.several_resources.demand_law import Atoms, VectorKinds, VectorLaw, first_box

MOST_CONFIGURATIONS = 20_000
MOST_VECTORS = 64  # configurations are enumerated for up to so many vectors
LARGEST_WEIGHT = 2**20

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Boxes:
    """Configurations of `boxes`, each task in the first fitting."""

    boxes: tuple[Vector, ...]
    configurations: tuple[ServerConfiguration, ...]  # of boxes
    parts: int  # of a server, in which the configurations count

    def value(self, law: VectorLaw, kinds: VectorKinds) -> Fraction:
        """Return the supported workload (tasks). Raises Refuted."""
        boxes = _vectors(self.boxes, kinds.capacity.shape[1])
        places = count_places(self.configurations, self.parts, self.boxes, kinds.capacity, kinds.number)
        shares = law.shares(boxes)
        require(shares is not None, "no box holds some demand")
        assert shares is not None
        served = (
            Fraction(place * shares[1], share * self.parts) for place, share in zip(places, shares[0], strict=True) if share
        )
        return min(served)


@dataclass(frozen=True)
class Scalarised:
    """A proof for a weighted sum of resources, keeping fits."""

    weights: Vector
    bounded: Bounded

    def value(self, law: VectorLaw, kinds: VectorKinds) -> Fraction:
        """Return an upper bound (tasks in service). May raise Refuted."""
        weights = self._checked(kinds.capacity.shape[1])
        return self.bounded.value(law.scalar(weights), kinds.scalar(weights))

    def whole_prices(self, demands: Ints) -> list[int]:
        """Price demands (m, D), rounded down, <= `most` per server."""
        return [self.bounded.whole_price(size) for size in (demands @ self._checked(demands.shape[1])).tolist()]

    def most(self, capacity: Ints) -> list[int]:
        """Bound total prices per server (G, D) from above."""
        return self.bounded.most(capacity @ self._checked(capacity.shape[1]))

    def _checked(self, resources: int) -> Ints:
        require(len(self.weights) == resources, "a weight is needed for every resource")
        good = min(self.weights) >= 0 < max(self.weights) <= LARGEST_WEIGHT
        require(good, f"weights must lie between 0 and {LARGEST_WEIGHT}, not all 0")
        return np.array(self.weights)


@dataclass(frozen=True)
class Priced:
    """Prices of `vectors`: a demand costs the last not above."""

    vectors: tuple[Vector, ...]
    prices: tuple[int, ...]

    def value(self, law: VectorLaw, kinds: VectorKinds) -> Fraction:
        """Return an upper bound (tasks in service). May raise Refuted."""
        require(isinstance(law, Atoms), "these prices are for finitely many demand vectors")
        assert isinstance(law, Atoms)
        price = self.whole_prices(law.vectors)
        masses = [Fraction(mass) for mass in law.mass.tolist()]
        worth = sum((p * mass for p, mass in zip(price, masses, strict=True)), Fraction(0)) / sum(masses)
        require(worth > 0, "the prices are all 0")
        most = sum(number * best for number, best in zip(kinds.number.tolist(), self.most(kinds.capacity), strict=True))
        return most / worth

    def whole_prices(self, demands: Ints) -> list[int]:
        """Return prices of demands (m, D), <= `most` per server."""
        place = first_box(-demands, -self._checked(demands.shape[1])[::-1])
        return np.where(place < 0, 0, np.array(self.prices)[::-1][place]).tolist()

    def most(self, capacity: Ints) -> list[int]:
        """Return the largest prices per server (G, D)."""
        vectors, totals = self._checked(capacity.shape[1]), []
        for room in capacity:
            try:
                held = maximal_fillings(vectors, room)
            except OverflowError:
                require(False, f"more than {MOST_CONFIGURATIONS} configurations")
            totals.append(max(sum(p * n for p, n in zip(self.prices, filling, strict=True)) for filling in held))
        return totals

    def _checked(self, resources: int) -> Ints:
        vectors = _vectors(self.vectors, resources)
        require(len(vectors) <= MOST_VECTORS, f"more than {MOST_VECTORS} vectors")
        require(len(self.prices) == len(vectors), "prices and vectors must have equal lengths")
        require(min(self.prices) >= 0 and max(self.prices) <= LARGEST_PRICE, f"prices must lie between 0 and {LARGEST_PRICE}")
        return vectors


def area_proofs(law: VectorLaw, kinds: VectorKinds) -> list[Scalarised]:
    """Prove the area bound of each resource in use."""
    proofs = []
    for weights in np.eye(kinds.capacity.shape[1], dtype=np.int64):
        scalar = law.scalar(weights)
        if scalar.high[-1] > 0:
            proofs.append(Scalarised(tuple(weights.tolist()), area_proof(scalar)))
    return proofs


def maximal_fillings(vectors: Ints, capacity: Ints, most: int = MOST_CONFIGURATIONS) -> list[Vector]:
    """Return all maximal (and other) numbers of `vectors` (n, D). OverflowError above `most`."""
    sizes = vectors.tolist()

    def fillings(first: int, room: list[int]) -> Iterator[Vector]:
        size = sizes[first]
        fit = min((have // need for have, need in zip(room, size, strict=True) if need), default=0)
        if first == len(sizes) - 1:
            yield (fit,)
            return
        # The last vector fills the rest, so all maximal fillings are among these.
        for count in range(fit, -1, -1):
            for rest in fillings(first + 1, [have - count * need for have, need in zip(room, size, strict=True)]):
                yield (count, *rest)

    listed: list[Vector] = []
    for filling in fillings(0, capacity.tolist()):
        listed.append(filling)
        if len(listed) > most:
            raise OverflowError
    return listed


def _vectors(vectors: tuple[Vector, ...], resources: int) -> Ints:
    """(n, D), checked: not negative, and none all 0."""
    require(bool(vectors) and all(len(vector) == resources for vector in vectors), f"vectors of {resources} resources are needed")
    good = all(min(vector) >= 0 < max(vector) <= LARGEST_SIZE for vector in vectors)
    require(good, f"vectors must be integers from 0 to {LARGEST_SIZE}, none all 0")
    return np.array(vectors, np.int64)
