"""The unbounded integer knapsack: a server's most valuable configuration.

It is solved exactly, by dynamic programming. The states are the reachable sums of sizes. They are few if the sizes are multiples
of a step, or if there are few sizes. They depend on the sizes alone, so one `Knapsack` serves many sets of prices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled

Ints = NDArray[np.int64]
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
