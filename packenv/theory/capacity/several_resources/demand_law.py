"""The law of demand vectors: finitely many, or independent resources.

As in `size_law`, a vector is weighted by the time that its tasks are in service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from packenv.theory.capacity.linear_program import Floats, Ints, ServerKinds
from packenv.theory.capacity.one_resource.packing import quantiles
from packenv.theory.capacity.one_resource.size_law import SizeLaw, atomic, demand_atoms, in_units
from packenv.workloads.laws.joint import Joint
from packenv.workloads.workload import Workload

FEW = 512  # up to so many vectors are boxes of their own
SUMS = 2**12  # steps of the law of a sum of independent demands

OUTSIDE = -1  # no box holds the demand


class VectorKinds(NamedTuple):
    """Servers of several resources: distinct capacities, and their numbers."""

    capacity: Ints  # (G, D) units
    number: Ints  # (G,)

    def scalar(self, weights: Ints) -> ServerKinds:
        """Return servers of one resource, the weighted sum, decreasing."""
        capacity, place = np.unique(self.capacity @ weights, return_inverse=True)
        number = np.bincount(place.ravel(), self.number).astype(np.int64)
        return ServerKinds(capacity[::-1].copy(), number[::-1].copy())


@dataclass(frozen=True, eq=False)
class Atoms:
    """Distinct `vectors` (m, D) units, relative `mass` (m,)."""

    vectors: Ints
    mass: Floats

    def shares(self, boxes: Ints) -> tuple[list[int], int] | None:
        """Return upper bounds on P(first fitting box): numerators, denominator, or None."""
        place = first_box(self.vectors, boxes)
        if (place == OUTSIDE).any():
            return None
        numbers = np.arange(len(self.mass))
        return SizeLaw(numbers, numbers, self.mass, exact=True).shares(place, len(boxes))

    def scalar(self, weights: Ints) -> SizeLaw:
        """Return the law of weighted sums, rounded down if at all."""
        return atomic(self.vectors @ weights, self.mass)

    def boxes(self, parts: int, kinds: VectorKinds) -> Ints:
        """(n, D) boxes of all vectors: themselves, or rounded up to `parts` values."""
        if len(self.vectors) <= FEW:
            return self.vectors
        rounded = np.empty_like(self.vectors)
        for r, column in enumerate(self.vectors.T):
            ends = np.unique(quantiles(atomic(column, self.mass), parts))
            rounded[:, r] = ends[np.searchsorted(ends, column)]
        fits = np.array([(box <= kinds.capacity).all(axis=1).any() for box in rounded])[:, None]
        return np.unique(np.where(fits, rounded, self.vectors), axis=0)


@dataclass(frozen=True, eq=False)
class Independent:
    """A law of sizes per resource, independent."""

    laws: tuple[SizeLaw, ...]

    def shares(self, boxes: Ints) -> tuple[list[int], int] | None:
        """As in Atoms."""
        ends = [np.unique(column) for column in boxes.T]
        if any(law.high[-1] > end[-1] for law, end in zip(self.laws, ends, strict=True)):
            return None
        cells = [law.shares(np.searchsorted(end, law.high), len(end)) for law, end in zip(self.laws, ends, strict=True)]
        masses = [reduce(int.__mul__, cell) for cell in product(*(masses for masses, _ in cells))]
        place = first_box(np.array(list(product(*(end.tolist() for end in ends)))), boxes)
        sums = [0] * len(boxes)
        for n, mass in zip(place.tolist(), masses, strict=True):
            if n == OUTSIDE:
                if mass > 0:
                    return None
            else:
                sums[n] += mass
        return sums, reduce(int.__mul__, (whole for _, whole in cells))

    def scalar(self, weights: Ints) -> SizeLaw:
        """Return the law as in Atoms, rounded down earlier."""
        used = [(law, weight) for law, weight in zip(self.laws, weights.tolist(), strict=True) if weight > 0]
        if len(used) == 1:
            law, weight = used[0]
            return SizeLaw(law.low * weight, law.high * weight, law.mass, law.exact)
        step = 1 + sum(int(law.high[-1]) * weight for law, weight in used) // SUMS
        mass = np.ones(1)
        for law, weight in used:
            mass = np.convolve(mass, np.bincount(law.low * weight // step, law.mass / law.mass.sum()))
        sizes = np.flatnonzero(mass)
        return SizeLaw(sizes * step, sizes * step, mass[sizes], exact=False)

    def boxes(self, parts: int, kinds: VectorKinds) -> Ints:
        """Return boxes as in Atoms, up to largest demands."""
        return np.array(list(product(*(np.unique(quantiles(law, parts)).tolist() for law in self.laws))))


VectorLaw: TypeAlias = Atoms | Independent


def first_box(vectors: Ints, boxes: Ints) -> Ints:
    """(m,) first of `boxes` (n, D) to hold each vector (m, D), or OUTSIDE."""
    first = np.full(len(vectors), OUTSIDE, np.int64)
    for n in range(len(boxes) - 1, -1, -1):
        first[(vectors <= boxes[n]).all(axis=1)] = n
    return first


def vector_law(workload: Workload) -> VectorLaw:
    """The law of the demand vectors of a workload."""
    if workload.jobs is not None or isinstance(workload.sizes, Joint):
        return Atoms(*demand_atoms(workload))
    assert isinstance(workload.sizes, tuple)
    return Independent(tuple(map(in_units, workload.sizes, workload.servers.largest.tolist())))


def vector_kinds_of(workload: Workload) -> VectorKinds:
    """Return a cluster's distinct capacities, and their server counts."""
    return VectorKinds(*np.unique(workload.servers.units, axis=0, return_counts=True))
