"""Proofs that no mix of machines meeting a goal on the wait costs less.

They are checked in integers, without any solver. A price rule is a proof of the upper bound on ρ* (packenv.theory.capacity).
It gives each demand a price, and limits the total price of tasks that fit a machine of each kind together. In each slot this
limits the price of the tasks in service on all machines.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from packenv.jobs import Ints, Jobs
from packenv.theory.capacity.one_resource.certificate import require
from packenv.theory.capacity.several_resources.certificate import Priced, Scalarised

Rule: TypeAlias = Scalarised | Priced
LARGEST = 2**62
HALF_BITS = 20
MOST_CELLS = 2 * 10**8  # tasks × windows
MOST_LEVELS = 9  # the shortest windows are the 256th part of the arrivals


@functools.lru_cache(maxsize=1024)
def _most(rule: Rule, capacity: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(rule.most(np.array(capacity, np.int64)))


def most_of(rule: Rule, capacity: Ints) -> list[int]:
    """Return `rule.most(capacity)`, a slow knapsack, cached."""
    return [*_most(rule, tuple(map(tuple, capacity.tolist())))]


@dataclass(frozen=True, eq=False)
class TableTasks:
    jobs: Jobs

    @cached_property
    def waits(self) -> Ints | None:
        """(n,) number of each task's wait, None without gangs."""
        return None if self.jobs.gang is None else np.cumsum(self.jobs.leads) - 1

    @cached_property
    def _distinct(self) -> tuple[Ints, Ints]:
        demand = self.jobs.demand
        if demand.shape[1] == 1:  # many times as fast as along an axis
            distinct, place = np.unique(demand[:, 0], return_inverse=True)
            return distinct[:, None], place.ravel()
        distinct, place = np.unique(demand, axis=0, return_inverse=True)
        return distinct, place.ravel()

    @property
    def vectors(self) -> Ints:
        """Distinct demands, (m, D) units."""
        return self._distinct[0]

    @property
    def place(self) -> Ints:
        """(n,) index of each task's demand in `vectors`."""
        return self._distinct[1]

    def prices(self, rule: Rule) -> Ints:
        """Return each task's price, (n,). Raises Refuted."""
        prices = rule.whole_prices(self.vectors)
        require(max(prices) < LARGEST, "a huge price")
        return np.array(prices, np.int64)[self.place]


@dataclass(frozen=True)
class WaitLimit:
    """All tasks except `spared` wait for at most `wait` slots each.

    With spared=None all tasks together wait for at most `wait` slots. A gang waits once.
    """

    wait: int
    spared: int | None

    @property
    def task_wait(self) -> int:
        """Longest wait of a task that is not spared."""
        return 0 if self.spared is None else self.wait

    def least_cost(self, price: Ints, overlap: Ints, waits: Ints | None = None) -> int:
        """Return the least Σ price · slots in service in a window.

        `overlap` (n,): slots of each task in the window. `waits`: see TableTasks.
        The spared tasks are those with the largest products. With a total wait, each waited slot removes a task from at most
        one slot of the window. The highest prices wait first, each for its own overlap. A slot of a gang's wait removes all
        its tasks.
        """
        if self.spared is not None:
            return sum_without_largest(price * overlap, self.spared, waits)
        if waits is not None:
            price, overlap = _layers(price, overlap, waits)
        # The highest prices wait first, until the total wait is used up.
        priced = np.flatnonzero((price > 0) & (overlap > 0))
        order = priced[np.argsort(-price[priced], kind="stable")]
        slots = overlap[order]
        waited = np.clip(self.wait - (np.cumsum(slots) - slots), 0, slots)
        # Two halves of each price, so that the products stay within 64 bits.
        high, low = price[order] >> HALF_BITS, price[order] & ((1 << HALF_BITS) - 1)
        return (exact_sum(high * (slots - waited)) << HALF_BITS) + exact_sum(low * (slots - waited))


def _layers(price: Ints, overlap: Ints, waits: Ints) -> tuple[Ints, Ints]:
    """Split gangs into layers, tasks with at least a given overlap."""
    order = np.lexsort((-overlap, waits))  # of each gang the longest first
    price, overlap, waits = price[order], overlap[order], waits[order]
    begins = np.flatnonzero(np.diff(waits, prepend=-1))
    summed = np.cumsum(price)
    before = np.repeat(summed[begins] - price[begins], np.diff(begins, append=len(waits)))
    ends = np.diff(waits, append=waits[-1] + 1) > 0
    shorter = np.where(ends, 0, np.append(overlap[1:], 0))
    return summed - before, overlap - shorter


@dataclass(frozen=True)
class PricedWindow:
    """Price of the tasks in service in slots [start, end), `times` times."""

    rule: Rule
    start: int
    end: int
    times: int


