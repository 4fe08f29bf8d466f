"""The most valuable configurations, prices linear between points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.linear_program import ConfigurationColumns, Floats, Ints
from packenv.theory.capacity.one_resource.knapsack import Knapsack, Solution

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
