"""Exact arrivals, geometric service, and prices of tasks by size.

Every bound on the queue uses prices: under every policy, the tasks in service cost at most a number W together. Sizes
without a price are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from packenv.errors import InputError
from packenv.theory.capacity.linear_program import ServerKinds
from packenv.theory.capacity.one_resource.certificate import LARGEST_SIZE, require
from packenv.theory.capacity.one_resource.size_law import SizeLaw
from packenv.theory.capacity.several_resources.certificate import LARGEST_WEIGHT
from packenv.workloads.laws.arrivals import Arrivals, Batch, Bernoulli, Poisson
from packenv.workloads.laws.law import Law
from packenv.workloads.laws.services import Geometric
from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class ExactArrivals:
    """Arrivals in jobs: a Poisson number per slot, or `bernoulli`.

    With `bernoulli` at most one job arrives per slot. Each task in service leaves at the start of a slot with probability
    `leaving`, independently of all else.
    """

    jobs: Fraction  # per slot, mean
    bernoulli: bool
    tasks: Fraction  # in a job, mean
    square: Fraction  # a lower bound on the mean square of that number
    alike: bool  # whether the tasks of a job have the same demand
    leaving: Fraction  # 1 / mean service

    @property
    def rate(self) -> Fraction:
        """Tasks per slot, mean."""
        return self.jobs * self.tasks

    def second_moment(self, mean: Fraction, square: Fraction) -> Fraction:
        """Return a lower bound on E[A²] from a price's mean and mean square."""
        of_pairs = square if self.alike else mean**2
        of_job = self.tasks * square + (self.square - self.tasks) * of_pairs
        together = Fraction(0) if self.bernoulli else (self.rate * mean) ** 2
        return self.jobs * of_job + together


def setting_of(workload: Workload) -> ExactArrivals:
    """Return a workload's arrivals and service. Raises InputError without a proof."""

    def refused(what: str) -> InputError:
        return InputError(f"workload {workload.name}: no bound on the queue is claimed for {what}")

    if workload.jobs is not None:
        raise refused("a table of jobs or a trace, only for random tasks")
    if not isinstance(workload.service, Geometric):
        raise refused("a service that is not geometric, with the same mean for every demand")
    batch = workload.arrivals if isinstance(workload.arrivals, Batch) else None
    process: Arrivals = workload.arrivals if batch is None else batch.process
    if not isinstance(process, (Poisson, Bernoulli)):
        raise refused(f"{type(process).__name__.lower()} arrivals, only for Poisson, Bernoulli and batches of them")
    tasks, square = (Fraction(1), Fraction(1)) if batch is None else _moments(batch.size)
    return ExactArrivals(
        jobs=Fraction(workload.rate) / tasks,
        bernoulli=isinstance(process, Bernoulli),
        tasks=tasks,
        square=square,
        alike=batch is None or batch.alike,
        leaving=1 / Fraction(workload.service.slots),
    )


def _moments(size: Law) -> tuple[Fraction, Fraction]:
    """Return a job's E[tasks] and E[tasks²], or a lower bound for many values."""
    atoms = size.atoms()
    if atoms is None:
        mean = Fraction(size.mean_slots())
        return mean, mean**2
    counts = [max(int(count), 1) for count in np.ceil(atoms[0]).tolist()]
    weights = [Fraction(weight) for weight in atoms[1].tolist()]
    first, second = (sum((w * n**power for n, w in zip(counts, weights, strict=True)), Fraction(0)) for power in (1, 2))
    return first / sum(weights), second / sum(weights)


LARGEST_PRICE = 2**12
MOST_STEPS = 2**12
MOST_WORTH = 2**16  # of what fits a server


