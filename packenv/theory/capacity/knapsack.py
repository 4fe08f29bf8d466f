"""The most valuable configuration of a server: the unbounded integer knapsack, exact, by dynamic programming.

The states are the sums that can be reached at all: for sizes on a grid that is the grid, for a few odd sizes a few
sums. They depend on the sizes alone, so one `Knapsack` prices configurations again and again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled

Ints = NDArray[np.int64]
Values = NDArray[np.float64] | NDArray[np.int64]

MOST_STEPS = 40_000_000
"""States times sizes: more would take too long."""


class Knapsack:
    """Sizes (n,) units that fill a server of at most `capacity` units, each any number of times."""

    def __init__(self, sizes: Ints, capacity: int, most_steps: int = MOST_STEPS) -> None:
        """Raises OverflowError where the table would have more than `most_steps` entries."""
        scale = int(np.gcd.reduce(sizes))
        self.sizes = sizes
        self.capacity = capacity
        sums = reachable(sizes // scale, capacity // scale, most_steps // len(sizes)) * scale
        self.sums = sums  # (R,) increasing from 0
        self.before = np.full((len(sums), len(sizes)), -1, np.int32)  # (R, n) state before the last item
        for j, size in enumerate(sizes):
            place = np.searchsorted(sums, sums - size)
            known = sums[np.minimum(place, len(sums) - 1)] == sums - size
            self.before[known, j] = place[known]

    def solve(self, values: Values) -> Solution:
        """The best use of every capacity when items are worth `values` (n,) >= 0, integers for an exact answer."""
        best: Any = np.zeros(len(self.sums), values.dtype)  # (R,) worth of the best items with exactly this sum
        last = np.full(len(self.sums), -1, np.int32)  # (R,) one of them
        fill(self.before, values, best, last)
        return Solution(self, best, last)


class Solution:
    """Best configurations for one set of values."""

    def __init__(self, knapsack: Knapsack, best: Values, last: NDArray[np.int32]) -> None:
        self.knapsack = knapsack
        self.last = last
        self.value = np.maximum.accumulate(best)  # (R,) of sums up to this one
        self.state = np.maximum.accumulate(np.where(best == self.value, np.arange(len(best)), 0))  # (R,) where that is reached

    def states(self, capacity: Ints) -> Ints:
        """The states that reach the best value within each capacity, (m,) units >= 0."""
        return np.asarray(self.state[np.searchsorted(self.knapsack.sums, capacity, side="right") - 1])

    def worth(self, capacity: Ints) -> Values:
        """The best value within each capacity, (m,) units >= 0."""
        return np.asarray(self.value[self.states(capacity)])

    def items(self, states: Ints) -> Ints:
        """(m, n) how many of each size the configurations of these states have."""
        counts = np.zeros((len(states), len(self.knapsack.sizes)), np.int64)
        trace(self.knapsack.before, self.last, states, counts)
        return counts


def reachable(sizes: Ints, capacity: int, most: int) -> Ints:
    """All sums of sizes (with repetition) up to `capacity`, increasing from 0. OverflowError if they are more than `most`."""
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
    """The recursion V(s) = max_j V(s - size_j) + value_j over the reachable sums, in increasing order."""
    for state in range(1, before.shape[0]):
        found = -1
        for j in range(before.shape[1]):
            previous = before[state, j]
            if previous >= 0:
                value = best[previous] + values[j]
                if found < 0 or value > best[state]:
                    best[state] = value
                    found = j
        last[state] = found


@compiled
def trace(before: NDArray[np.int32], last: NDArray[np.int32], states: Ints, counts: Ints) -> None:
    """Count the items on the way back from each state."""
    for n in range(states.shape[0]):
        state = states[n]
        while last[state] >= 0:
            counts[n, last[state]] += 1
            state = before[state, last[state]]
