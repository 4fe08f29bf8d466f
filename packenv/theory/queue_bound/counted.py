"""The counted bound: at most k pieces in service.

The price of all tasks is a number of pieces of price 1, and at most k pieces are in service together. For example the tasks
larger than half a server have price 1, and k servers hold k of them. V is the price of all tasks in the system,
and w <= min(V, k) the price of tasks in service, at the end of a slot. In the next slot each task in service leaves with chance
µ, all its pieces together, and tasks of price A arrive. Let V* be a queue of pieces that need no packing: min(V*, k) are in
service, and each leaves with chance µ independently. For every function f that is convex and does not decrease,

    E[f(V')] >= (Tf)(V),      (Tf)(V) = E[f(V - Bin(min(V, k), µ) + A)].

The reason: pieces that leave together make a less certain sum (in convex order) than pieces that leave independently, and fewer
in service leave no fewer in the system. Tf is again convex and does not decrease: its increase from V to V + 1 is 1 - µ of the
mean increase of f for V < k, all of it for V >= k. So E[f(V)] >= E[f(V*)] in every slot, and the mean of V is at least the mean
of V*. A waiting task costs at most the largest price, and the mean of w is at most E[A] / µ under every policy:

    mean queue >= (E[V*] - E[A] / µ) / largest price.

The proof of E[V*] >= g is a function φ >= 0 of n = 0, 1, 2, … with

    n + E[φ(n - Bin(min(n, k), µ) + A)] - φ(n) >= g      for every n.

Summed over time, E[V*] >= g, as the moments of V* are bounded below the load that k pieces complete. φ is given up to N >= k,
and continued by the parabola φ(N + x) = φ(N) + slope x + bend x (x - 1) / 2. Up to N the inequality is checked with
probabilities that are rounded down and cut off. This is sound as φ >= 0. Beyond N it is a line in x, as soon as φ is not
below the same parabola for N - k <= n < N.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.pooled import check_load
from packenv.theory.queue_bound.prices import PricedTasks, Prices
from packenv.theory.queue_bound.probabilities import BITS, arrivals_below, leaving_below

LONGEST = 2**13
LARGEST_VALUE = 2**200


@dataclass(frozen=True)
class Counted:
    """The counted bound, values in parts of 1 / `parts`."""

    prices: Prices
    values: tuple[int, ...]  # φ(0), …, φ(N)
    slope: int
    bend: int
    parts: int

    def value(self, setting: Setting, law: Any, kinds: Any) -> Fraction:
        """Return a mean-queue bound. Raises Refuted."""
        tasks = self.prices.of(law, kinds)
        check_load(setting, tasks)
        self._check(tasks.most)
        least = min(self._up_to_the_last(setting, tasks), self._beyond(setting, tasks))
        return (least - setting.rate * tasks.moment(1) / setting.leaving) / tasks.price[-1]

    def _check(self, k: int) -> None:
        values, last = self.values, len(self.values) - 1
        require(self.parts > 0 and k <= last < LONGEST, f"the values must be those of 0 to N, {k} <= N < {LONGEST}")
        require(min(self.slope, self.bend) >= 0, "the slope and the bend must not be negative")
        require(min(values) >= 0 and max(values) <= LARGEST_VALUE, f"the values must lie between 0 and {LARGEST_VALUE}")
        above = all(values[last - x] >= values[last] - self.slope * x + self.bend * x * (x + 1) // 2 for x in range(k + 1))
        require(above, "the parabola is above the values before it")

    def _up_to_the_last(self, setting: Setting, tasks: PricedTasks) -> Fraction:
        """Return min n + E[φ'] - φ over n = 0 .. N."""
        arriving, leaving = arrivals_below(setting, tasks), leaving_below(setting.leaving, tasks.most)
        x = range(len(arriving))
        values = [*self.values, *(self.values[-1] + self.slope * i + self.bend * i * (i - 1) // 2 for i in x[1:])]
        after = [sum(p * v for p, v in zip(arriving, values[n:], strict=False)) for n in range(len(self.values))]
        least = None
        for n, value in enumerate(self.values):
            mean = sum(p * after[n - out] for out, p in enumerate(leaving[min(n, tasks.most)]))
            change = mean - (value << 2 * BITS) + (n * self.parts << 2 * BITS)
            least = change if least is None else min(least, change)
        assert least is not None
        return Fraction(least, self.parts << 2 * BITS)

    def _beyond(self, setting: Setting, tasks: PricedTasks) -> Fraction:
        """Return the least for n = N + x, without a multiple of x >= 0."""
        drift, square = moments_of_change(setting, tasks)
        require(self.parts + self.bend * drift >= 0, "the parabola bends too much")
        return len(self.values) - 1 + (self.slope * drift + self.bend * (square - drift) / 2) / self.parts


def moments_of_change(setting: Setting, tasks: PricedTasks) -> tuple[Fraction, Fraction]:
    """Return the mean, and a bound below the mean square, of A - Bin(k, µ)."""
    arriving, leaving = setting.rate * tasks.moment(1), setting.leaving * tasks.most
    square = setting.second_moment(tasks.moment(1), tasks.moment(2)) - 2 * arriving * leaving
    return arriving - leaving, square + leaving**2 + leaving * (1 - setting.leaving)
