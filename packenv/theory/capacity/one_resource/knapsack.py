"""The unbounded integer knapsack: a server's most valuable configurations.

It is solved exactly, by dynamic programming. The states are the reachable sums of sizes. They are few if the sizes are multiples
of a step, or if there are few sizes. They depend on the sizes alone, so one `Knapsack` serves many sets of prices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled
from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints

Values = NDArray[np.float64] | NDArray[np.int64]

MOST_STEPS = 40_000_000
"""Limit on states times sizes: more would take too long."""


class Knapsack:
    """Sizes (n,) in units, repeatable, up to `capacity` units."""

    def __init__(self, sizes: Ints, capacity: int, most_steps: int = MOST_STEPS) -> None:
        """Build the table, or raise OverflowError above `most_steps` entries."""
        scale = int(np.gcd.reduce(sizes))
        self.sizes = sizes
        self.capacity = capacity
        sums = reachable(sizes // scale, capacity // scale, most_steps // len(sizes)) * scale
        self.sums = sums  # (R,) increasing from 0
        self.before = np.full((len(sums), len(sizes)), -1, np.int32)  # (R, n) state before the last item
        for j, size in enumerate(sizes):
            place = np.searchsorted(sums, sums - size)
            exists = sums[np.minimum(place, len(sums) - 1)] == sums - size
            self.before[exists, j] = place[exists]

    def solve(self, values: Values) -> Solution:
        """Return best contents for `values` (n,) >= 0, exact for integers."""
        best: Any = np.zeros(len(self.sums), values.dtype)  # (R,) worth of the best items with exactly this sum
        last = np.full(len(self.sums), -1, np.int32)  # (R,) one of them
        fill(self.before, values, best, last)
        return Solution(self, best, last)


class Solution:
    """The best contents of every capacity, for given values."""

    def __init__(self, knapsack: Knapsack, best: Values, last: NDArray[np.int32]) -> None:
        self.knapsack = knapsack
        self.last = last
        self.value = np.maximum.accumulate(best)  # (R,) of sums up to this one
        self.state = np.maximum.accumulate(np.where(best == self.value, np.arange(len(best)), 0))  # (R,) where that is reached

    def states(self, capacity: Ints) -> Ints:
        """(m,) states of the best contents, capacities (m,) units."""
        return np.asarray(self.state[np.searchsorted(self.knapsack.sums, capacity, side="right") - 1])

    def worth(self, capacity: Ints) -> Values:
        """(m,) worth of the best contents, capacities (m,) units."""
        return np.asarray(self.value[self.states(capacity)])

    def items(self, states: Ints) -> Ints:
        """(m, n) numbers of each size in states (m,)."""
        counts = np.zeros((len(states), len(self.knapsack.sizes)), np.int64)
        trace(self.knapsack.before, self.last, states, counts)
        return counts


def reachable(sizes: Ints, capacity: int, most: int) -> Ints:
    """Return increasing sums up to `capacity`. Raises OverflowError above `most`."""
    every = (1 << (capacity + 1)) - 1
    bits = 1
    for size in sizes.tolist():
        step = size
        while step <= capacity:
            bits |= (bits << step) & every
            step *= 2
        if bits.bit_count() > most:
            raise OverflowError
    packed = np.frombuffer(bits.to_bytes(capacity // 8 + 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(packed, bitorder="little")).astype(np.int64)


@compiled
def fill(before: NDArray[np.int32], values: Values, best: Values, last: NDArray[np.int32]) -> None:
    """Fill V(s) = max_j V(s - size_j) + value_j for increasing s."""
    for state in range(1, before.shape[0]):
        item = -1
        for j in range(before.shape[1]):
            previous = before[state, j]
            if previous >= 0:
                value = best[previous] + values[j]
                if item < 0 or value > best[state]:
                    best[state] = value
                    item = j
        last[state] = item


@compiled
def trace(before: NDArray[np.int32], last: NDArray[np.int32], states: Ints, counts: Ints) -> None:
    """Count sizes from each state back to the empty server."""
    for n in range(states.shape[0]):
        state = states[n]
        while last[state] >= 0:
            counts[n, last[state]] += 1
            state = before[state, last[state]]


INSIDE = 32  # configurations with one size between points that are returned at a time


class PointPricing:
    """Configurations of sizes at `points` (n,), and strictly between them.

    Points are in units, increasing. Cell i lies between point i - 1 (0 for the first, of price 0) and point i. Sizes occur inside
    it if `split[i]`. Such a size counts as the mixture of the two points that has the same mean. A best configuration has at most
    one size inside its cell, and that one takes all room that the others leave. The reason: the vertices of {a_i <= x_i <= b_i, Σ
    x_i <= C} have at most one coordinate that is not at an end. So it is exact to fill each capacity with points alone, and then
    to add one size in between.
    """

    def __init__(self, points: Ints, capacity: Ints, split: NDArray[np.bool_]) -> None:
        """Take `capacity` (G,) units and `split` (n,). Raises OverflowError for many sums."""
        self.points, self.capacity = points, capacity
        self.knapsack = Knapsack(points, int(capacity.max()))
        self.inside = [self._inside(room, split) for room in capacity.tolist()]

    def _inside(self, capacity: int, split: NDArray[np.bool_]) -> InteriorSizes:
        """Return sizes in split cells, to fill servers."""
        sums = self.knapsack.sums
        states = np.flatnonzero((sums < capacity) & (capacity - sums < self.points[-1]))
        above = np.searchsorted(self.points, capacity - sums[states])
        states, above = states[split[above]], above[split[above]]
        left = np.append(0, self.points)[above]
        return InteriorSizes(states, above, (capacity - sums[states] - left) / (self.points[above] - left))

    def __call__(self, prices: Floats) -> tuple[Floats, ConfigurationColumns]:
        """(G,) largest worth, and near configurations with every point."""
        solution = self.knapsack.solve(prices)
        worth = np.array(solution.worth(self.capacity), np.float64)
        parts = []
        for kind, (capacity, inside) in enumerate(zip(self.capacity.tolist(), self.inside, strict=True)):
            parts.append(self._with_each_point(solution, capacity, kind))
            with_one = solution.value[inside.states] + inside.prices(prices)
            worth[kind] = max(worth[kind], with_one.max(initial=0.0))
            parts.append(self._with_one_inside(solution, inside, np.argsort(-with_one, kind="stable")[:INSIDE], kind))
        counts, kinds = [part.counts for part in parts], [part.kind for part in parts]
        return worth, ConfigurationColumns(np.concatenate(counts), np.concatenate(kinds))

    def _with_each_point(self, solution: Solution, capacity: int, kind: int) -> ConfigurationColumns:
        types = np.flatnonzero(self.points <= capacity)
        counts = solution.items(solution.states(capacity - self.points[types])).astype(np.float64)
        counts[np.arange(len(types)), types] += 1
        return ConfigurationColumns(counts, np.full(len(types), kind))

    def _with_one_inside(self, solution: Solution, inside: InteriorSizes, chosen: Ints, kind: int) -> ConfigurationColumns:
        counts = solution.items(solution.state[inside.states[chosen]]).astype(np.float64)
        above, share, rows = inside.above[chosen], inside.share[chosen], np.arange(len(chosen))
        counts[rows, above] += share
        positive = above > 0
        counts[rows[positive], above[positive] - 1] += 1 - share[positive]
        return ConfigurationColumns(counts, np.full(len(chosen), kind))


class InteriorSizes:
    """Sizes inside cells, (m,) each: state, point above, its share.

    The state is the knapsack's, of the other tasks. The size is share · (point above) + (1 - share) · (point below).
    """

    def __init__(self, states: Ints, above: Ints, share: Floats) -> None:
        self.states, self.above, self.share = states, above, share

    def prices(self, prices: Floats) -> Floats:
        """(m,) prices of these sizes, from prices of the points (n,)."""
        left = np.append(0.0, prices)[self.above]
        return left + (prices[self.above] - left) * self.share