@dataclass(frozen=True)
class CostProof:
    """Windows that no policy gets through with fewer machines.

    Their prices are added up, with the same tasks spared in all of them.
    """

    limit: WaitLimit
    windows: tuple[PricedWindow, ...]

    def value(self, tasks: TableTasks, capacity: Ints, cost: Sequence[Fraction]) -> Fraction:
        """Return a cost below which no mix meets the limit.

        `capacity` (G, D) units. Σ n_g held_g >= S of `row` gives Σ n_g cost_g >= S · min_g cost_g / held_g.
        """
        supply, least = self.row(tasks, capacity)
        shares = [price / most for price, most in zip(cost, supply, strict=True) if most > 0]
        return least * min(shares) if shares else Fraction(0)

    def row(self, tasks: TableTasks, capacity: Ints) -> tuple[list[int], int]:
        """Return the supply of one machine of each kind, and the needed sum S.

        The supply is Σ times · length · most_g over the windows. S is the least total price of all tasks that are not spared.
        """
        supply = [0] * len(capacity)
        together = np.zeros(len(tasks.jobs), np.int64)
        least, largest = 0, 0
        for window in self.windows:
            length = window.end - window.start
            require(length > 0 and window.times > 0, "an empty window")
            price = tasks.prices(window.rule)
            # Sums must stay within 64 bits.
            largest += window.times * length * int(price.max())
            require(largest <= LARGEST, "prices, windows and times are too large together")
            overlap = sure_overlap(tasks.jobs, self.limit.task_wait, window.start, window.end)
            if self.limit.spared is None:
                least += window.times * self.limit.least_cost(price, overlap, tasks.waits)
            else:
                together += window.times * price * overlap
            for kind, most in enumerate(most_of(window.rule, capacity)):
                supply[kind] += window.times * length * most
        spared = self.limit.spared
        return supply, least if spared is None else sum_without_largest(together, spared, tasks.waits)


def sum_without_largest(values: Ints, spared: int, waits: Ints | None = None) -> int:
    """Return the sum of all values (n,) except the `spared` largest.

    With `waits`, values with the same wait are summed first, and the result may be slightly smaller.
    """
    if waits is not None:
        most = int(values.max(initial=0)).bit_length() + int(np.bincount(waits).max(initial=0)).bit_length()
        shift = max(0, most - LARGEST.bit_length())  # keeps sums within 64 bits, and makes them smaller
        sums = np.zeros(int(waits[-1]) + 1, np.int64)
        np.add.at(sums, waits, values >> shift)
        return sum_without_largest(sums, spared) << shift
    positive = values[values > 0]
    if spared >= len(positive):
        return 0
    return exact_sum(np.partition(positive, len(positive) - spared - 1)[: len(positive) - spared] if spared else positive)


def exact_sum(values: Ints) -> int:
    """Return the sum of values (n,) >= 0, also beyond 64 bits."""
    half = 32
    return (int((values >> half).sum()) << half) + int((values & ((1 << half) - 1)).sum())


def fewest(bound: Fraction) -> int:
    """Return the least whole number >= the bound, at least 1."""
    return max(1, math.ceil(bound))


def windows(jobs: Jobs, later: set[int]) -> Iterator[tuple[int, int]]:
    """Return [start, end) of windows of the arrivals' time.

    They are the whole time, and its halves, quarters, … down to 256ths. Each also begins half its length later, and all are
    shifted by each of the `later` slots. Many tasks get fewer windows.
    """
    first, last = int(jobs.arrival[0]), int(jobs.arrival[-1]) + 1
    levels = min(MOST_LEVELS, max(1, int(math.log2(max(MOST_CELLS / len(jobs), 2))) - 1))
    for level in range(levels):
        length = (last - first) / 2**level
        if length < 1:
            break
        for half_steps, moved in itertools.product(range(2 ** (level + 1) - 1), sorted(later)):
            start = first + int(half_steps * length / 2) + moved
            yield start, start + math.ceil(length)


def inside(start: int, end: int) -> list[tuple[int, int]]:
    """Return the halves and the middle, none in one slot."""
    length = (end - start + 1) // 2
    return [] if end - start < 2 else [(first, first + length) for first in (start, start + length // 2, end - length)]


def sure_overlap(jobs: Jobs, wait: int, start: int, end: int) -> Ints:
    """Return the slots of [start, end) that each task surely spends in service, (n,).

    Tasks wait for at most `wait` slots. A later start makes the overlap rise, stay, then fall. So the first or the last start
    has the least.
    """
    arrived = int(np.searchsorted(jobs.arrival, end))  # those that have arrived
    overlap = np.zeros(len(jobs), np.int64)
    arrival, service = jobs.arrival[:arrived], jobs.service[:arrived]
    least = _overlap(arrival, service, start, end)
    overlap[:arrived] = least if wait == 0 else np.minimum(least, _overlap(arrival + wait, service, start, end))
    return overlap


def _overlap(start: Ints, service: Ints, first: int, end: int) -> Ints:
    """Return the slots of [first, end) in service, for these starts."""
    return np.maximum(np.minimum(start + service, end) - np.maximum(start, first), 0)
