"""The configurations of the largest worth, when prices are given at points and are linear between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints
from packenv.theory.capacity.one_resource.knapsack import Knapsack, Solution

INSIDE = 32  # configurations with one size between points that are returned at a time


class PointPricing:
    """Configurations of the sizes `points` (n,) in units, increasing, and of sizes strictly between two points.

    Cell i lies between point i - 1 (0 for the first, of price 0) and point i. Sizes occur inside it if `split[i]`; such a
    size counts as the mixture of the two points that has the same mean. A best configuration has at most one size inside
    its cell, and that one takes all room that the others leave, because the vertices of {a_i <= x_i <= b_i, Σ x_i <= C}
    have at most one coordinate that is not at an end. So it is exact to fill each capacity with points alone, and then to
    add one size in between.
    """

    def __init__(self, points: Ints, capacity: Ints, split: NDArray[np.bool_]) -> None:
        """`capacity` (G,) units of each kind of server; `split` (n,). Raises OverflowError if the points have too many sums."""
        self.points, self.capacity = points, capacity
        self.knapsack = Knapsack(points, int(capacity.max()))
        self.inside = [self._inside(room, split) for room in capacity.tolist()]

    def _inside(self, capacity: int, split: NDArray[np.bool_]) -> InteriorSizes:
        """The sizes inside split cells that fill a server together with some sum of points."""
        sums = self.knapsack.sums
        states = np.flatnonzero((sums < capacity) & (capacity - sums < self.points[-1]))
        above = np.searchsorted(self.points, capacity - sums[states])
        states, above = states[split[above]], above[split[above]]
        left = np.append(0, self.points)[above]
        return InteriorSizes(states, above, (capacity - sums[states] - left) / (self.points[above] - left))

    def __call__(self, prices: Floats) -> tuple[Floats, ConfigurationColumns]:
        """(G,) the largest worth on each kind of server, and configurations near it, at least one with every point."""
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
    """Sizes inside cells, (m,) each: the knapsack state of the other tasks, the point above, and the share of that point.

    The size is share · (point above) + (1 - share) · (point below).
    """

    def __init__(self, states: Ints, above: Ints, share: Floats) -> None:
        self.states, self.above, self.share = states, above, share

    def prices(self, prices: Floats) -> Floats:
        """(m,) the prices of these sizes, given those of the points (n,)."""
        left = np.append(0.0, prices)[self.above]
        return left + (prices[self.above] - left) * self.share