@dataclass(frozen=True)
class PricedTasks:
    """The law of prices, and the most in service.

    A task has price[i] with probability mass[i], and price 0 otherwise. The masses are rounded down. This is sound: leaving a
    task out at random, whatever else happens, gives it price 0.
    """

    price: tuple[int, ...]  # > 0, increasing
    mass: tuple[Fraction, ...]
    most: int  # W, on the whole cluster

    def moment(self, power: int) -> Fraction:
        """E[price^power]."""
        return sum((m * p**power for p, m in zip(self.price, self.mass, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Prices:
    """Prices[i] for tasks of at least thresholds[i] units.

    The last such i counts, and a smaller task costs nothing. `weights`: the size is their weighted sum of resources; () for one.
    """

    thresholds: tuple[int, ...]  # units, increasing, >= 1
    prices: tuple[int, ...]  # increasing, >= 1
    weights: tuple[int, ...] = ()

    def of(self, law: Any, kinds: Any) -> PricedTasks:
        """Return the law of prices, and W. May raise Refuted."""
        sizes, servers = self.in_one_resource(law, kinds)
        self._check()
        require(self.thresholds[0] <= int(sizes.low[-1]), "no task has a price")
        masses, total = sizes.least_shares(np.searchsorted(sizes.low, self.thresholds))
        shares = [(price, Fraction(mass, total)) for price, mass in zip(self.prices, masses, strict=True) if mass]
        require(bool(shares), "no task has a price")
        most = sum(n * self.most(c) for c, n in zip(servers.capacity.tolist(), servers.number.tolist(), strict=True))
        require(most > 0, "what fits the servers costs nothing")
        return PricedTasks(tuple(p for p, _ in shares), tuple(m for _, m in shares), most)

    def most(self, capacity: int) -> int:
        """Return the largest price whose least total size fits a server."""
        sizes, prices = np.array(self.thresholds), np.array(self.prices)
        least, worth, best = np.zeros(1, np.int64), 0, 0  # least[v]: the least size of tasks that cost v together
        while worth - best < self.prices[-1]:
            worth += 1
            require(worth <= MOST_WORTH, f"tasks that cost more than {MOST_WORTH} may fit a server")
            if worth == len(least):
                least = np.concatenate([least, np.full(len(least), LARGEST_SIZE)])  # beyond any server if there are none
            cheaper = int(np.searchsorted(prices, worth, side="right"))
            if cheaper:
                least[worth] = min(LARGEST_SIZE, int((least[worth - prices[:cheaper]] + sizes[:cheaper]).min()))
            if least[worth] <= capacity:
                best = worth
        return best

    def in_one_resource(self, law: Any, kinds: Any) -> tuple[SizeLaw, ServerKinds]:
        """Return the law of priced sizes, and the servers' capacities."""
        if isinstance(law, SizeLaw):
            require(not self.weights, "weights of several resources, there is one")
            return law, kinds
        require(len(self.weights) == kinds.capacity.shape[1], "a weight is needed for every resource")
        require(min(self.weights) >= 0 < max(self.weights) <= LARGEST_WEIGHT, f"weights must lie between 0 and {LARGEST_WEIGHT}")
        weights = np.array(self.weights)
        return law.scalar(weights), kinds.scalar(weights)

    def _check(self) -> None:
        thresholds, prices = self.thresholds, self.prices
        require(0 < len(thresholds) == len(prices) <= MOST_STEPS, f"thresholds and prices need one length, up to {MOST_STEPS}")
        require(all(a < b for a, b in pairwise((0, *thresholds))), "thresholds must be integers that increase from above 0")
        require(all(a < b for a, b in pairwise((0, *prices))), "prices must be integers that increase from above 0")
        require(thresholds[-1] <= LARGEST_SIZE and prices[-1] <= LARGEST_PRICE, f"a price above {LARGEST_PRICE}, or a huge size")


BITS, PRECISE = 96, 240
TINY = 1 << 16  # in multiples of 2^-BITS: smaller probabilities far from the mean are left out
DIGITS = 60
MOST_ARRIVALS = 100.0  # per slot, mean


def arrivals_below(setting: ExactArrivals, tasks: PricedTasks) -> list[int]:
    """Return lower bounds on P(A = 0), P(A = 1), …, A the arrivals' price."""
    require(setting.tasks == setting.square == 1, "this proof is for tasks that arrive one by one")
    rates = [setting.rate * mass for mass in tasks.mass]  # of tasks of each price
    mean = sum(rates, Fraction(0))
    if setting.bernoulli:
        chances = [0] * (tasks.price[-1] + 1)
        for price, rate in zip(tasks.price, rates, strict=True):
            chances[price] = _down(rate)
        return [_down(1 - mean), *chances[1:]]
    require(mean <= MOST_ARRIVALS, f"more than {MOST_ARRIVALS:g} arrivals in a slot")
    context = Context(prec=DIGITS)
    exponent = context.divide(context.create_decimal(-mean.numerator), context.create_decimal(mean.denominator))
    # the exponent is rounded by less than 10^(1 - DIGITS) of itself, and the power by as much
    none = Fraction(context.exp(exponent)) * (1 - Fraction(2 + 2 * int(mean), 10 ** (DIGITS - 1)))
    # n P(A = n) = Σ rate · price · P(A = n - price), of a compound Poisson number
    weights = [(price, _down(rate * price, PRECISE)) for price, rate in zip(tasks.price, rates, strict=True)]
    terms, last = [_down(none, PRECISE)], setting.rate * tasks.moment(1)
    while len(terms) <= last or max(terms[-tasks.price[-1] :]) >> (PRECISE - BITS) > TINY:
        n = len(terms)
        terms.append((sum(weight * terms[n - price] for price, weight in weights if price <= n) >> PRECISE) // n)
    return [term >> (PRECISE - BITS) for term in terms]


def leaving_below(leaving: Fraction, most: int) -> list[list[int]]:
    """Return lower bounds on P(0, 1, … of m tasks leave), m <= `most`."""
    goes, stays = _down(leaving), _down(1 - leaving)
    rows = [[1 << BITS]]
    for m in range(1, most + 1):
        before = rows[-1]
        shifted = zip([*before, 0], [0, *before], strict=True)
        row = [(same * stays + fewer * goes) >> BITS for same, fewer in shifted]
        while len(row) > leaving * m + 1 and row[-1] <= TINY:
            row.pop()
        rows.append(row)
    return rows


def _down(value: Fraction, bits: int = BITS) -> int:
    return (value.numerator << bits) // value.denominator
