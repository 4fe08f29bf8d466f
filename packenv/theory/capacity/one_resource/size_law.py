"""The law of sizes, integer sizes with shares, and partitions into cells.

Shares are of the tasks in service. Resources are integers (CONTRIBUTING, decision 2), so every law is finite. Where service
depends on the demand, a size is weighted by its time in service, because ρ* is a number of tasks in service.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.theory.capacity.linear_program import ConfigurationColumns, Ints, ServerKinds
from packenv.units import to_units
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]

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
        """Return upper bounds on groups' probabilities: numerators and denominator."""
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
