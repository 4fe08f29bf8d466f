"""The configuration of the largest worth on a server: the unbounded integer knapsack, exactly, by dynamic programming.

The states are the reachable sums of sizes. They are few if the sizes are multiples of a step, or if there are few sizes.
They depend on the sizes alone, so that one `Knapsack` serves for many sets of prices.
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
    """Sizes (n,) in units, each any number of times, on servers of up to `capacity` units."""

    def __init__(self, sizes: Ints, capacity: int, most_steps: int = MOST_STEPS) -> None:
        """Raises OverflowError if the table would have more than `most_steps` entries."""
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
        """The best contents for every capacity, if sizes are worth `values` (n,) >= 0. Exact for integer values."""
        best: Any = np.zeros(len(self.sums), values.dtype)  # (R,) worth of the best items with exactly this sum
        last = np.full(len(self.sums), -1, np.int32)  # (R,) one of them
        fill(self.before, values, best, last)
        return Solution(self, best, last)


class Solution:
    """The best contents of every capacity for one set of values."""

    def __init__(self, knapsack: Knapsack, best: Values, last: NDArray[np.int32]) -> None:
        self.knapsack = knapsack
        self.last = last
        self.value = np.maximum.accumulate(best)  # (R,) of sums up to this one
        self.state = np.maximum.accumulate(np.where(best == self.value, np.arange(len(best)), 0))  # (R,) where that is reached

    def states(self, capacity: Ints) -> Ints:
        """(m,) the states of the best contents of each capacity (m,) in units, >= 0."""
        return np.asarray(self.state[np.searchsorted(self.knapsack.sums, capacity, side="right") - 1])

    def worth(self, capacity: Ints) -> Values:
        """(m,) the worth of the best contents of each capacity (m,) in units, >= 0."""
        return np.asarray(self.value[self.states(capacity)])

    def items(self, states: Ints) -> Ints:
        """(m, n) how many tasks of each size the contents of these states (m,) have."""
        counts = np.zeros((len(states), len(self.knapsack.sizes)), np.int64)
        trace(self.knapsack.before, self.last, states, counts)
        return counts


def reachable(sizes: Ints, capacity: int, most: int) -> Ints:
    """All sums of sizes (each any number of times) up to `capacity`, increasing from 0. OverflowError for more than `most`."""
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
    """Count the sizes on the way back from each state to the empty server."""
    for n in range(states.shape[0]):
        state = states[n]
        while last[state] >= 0:
            counts[n, last[state]] += 1
            state = before[state, last[state]]
