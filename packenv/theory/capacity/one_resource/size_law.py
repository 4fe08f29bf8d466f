"""The law of sizes: integer sizes, and their shares.

Shares are of the tasks in service. Resources are integers (CONTRIBUTING, decision 2), so every law is finite. Where service
depends on the demand, a size is weighted by its time in service, because ρ* is a number of tasks in service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.theory.capacity.linear_program import ServerKinds
from packenv.units import to_units
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FINEST = 2**22  # distinct sizes at most: a law over more units is cut into that many ranges
BITS = 80  # probabilities are whole multiples of 2^-BITS
ABSOLUTE, RELATIVE = 10**12, 10**9
"""A floating-point sum of probabilities differs from the true one by at most 1 / ABSOLUTE plus 1 / RELATIVE of it: the sum
of FINEST terms loses at most FINEST · 2^-53."""


@dataclass(frozen=True, eq=False)
class SizeLaw:
    """Shares `mass[i]` of low[i] .. high[i] units, (n,) increasing.

    low = high unless the law is spread over more than FINEST units. `exact`: the masses are the user's weights, exact up to a
    common factor, and not differences of a distribution function.
    """

    low: Ints
    high: Ints
    mass: Floats
    exact: bool

    @property
    def mean_low(self) -> float:
        """A lower bound on the mean size, in units."""
        return float(self.low @ self.mass / self.mass.sum())

    def shares(self, of: Ints, count: int) -> tuple[list[int], int]:
        """Return upper bounds on groups' probabilities, by a denominator."""
        if not self.exact:
            return [_around(value)[1] for value in np.bincount(of, self.mass, count).tolist()], 1 << BITS
        sums = [0] * count
        masses, total = self._probabilities
        for group, mass in zip(of.tolist(), masses, strict=True):
            sums[group] += mass
        return sums, total

    def least_shares(self, starts: Ints) -> tuple[list[int], int]:
        """Return lower bounds as in `shares`, for `starts`."""
        ranges = list(pairwise([*starts.tolist(), len(self.mass)]))
        if not self.exact:
            return [_around(float(self.mass[first:end].sum()))[0] for first, end in ranges], 1 << BITS
        masses, total = self._probabilities
        return [sum(masses[first:end]) for first, end in ranges], total

    def spread(self, points: Ints) -> tuple[list[int], int]:
        """Return lower bounds on the mass of each point (m,).

        Every size is split between its two neighbouring points, with the same mean. A range counts as its lower end. `points`
        (m,) increase from 0, the last one at least the largest size. Returns numerators and their denominator.
        """
        above = np.maximum(cells_of(self.low, points), 1)  # points[above - 1] < size <= points[above]; 0 lies on the first
        up, width = self.low - points[above - 1], points[above] - points[above - 1]
        if not self.exact:
            right = self.mass * (up / width)
            sums = np.bincount(above, right, len(points)) + np.bincount(above - 1, self.mass - right, len(points))
            return [_around(value)[0] for value in sums.tolist()], 1 << BITS
        masses, total = self._probabilities
        left = [0] * len(points)  # units of 2^-BITS: shares of a size are rounded down
        for i, share, whole, mass in zip(above.tolist(), up.tolist(), width.tolist(), masses, strict=True):
            left[i] += ((mass * share) << BITS) // whole
            left[i - 1] += ((mass * (whole - share)) << BITS) // whole
        return left, total << BITS

    def between(self, points: Ints) -> NDArray[np.bool_]:
        """(m - 1,) whether sizes occur strictly between increasing `points` (m,)."""
        return np.searchsorted(self.low, points[1:]) > np.searchsorted(self.low, points[:-1], side="right")

    @cached_property
    def _probabilities(self) -> tuple[list[int], int]:
        """The masses (n,) as integers, and their sum."""
        fractions = [mass.as_integer_ratio() for mass in self.mass.tolist()]
        common = max(below for _, below in fractions)  # all are powers of two
        masses = [above * (common // below) for above, below in fractions]
        return masses, sum(masses)


def cells_of(values: Ints, ends: Ints) -> Ints:
    """(n,) the first of `ends` >= each of `values` (n,), both increasing."""
    return np.repeat(np.arange(len(ends)), np.diff(np.searchsorted(values, ends, side="right"), prepend=0))


def _around(value: float) -> tuple[int, int]:
    """Bound a floating-point probability both ways, in 2^-BITS."""
    above, below = value.as_integer_ratio()
    exact = (above << BITS) // below
    error = exact // RELATIVE + (1 << BITS) // ABSOLUTE + 1
    return max(exact - error, 0), exact + error


def size_law(workload: Workload) -> SizeLaw:
    """Return a workload's law of sizes. Raises InputError for several resources."""
    if workload.D != 1:
        raise InputError(f"workload {workload.name} has {workload.D} resources, not one size")
    sizes = workload.sizes
    if workload.jobs is not None or isinstance(sizes, Joint):
        vectors, weights = demand_atoms(workload)
        return atomic(vectors[:, 0], weights)
    law = sizes[0] if isinstance(sizes, tuple) else sizes
    assert isinstance(law, Law)
    return in_units(law, int(workload.servers.largest[0]))


def in_units(law: Law, largest: int) -> SizeLaw:
    """Return a law in integer units up to `largest`."""
    if (atoms := law.atoms()) is not None:
        return atomic(to_units(atoms[0]), atoms[1])
    ends = to_units(np.array(law.support()))
    first, last = int(ends[0]), int(min(ends[1], largest))
    step = 1 + (last - first) // FINEST
    high = np.arange(first, last + step, step)
    mass = np.diff(law.cdf_units(np.concatenate([[first - step], high])))
    possible = mass > 0
    low = np.where(high > 0, np.maximum(high - step + 1, 1), 0)
    return SizeLaw(low[possible], high[possible], mass[possible], exact=False)


def demand_atoms(workload: Workload) -> tuple[Ints, Floats]:
    """(m, D) units of a table or joint law, and weights (m,) by service time."""
    if isinstance(workload.jobs, Jobs):
        vectors, weights = workload.jobs.demand, workload.jobs.service.astype(np.float64)
    else:
        assert isinstance(workload.sizes, Joint)
        values, weights = workload.sizes.atoms()
        vectors = to_units(values)
        if isinstance(workload.service, Conditional):
            weights = weights * workload.service.means()
    distinct, place = np.unique(vectors, axis=0, return_inverse=True)
    summed: Floats = np.bincount(place.ravel(), weights, len(distinct)).astype(np.float64)
    return distinct[summed > 0], summed[summed > 0]


def atomic(sizes: Ints, weights: Floats) -> SizeLaw:
    """Return the law of finitely many, possibly repeated, weighted sizes in units."""
    distinct, place = np.unique(sizes, return_inverse=True)
    mass: Floats = np.bincount(place, weights).astype(np.float64)
    return SizeLaw(distinct[mass > 0], distinct[mass > 0], mass[mass > 0], exact=True)


def kinds_of(workload: Workload) -> ServerKinds:
    """Return a cluster's distinct capacities, decreasing, and their server counts."""
    capacity, count = np.unique(workload.servers.units[:, 0], return_counts=True)
    return ServerKinds(capacity[::-1].copy(), count[::-1].copy())
