"""`QueueBound`: a proved bound on mean queues without known durations."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from packenv.errors import InputError
from packenv.theory.capacity.bracket import law_and_kinds
from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.queue_bound.prices import BITS, ExactArrivals, PricedTasks, Prices, arrivals_below, leaving_below, setting_of
from packenv.workloads.workload import Workload

LONGEST = 2**13
LARGEST_VALUE = 2**200


@dataclass(frozen=True)
class Counted:
    """The counted bound: at most k pieces in service.

    The price of all tasks is a number of pieces of price 1, and at most k pieces are in service together. For example the tasks
    larger than half a server have price 1, and k servers hold k of them. V is the price of all tasks in the system, and
    w <= min(V, k) the price of tasks in service, at the end of a slot. In the next slot each task in service leaves with
    chance µ, all its pieces together, and tasks of price A arrive. Let V* be a queue of pieces that need no packing: min(V*, k)
    are in service, and each leaves with chance µ independently. For every function f that is convex and does not decrease,

        E[f(V')] >= (Tf)(V),      (Tf)(V) = E[f(V - Bin(min(V, k), µ) + A)].

    The reason: pieces that leave together make a less certain sum (in convex order) than pieces that leave independently, and
    fewer in service leave no fewer in the system. Tf is again convex and does not decrease: its increase from V to V + 1 is 1 - µ
    of the mean increase of f for V < k, all of it for V >= k. So E[f(V)] >= E[f(V*)] in every slot, and the mean of V is at least
    the mean of V*. A waiting task costs at most the largest price, and the mean of w is at most E[A] / µ under every policy:

        mean queue >= (E[V*] - E[A] / µ) / largest price.

    The proof of E[V*] >= g is a function φ >= 0 of n = 0, 1, 2, … with

        n + E[φ(n - Bin(min(n, k), µ) + A)] - φ(n) >= g      for every n.

    Summed over time, E[V*] >= g, as the moments of V* are bounded below the load that k pieces complete. φ is given up to N >= k,
    and continued by the parabola φ(N + x) = φ(N) + slope x + bend x (x - 1) / 2. Up to N the inequality is checked with
    probabilities that are rounded down and cut off. This is sound as φ >= 0. Beyond N it is a line in x, as soon as φ is not
    below the same parabola for N - k <= n < N. Values are in parts of 1 / `parts`.
    """

    prices: Prices
    values: tuple[int, ...]  # φ(0), …, φ(N)
    slope: int
    bend: int
    parts: int

    def value(self, setting: ExactArrivals, law: Any, kinds: Any) -> Fraction:
        """Return a mean-queue bound. Raises Refuted."""
        tasks = self.prices.of(law, kinds)
        check_load(setting, tasks)
        self._check(tasks.most)
        least = min(self._up_to_the_last(setting, tasks), self._beyond(setting, tasks))
        return (least - setting.rate * tasks.moment(1) / setting.leaving) / tasks.price[-1]

    def _check(self, k: int) -> None:
        values, last = self.values, len(self.values) - 1
        require(self.parts > 0 and k <= last < LONGEST, f"the values must be for 0 to N, {k} <= N < {LONGEST}")
        require(min(self.slope, self.bend) >= 0, "the slope and the bend must not be negative")
        require(min(values) >= 0 and max(values) <= LARGEST_VALUE, f"the values must lie between 0 and {LARGEST_VALUE}")
        above = all(values[last - x] >= values[last] - self.slope * x + self.bend * x * (x + 1) // 2 for x in range(k + 1))
        require(above, "the parabola is above the values before it")

    def _up_to_the_last(self, setting: ExactArrivals, tasks: PricedTasks) -> Fraction:
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

    def _beyond(self, setting: ExactArrivals, tasks: PricedTasks) -> Fraction:
        """Return the least for n = N + x, without a multiple of x >= 0."""
        drift, square = moments_of_change(setting, tasks)
        require(self.parts + self.bend * drift >= 0, "the parabola bends too much")
        return len(self.values) - 1 + (self.slope * drift + self.bend * (square - drift) / 2) / self.parts


def moments_of_change(setting: ExactArrivals, tasks: PricedTasks) -> tuple[Fraction, Fraction]:
    """Return the mean, and a bound below the mean square, of A - Bin(k, µ)."""
    arriving, leaving = setting.rate * tasks.moment(1), setting.leaving * tasks.most
    square = setting.second_moment(tasks.moment(1), tasks.moment(2)) - 2 * arriving * leaving
    return arriving - leaving, square + leaving**2 + leaving * (1 - setting.leaving)


def check_load(setting: ExactArrivals, tasks: PricedTasks) -> None:
    """Raise InputError unless the mean price in service is below W."""
    needed = setting.rate / setting.leaving * tasks.moment(1)
    if needed >= tasks.most:
        share = float(needed / tasks.most)
        raise InputError(f"the load is {share:.6g} of the most that the servers support: the queue grows under every policy")


@dataclass(frozen=True)
class Pooled:
    """The pooled bound: all servers as one, divisible at will.

    It uses prices and a quadratic function of the state. V is the price of all tasks in the system at the end of a slot.
    w <= min(V, W) is the price of tasks in service, U = V - w of waiting tasks. p is a task's price, A the price of the arrivals
    of a slot, a = E[A], and µ the chance that a task in service leaves. Let

        φ = (c/2) V² + (c/2)(1 - µ) Σ p² over all tasks in the system,      c = 1 / (µW - a).

    In a slot each task in service leaves with chance µ, independently, so the mean change of φ, given the state, is

        -c V (µw - a) + (c/2) (E[A²] + (1 - µ) rate E[p²] + µ²w² - 2aµw).

    The sum over the tasks in service, whose composition the policy chooses, has cancelled. V plus this falls as w grows. With
    w = W <= V it is a constant, with w = V <= W it is concave in V. So in every state, whatever the policy does,

        V + E[change of φ] >= g = (c/2) (E[A²] + (1 - µ) rate E[p²] + min(0, µ²W² - 2aµW)).

    Summed over time, E[V] >= g on average (docs/explanation/queue_bound.md explains why φ need not be bounded). E[w] <= a/µ, and
    a waiting task costs at most the largest price: mean queue >= (g - a/µ) / largest price.
    """

    prices: Prices

    def value(self, setting: ExactArrivals, law: Any, kinds: Any) -> Fraction:
        """Return a bound on the mean queue, void below 0. May raise Refuted."""
        tasks = self.prices.of(law, kinds)
        mean, square = tasks.moment(1), tasks.moment(2)
        check_load(setting, tasks)
        leaving, most, arriving = setting.leaving, tasks.most, setting.rate * mean
        spread = setting.second_moment(mean, square) + (1 - leaving) * setting.rate * square
        full = leaving * most
        least = (spread + min(Fraction(0), full**2 - 2 * arriving * full)) / (2 * (full - arriving))
        return (least - arriving / leaving) / tasks.price[-1]


QueueProof: TypeAlias = Counted | Pooled
NAMES: dict[type[QueueProof], str] = {Counted: "counted", Pooled: "pooled"}
"""Names of the relaxations, by the kind of proof."""


@dataclass(frozen=True)
class Proved:
    """A mean queue above 0, and its proof."""

    value: float
    proof: QueueProof = field(repr=False)

    @property
    def relaxation(self) -> str:
        return NAMES[type(self.proof)]


@dataclass(frozen=True)
class QueueBound:
    """A lower bound `value` on the mean number of waiting tasks.

    It holds for every policy that does not know durations. A policy may know demands and the law of durations, and may even
    preempt. It may not know how long a task stays, or the coming arrivals.
    `proved`: the best of each relaxation that proves anything, the best one first. `proved_for`: the workload, in words.
    """

    proved: tuple[Proved, ...]
    seconds: float
    proved_for: str | None = field(default=None, compare=False)

    @property
    def value(self) -> float:
        """The best bound, or 0."""
        return self.proved[0].value if self.proved else 0.0

    @property
    def vacuous(self) -> bool:
        """Whether nothing better than 0 is known."""
        return not self.proved

    def verify(self, workload: Workload) -> None:
        """Check every proof exactly against the workload. May raise Refuted."""
        setting, (law, kinds) = setting_of(workload), law_and_kinds(workload)
        values = [proved.value for proved in self.proved]
        require(values == sorted(values, reverse=True), "the best bound does not come first")
        for proved in self.proved:
            holds = 0 < Fraction(proved.value) <= proved.proof.value(setting, law, kinds)
            require(holds, f"the {proved.relaxation} proof does not bound the mean queue by {proved.value}")
