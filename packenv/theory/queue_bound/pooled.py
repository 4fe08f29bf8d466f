"""The pooled bound: all servers as one, divisible at will.

It uses prices and a quadratic function of the state. V is the price of all tasks in the system at the end of a slot.
w <= min(V, W) is the price of tasks in service, U = V - w of waiting tasks. p is a task's price, A the price of the arrivals of a
slot, a = E[A], and µ the chance that a task in service leaves. Let

    φ = (c/2) V² + (c/2)(1 - µ) Σ p² over all tasks in the system,      c = 1 / (µW - a).

In a slot each task in service leaves with chance µ, independently, so the mean change of φ, given the state, is

    -c V (µw - a) + (c/2) (E[A²] + (1 - µ) rate E[p²] + µ²w² - 2aµw).

The sum over the tasks in service, whose composition the policy chooses, has cancelled. V plus this falls as w grows. With
w = W <= V it is a constant, with w = V <= W it is concave in V. So in every state, whatever the policy does,

    V + E[change of φ] >= g = (c/2) (E[A²] + (1 - µ) rate E[p²] + min(0, µ²W² - 2aµW)).

Summed over time, E[V] >= g on average (docs/explanation/queue_bound.md explains why φ need not be bounded). E[w] <= a/µ, and
a waiting task costs at most the largest price: mean queue >= (g - a/µ) / largest price.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from packenv.errors import InputError
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.prices import PricedTasks, Prices


def check_load(setting: Setting, tasks: PricedTasks) -> None:
    """Raise InputError unless the mean price in service is below W."""
    needed = setting.rate / setting.leaving * tasks.moment(1)
    if needed >= tasks.most:
        share = float(needed / tasks.most)
        raise InputError(f"the load is {share:.6g} of the most that the servers support: the queue grows under every policy")


@dataclass(frozen=True)
class Pooled:
    """The pooled bound (formulas: this module's text)."""

    prices: Prices

    def value(self, setting: Setting, law: Any, kinds: Any) -> Fraction:
        """Return a bound on the mean queue, void below 0. May raise Refuted."""
        tasks = self.prices.of(law, kinds)
        mean, square = tasks.moment(1), tasks.moment(2)
        check_load(setting, tasks)
        leaving, most, arriving = setting.leaving, tasks.most, setting.rate * mean
        spread = setting.second_moment(mean, square) + (1 - leaving) * setting.rate * square
        full = leaving * most
        least = (spread + min(Fraction(0), full**2 - 2 * arriving * full)) / (2 * (full - arriving))
        return (least - arriving / leaving) / tasks.price[-1]
