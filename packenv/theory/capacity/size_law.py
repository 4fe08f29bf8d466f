"""The law of sizes as the theory sees it: finitely many integer sizes, each with the share of jobs in service that has it.

Resources are integers (DESIGN, decision 2), so every law is finite. Where service depends on the demand, a size counts
by the time that its jobs are in service: ρ* is a number of jobs in service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.units import to_units
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FINEST = 2**22  # sizes that are told apart
BITS = 80
ABSOLUTE, RELATIVE = 10**12, 10**9
"""A sum of probabilities computed in floating point is within 1 / ABSOLUTE and a RELATIVE-th of the truth: FINEST terms
lose at most FINEST · 2^-53."""


@dataclass(frozen=True, eq=False)
class SizeLaw:
    """`mass[i]` of the jobs in service have a size in low[i] .. high[i] units; increasing, (n,) each.

    low = high but for laws spread over more than FINEST units. `exact`: masses are numbers as given (atoms), known up
    to a common factor, and not values of a distribution function.
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
        """Upper bounds on the probabilities of `count` groups, as numerators and their denominator; `of` (n,): the groups."""
        if not self.exact:
            return [_around(value)[1] for value in np.bincount(of, self.mass, count).tolist()], 1 << BITS
        sums = [0] * count
        masses, total = self._probabilities
        for group, mass in zip(of.tolist(), masses, strict=True):
            sums[group] += mass
        return sums, total

    def spread(self, points: Ints) -> tuple[list[int], int]:
        """Lower bounds on the masses (m,) that each size leaves on the two points around it, keeping its mean.

        points (m,) increasing from 0, the last one at least the largest size. A size held as a range counts as its lower end.
        Numerators and their denominator.
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
        """Whether sizes occur strictly between each of the points (m,), increasing from 0, and the next one: (m - 1,)."""
        return np.searchsorted(self.low, points[1:]) > np.searchsorted(self.low, points[:-1], side="right")

    @cached_property
    def _probabilities(self) -> tuple[list[int], int]:
        """The masses (n,) as integers, and their sum."""
        fractions = [mass.as_integer_ratio() for mass in self.mass.tolist()]
        common = max(below for _, below in fractions)  # all are powers of two
        masses = [above * (common // below) for above, below in fractions]
        return masses, sum(masses)


def cells_of(values: Ints, ends: Ints) -> Ints:
    """(n,) the first of `ends` that is at least as large as each of `values` (n,). Both increase; the last end is enough."""
    return np.repeat(np.arange(len(ends)), np.diff(np.searchsorted(values, ends, side="right"), prepend=0))


def _around(value: float) -> tuple[int, int]:
    """Bounds on a sum that came out as `value`, in units of 2^-BITS."""
    above, below = value.as_integer_ratio()
    exact = (above << BITS) // below
    error = exact // RELATIVE + (1 << BITS) // ABSOLUTE + 1
    return max(exact - error, 0), exact + error


def size_law(workload: Workload) -> SizeLaw:
    """The law of sizes of a workload with one resource. Raises InputError for several."""
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
    """A law of sizes of which none exceeds `largest` units."""
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
    """Distinct demand vectors in units (m, D) and their weights by time in service (m,), of a table or a joint law."""
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
    """The law of finitely many sizes in units, not necessarily distinct."""
    distinct, place = np.unique(sizes, return_inverse=True)
    mass: Floats = np.bincount(place, weights).astype(np.float64)
    return SizeLaw(distinct[mass > 0], distinct[mass > 0], mass[mass > 0], exact=True)
