"""Proofs of bounds on ρ*, in integers and fractions.

They are checked without the solver that found them.
`Attained`: configurations, and the number of servers for each. It proves that the cluster supports `value()` tasks in service.
`Bounded`: prices of sizes. It proves that no policy supports more than `value()` (PAPERS §1.2, Theorem 1).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from packenv.errors import InputError
from packenv.theory.capacity.linear_program import Floats, Ints, ServerKinds
from packenv.theory.capacity.one_resource.knapsack import Knapsack
from packenv.theory.capacity.one_resource.size_law import SizeLaw, cells_of

LARGEST_PRICE = 2**31
LARGEST_SIZE = 2**40  # units: beyond any server


class Refuted(InputError):
    """A certificate does not prove what it claims."""


@dataclass(frozen=True)
class ServerConfiguration:
    """Tasks of some servers, as pairs (cell, count)."""

    kind: int
    held: tuple[tuple[int, int], ...]
    servers: int  # how many, in parts of a server


@dataclass(frozen=True)
class Attained:
    """Configurations of cells that prove a lower bound.

    Cell j holds the sizes above edges[j - 1] (0 for the first) up to edges[j] units. A task counts as edges[j] units, and may
    also take the place of a larger one. So the cluster supports ρ tasks in service if, for every cell, the configurations have at
    least ρ · P(size in this cell or a larger one) places for this cell and larger ones.
    """

    edges: tuple[int, ...]
    configurations: tuple[ServerConfiguration, ...]
    parts: int  # of a server, in which the configurations count

    def value(self, law: SizeLaw, kinds: ServerKinds) -> Fraction:
        """Return the supported workload (tasks in service). May raise Refuted."""
        edges = self.edges
        require(_increase(edges), f"edges must be integers that increase from above 0 to at most {LARGEST_SIZE}")
        require(int(law.high[-1]) <= edges[-1], f"no cell holds the size {int(law.high[-1])}")
        places = count_places(self.configurations, self.parts, [(edge,) for edge in edges], kinds.capacity[:, None], kinds.number)
        shares, whole = law.shares(cells_of(law.high, np.array(edges)), len(edges))
        served, needed = 1, 0
        for place, need in zip(_from_the_largest(places), _from_the_largest(shares), strict=True):
            if place * needed < need * served:
                served, needed = place, need
        return Fraction(served * whole, needed * self.parts)


@dataclass(frozen=True)
class Bounded:
    """Prices of sizes: points[i] units cost prices[i] >= 0.

    Size 0 costs 0, and prices are linear between points. `split[i]`: whether sizes occur strictly between point i - 1 and point
    i. If W is the largest total price of the tasks that fit a server, then ρ E[price of a size] <= Σ W over the servers.
    """

    points: tuple[int, ...]
    prices: tuple[int, ...]
    split: tuple[bool, ...]

    def price(self, size: Ints) -> Floats:
        """Return prices of sizes (m,) in units, extended proportionally."""
        beyond = np.maximum(size / self.points[-1], 1.0)
        return np.asarray(np.interp(size, (0, *self.points), (0, *self.prices)) * beyond)

    def value(self, law: SizeLaw, kinds: ServerKinds) -> Fraction:
        """Return an upper bound (tasks in service). May raise Refuted."""
        require(len(self.points) == len(self.prices) == len(self.split), "points, prices and cells must have equal lengths")
        require(_increase(self.points), f"points must be integers that increase from above 0 to at most {LARGEST_SIZE}")
        points = np.array((0, *self.points))
        require(min(self.prices) >= 0 and max(self.prices) <= LARGEST_PRICE, f"prices must lie between 0 and {LARGEST_PRICE}")
        require(int(law.high[-1]) <= points[-1], f"the size {int(law.high[-1])} has no price")
        require(not (law.between(points) & ~np.array(self.split)).any(), "sizes occur in a cell that is marked as empty")
        shares, whole = law.spread(points)
        worth = Fraction(sum(price * share for price, share in zip((0, *self.prices), shares, strict=True)), whole)
        require(worth > 0, "the prices are all 0")
        most = self.most(kinds.capacity)
        return sum((count * price for count, price in zip(kinds.number.tolist(), most, strict=True)), 0) / worth

    def whole_price(self, size: int) -> int:
        """Return a size's rounded-down price. Sizes in a server cost <= `most`."""
        i = bisect_left(self.points, size)
        left, low = (self.points[i - 1], self.prices[i - 1]) if i else (0, 0)
        if i == len(self.points) or not (self.split[i] or size == self.points[i]):
            return low
        return low + (self.prices[i] - low) * (size - left) // (self.points[i] - left)

    def most(self, capacity: Ints) -> list[int]:
        """Return largest prices that fit capacities, rounded up."""
        if len(self.points) == 1 and self.split[0]:  # by area, of which a server may hold any number of tasks
            return [-(-self.prices[0] * room // self.points[0]) for room in capacity.tolist()]
        points, prices = np.array(self.points, np.int64), np.array(self.prices, np.int64)
        # Sizes at the points alone.
        knapsack = Knapsack(points, int(capacity.max()))
        solution = knapsack.solve(prices)
        totals = []
        wide = int(prices.max()) * int(points[-1]) >= 2**62  # too wide for 64 bits: Python's integers
        exact = np.dtype(object) if wide else np.dtype(np.int64)
        # One size inside a cell, which takes all room that the others leave.
        before, low = np.append(0, points[:-1]).astype(exact), np.append(0, prices[:-1]).astype(exact)
        rise, width = prices.astype(exact) - low, points.astype(exact) - before
        split = np.append(np.array(self.split), False)
        for room in capacity.tolist():
            best = int(solution.worth(np.array([room]))[0])
            rest = room - knapsack.sums[knapsack.sums < room]
            cell = np.searchsorted(points, rest)
            inside = np.flatnonzero(split[cell])
            if len(inside):
                i = cell[inside]
                up = -(-rise[i] * (rest[inside] - before[i]) // width[i])
                best = max(best, int((solution.value[inside] + low[i] + up).max()))
            totals.append(best)
        return totals


def count_places(
    configurations: Sequence[ServerConfiguration], parts: int, cells: Sequence[tuple[int, ...]], capacity: Ints, number: Ints
) -> list[int]:
    """Count the tasks of each cell, in server parts.

    A task of cell j takes cells[j] (D,) units. Raises Refuted if a configuration does not fit a server of its kind, of capacity
    (D,) in capacity (G, D), or if more than number (G,) servers of a kind are in use.
    """
    require(parts > 0, "a server has at least one part")
    used, places = [0] * len(capacity), [0] * len(cells)
    for n, (kind, held, servers) in enumerate((c.kind, c.held, c.servers) for c in configurations):
        require(0 <= kind < len(used) and servers >= 0, f"configuration {n}: no such servers")
        require(all(0 <= j < len(cells) and count >= 0 for j, count in held), f"configuration {n}: no such cell")
        for r, room in enumerate(capacity[kind].tolist()):
            require(sum(cells[j][r] * count for j, count in held) <= room, f"configuration {n} does not fit")
        used[kind] += servers
        for j, count in held:
            places[j] += count * servers
    for kind, count in enumerate(number.tolist()):
        require(used[kind] <= count * parts, f"{used[kind]} parts of servers of kind {kind} in use, there are {count * parts}")
    return places


def area_proof(law: SizeLaw) -> Bounded:
    """Return the area bound's proof: prices proportional to (weighted) size."""
    largest = int(law.high[-1])
    return Bounded((largest,), (min(largest, LARGEST_PRICE),), (True,))


def _increase(values: tuple[int, ...]) -> bool:
    """Return whether values increase from 0 to LARGEST_SIZE."""
    return bool(values) and values[-1] <= LARGEST_SIZE and all(a < b for a, b in pairwise((0, *values)))


def _from_the_largest(values: list[int]) -> list[int]:
    """Return the cumulative sums from the last value backwards."""
    return list(accumulate(reversed(values)))


def require(true: bool, otherwise: str) -> None:
    """Raise Refuted unless `true`."""
    if not true:
        raise Refuted(f"certificate: {otherwise}")
