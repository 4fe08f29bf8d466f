"""The counted bound: tasks of which at most k are in service together, for example those larger than half a server.

Prices are one number, or 0, so that k = W / price. Of the n tasks that have a price, m <= min(n, k) are in service at the
end of a slot. In the next slot Bin(m, µ) of them leave and A arrive. So n is at least, slot by slot, what it is in the queue
with k servers that needs no packing: the more there are, the more are left, for a suitable coupling of those that leave. The
mean of m is at most their rate / µ under every policy. So E[n] of that queue is to be bounded from below.

The proof is a function φ >= 0 of n that does not decrease, and a number g with

    n + E[φ(n - Bin(min(n, k), µ) + A)] - φ(n) >= g      for every n >= 0.

Summed over time, E[n] >= g, as the moments of that queue are bounded below the load that it completes. φ is given
up to N >= k, and continued by the parabola φ(N + x) = φ(N) + slope x + bend x (x - 1) / 2. Up to N the inequality is checked
with probabilities that are rounded down and cut off, which is sound as φ >= 0; beyond N it is a line in x, as soon as φ is
not below the same parabola for N - k <= n < N.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.overload import check_load
from packenv.theory.queue_bound.prices import Prices
from packenv.theory.queue_bound.probabilities import BITS, arrivals_below, leaving_below

LONGEST = 2**13
LARGEST_VALUE = 2**200


@dataclass(frozen=True)
class Counted:
    """The counted bound for the tasks that have a price. Values of φ, `slope` and `bend` are in parts of 1 / `parts`."""

    prices: Prices
    values: tuple[int, ...]  # φ(0), …, φ(N)
    slope: int
    bend: int
    parts: int

    def value(self, setting: Setting, law: Any, kinds: Any) -> Fraction:
        """A mean queue below which no policy comes. Raises Refuted if the function does not prove one."""
        require(len(self.prices.prices) == 1, "one price is needed, and 0")
        tasks = self.prices.of(law, kinds)
        check_load(setting, tasks)
        k, rate = tasks.most // tasks.price[0], setting.rate * tasks.mass[0]
        self._check(k)
        least = min(self._up_to_the_last(setting, k, tasks.mass[0]), self._beyond(setting, k, rate))
        return least - rate / setting.leaving

    def _check(self, k: int) -> None:
        values, last = self.values, len(self.values) - 1
        require(self.parts > 0 and k <= last < LONGEST, f"the values must be those of 0 to N, {k} <= N < {LONGEST}")
        require(min(self.slope, self.bend) >= 0, "the slope and the bend must not be negative")
        require(values[0] >= 0 and values[-1] <= LARGEST_VALUE, f"the values must lie between 0 and {LARGEST_VALUE}")
        require(all(a <= b for a, b in pairwise(values)), "the values must not decrease")
        above = all(values[last - x] >= values[last] - self.slope * x + self.bend * x * (x + 1) // 2 for x in range(k + 1))
        require(above, "the parabola is above the values before it")

    def _up_to_the_last(self, setting: Setting, k: int, mass: Fraction) -> Fraction:
        """The least of n + E[φ'] - φ over n = 0 .. N."""
        arriving, leaving = arrivals_below(setting, mass), leaving_below(setting.leaving, k)
        x = range(len(arriving))
        values = [*self.values, *(self.values[-1] + self.slope * i + self.bend * i * (i - 1) // 2 for i in x[1:])]
        after = [sum(p * v for p, v in zip(arriving, values[n:], strict=False)) for n in range(len(self.values))]
        least = None
        for n, value in enumerate(self.values):
            mean = sum(p * after[n - out] for out, p in enumerate(leaving[min(n, k)]))
            change = mean - (value << 2 * BITS) + (n * self.parts << 2 * BITS)
            least = change if least is None else min(least, change)
        assert least is not None
        return Fraction(least, self.parts << 2 * BITS)

    def _beyond(self, setting: Setting, k: int, rate: Fraction) -> Fraction:
        """The same over all n >= N: n = N + x, of which a multiple of x >= 0 is left out."""
        arrived = setting.second_moment(rate / setting.rate, rate / setting.rate)
        out = setting.leaving * k
        drift = rate - out
        square = arrived - 2 * rate * out + out**2 + out * (1 - setting.leaving)
        require(self.parts + self.bend * drift >= 0, "the parabola bends too much")
        return len(self.values) - 1 + (self.slope * drift + self.bend * (square - drift) / 2) / self.parts
