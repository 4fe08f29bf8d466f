"""Proofs that no mix of machines that meets a goal on the wait costs less, checked in integers, apart from any solver.

A price rule (a proof of the upper bound on ρ*, packenv.theory.capacity) gives each demand a price, and says how much the tasks
that fit a machine of each kind can cost together. In each slot the tasks in service cost at most that on all machines.
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
    """`rule.most(capacity)`, a knapsack of most of a second, once for each rule."""
    return [*_most(rule, tuple(map(tuple, capacity.tolist())))]


@dataclass(frozen=True, eq=False)
class TableTasks:
    """The tasks of a table, with their distinct demands."""

    jobs: Jobs

    @cached_property
    def waits(self) -> Ints | None:
        """(n,) the number of each task's wait, which all of a gang share; None without gangs, where each task has its own."""
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
        """(m, D) units."""
        return self._distinct[0]

    @property
    def place(self) -> Ints:
        """(n,) the number of each task's vector."""
        return self._distinct[1]

    def prices(self, rule: Rule) -> Ints:
        """(n,) the price of each task. Raises Refuted for a rule that is none, or has huge prices."""
        prices = rule.whole_prices(self.vectors)
        require(max(prices) < LARGEST, "a huge price")
        return np.array(prices, np.int64)[self.place]


@dataclass(frozen=True)
class WaitLimit:
    """All tasks but `spared` of them wait for at most `wait` slots; or, without `spared`, all together for at most `wait`.

    A gang waits once.
    """

    wait: int
    spared: int | None

    @property
    def task_wait(self) -> int:
        """The wait of a task that is not spared."""
        return 0 if self.spared is None else self.wait

    def least_cost(self, price: Ints, overlap: Ints, waits: Ints | None = None) -> int:
        """Σ price · slots in service, at the least, of tasks with these overlaps (n,) of a window; `waits` as of TableTasks.

        The tasks to be spared are those of the largest products. A slot of wait takes a task out of one slot of the window at
        most: those of the largest prices wait first, each for its own overlap. A slot of a gang's wait takes out all its tasks.
        """
        if self.spared is not None:
            return sum_without_largest(price * overlap, self.spared, waits)
        if waits is not None:
            price, overlap = _layers(price, overlap, waits)
        priced = np.flatnonzero((price > 0) & (overlap > 0))
        order = priced[np.argsort(-price[priced], kind="stable")]
        slots = overlap[order]
        waited = np.clip(self.wait - (np.cumsum(slots) - slots), 0, slots)
        high, low = price[order] >> HALF_BITS, price[order] & ((1 << HALF_BITS) - 1)
        return (exact_sum(high * (slots - waited)) << HALF_BITS) + exact_sum(low * (slots - waited))


def _layers(price: Ints, overlap: Ints, waits: Ints) -> tuple[Ints, Ints]:
    """Gangs as layers, of which each is in service at one price: the tasks of a gang that overlap as long, or longer."""
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
    """What the tasks in service in the slots [start, end) cost by a rule; it counts `times` times."""

    rule: Rule
    start: int
    end: int
    times: int


@dataclass(frozen=True)
class CostProof:
    """Windows that no policy gets over with fewer machines: their costs are added up, the same tasks spared in all of them."""

    limit: WaitLimit
    windows: tuple[PricedWindow, ...]

    def value(self, tasks: TableTasks, capacity: Ints, cost: Sequence[Fraction]) -> Fraction:
        """A cost below which no mix of machines of capacity (G, D) units and these costs meets the limit.

        Σ n_g held_g >= S of `row` gives Σ n_g cost_g >= S · min_g cost_g / held_g.
        """
        supply, least = self.row(tasks, capacity)
        shares = [price / most for price, most in zip(cost, supply, strict=True) if most > 0]
        return least * min(shares) if shares else Fraction(0)

    def row(self, tasks: TableTasks, capacity: Ints) -> tuple[list[int], int]:
        """What one machine of each kind holds of the windows' prices, Σ times · length · most_g, and S that all must hold.

        S is what all tasks that are not spared cost at the least.
        """
        supply = [0] * len(capacity)
        together = np.zeros(len(tasks.jobs), np.int64)
        least, largest = 0, 0
        for window in self.windows:
            length = window.end - window.start
            require(length > 0 and window.times > 0, "an empty window")
            price = tasks.prices(window.rule)
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
    """The sum of all values (n,) but the `spared` largest ones; with `waits`, of the sums of those that share one, or less."""
    if waits is not None:
        most = int(values.max(initial=0)).bit_length() + int(np.bincount(waits).max(initial=0)).bit_length()
        shift = max(0, most - LARGEST.bit_length())  # what is cut off makes every sum smaller, and keeps it within 64 bits
        sums = np.zeros(int(waits[-1]) + 1, np.int64)
        np.add.at(sums, waits, values >> shift)
        return sum_without_largest(sums, spared) << shift
    positive = values[values > 0]
    if spared >= len(positive):
        return 0
    return exact_sum(np.partition(positive, len(positive) - spared - 1)[: len(positive) - spared] if spared else positive)


def exact_sum(values: Ints) -> int:
    """The sum of values (n,) >= 0, which may be beyond 64 bits."""
    half = 32
    return (int((values >> half).sum()) << half) + int((values & ((1 << half) - 1)).sum())


def fewest(bound: Fraction) -> int:
    """The least whole number that is not below the bound, and at least 1."""
    return max(1, math.ceil(bound))


def windows(jobs: Jobs, later: set[int]) -> Iterator[tuple[int, int]]:
    """First slot, and the one after the last, of the time of the arrivals, and of its halves, quarters, … down to 256ths.

    Each also begins half of its length later, and all of them `later` slots. Of many tasks there are fewer windows.
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
    """Half as long windows in this one: the halves, and the one in the middle. None in a window of one slot."""
    length = (end - start + 1) // 2
    return [] if end - start < 2 else [(first, first + length) for first in (start, start + length // 2, end - length)]


def sure_overlap(jobs: Jobs, wait: int, start: int, end: int) -> Ints:
    """(n,) slots of [start, end) in which a task that waits for at most `wait` slots is in service, whenever it starts.

    As its start moves on, the overlap rises, stays, and falls: the least is that of the first or of the last start.
    """
    arrived = int(np.searchsorted(jobs.arrival, end))  # those that have arrived
    overlap = np.zeros(len(jobs), np.int64)
    arrival, service = jobs.arrival[:arrived], jobs.service[:arrived]
    least = _overlap(arrival, service, start, end)
    overlap[:arrived] = least if wait == 0 else np.minimum(least, _overlap(arrival + wait, service, start, end))
    return overlap


def _overlap(start: Ints, service: Ints, first: int, end: int) -> Ints:
    """Slots of [first, end) in which tasks that start then are in service."""
    return np.maximum(np.minimum(start + service, end) - np.maximum(start, first), 0)
