"""The most valuable configurations of sizes that are priced by points: exact at the points, linear between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.theory.capacity.columns import Columns, Floats, Ints
from packenv.theory.capacity.knapsack import Knapsack, Solution

INSIDE = 32  # configurations with a size between points that are offered at a time


class PointPricing:
    """Configurations of the sizes `points` (n,) units, increasing, and of sizes between them where a cell is `split`.

    Cell i lies between point i - 1 (0 for the first, priced 0) and point i; a size inside one that is split counts as
    the mixture of the two points that keeps its mean. Where such sizes fill a server best, at most one lies inside its
    cell, and it takes all room that the others leave: the vertices of {a_i <= x_i <= b_i, Σ x_i <= C} are like that.
    So the best use of every capacity by points alone, and then one size in between, is exact.
    """

    def __init__(self, points: Ints, capacity: Ints, split: NDArray[np.bool_]) -> None:
        """`capacity` (G,) units, of the kinds of server; `split` (n,). OverflowError where points make too many sums."""
        self.points, self.capacity = points, capacity
        self.knapsack = Knapsack(points, int(capacity.max()))
        self.inside = [self._inside(room, split) for room in capacity.tolist()]

    def _inside(self, capacity: int, split: NDArray[np.bool_]) -> Inside:
        """The sizes inside split cells that fill up a server beside some reachable sum."""
        sums = self.knapsack.sums
        states = np.flatnonzero((sums < capacity) & (capacity - sums < self.points[-1]))
        above = np.searchsorted(self.points, capacity - sums[states])
        states, above = states[split[above]], above[split[above]]
        left = np.append(0, self.points)[above]
        return Inside(states, above, (capacity - sums[states] - left) / (self.points[above] - left))

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """(G,) the largest worth on each kind of server, and configurations of much worth, of every point at least one."""
        solution = self.knapsack.solve(prices)
        worth = np.array(solution.worth(self.capacity), np.float64)
        parts = []
        for kind, (capacity, inside) in enumerate(zip(self.capacity.tolist(), self.inside, strict=True)):
            parts.append(self._with_each_point(solution, capacity, kind))
            with_one = solution.value[inside.states] + inside.prices(prices)
            worth[kind] = max(worth[kind], with_one.max(initial=0.0))
            parts.append(self._with_one_inside(solution, inside, np.argsort(-with_one, kind="stable")[:INSIDE], kind))
        return worth, Columns(np.concatenate([part.held for part in parts]), np.concatenate([part.kind for part in parts]))

    def _with_each_point(self, solution: Solution, capacity: int, kind: int) -> Columns:
        types = np.flatnonzero(self.points <= capacity)
        held = solution.items(solution.states(capacity - self.points[types])).astype(np.float64)
        held[np.arange(len(types)), types] += 1
        return Columns(held, np.full(len(types), kind))

    def _with_one_inside(self, solution: Solution, inside: Inside, chosen: Ints, kind: int) -> Columns:
        held = solution.items(solution.state[inside.states[chosen]]).astype(np.float64)
        above, share, rows = inside.above[chosen], inside.share[chosen], np.arange(len(chosen))
        held[rows, above] += share
        some = above > 0
        held[rows[some], above[some] - 1] += 1 - share[some]
        return Columns(held, np.full(len(chosen), kind))


class Inside:
    """Sizes inside cells: the state of the others, the point above, and how near it is (share 1: there), (m,) each."""

    def __init__(self, states: Ints, above: Ints, share: Floats) -> None:
        self.states, self.above, self.share = states, above, share

    def prices(self, prices: Floats) -> Floats:
        left = np.append(0.0, prices)[self.above]
        return left + (prices[self.above] - left) * self.share
