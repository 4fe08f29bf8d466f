"""Times in service by owner. Pods of an owner last similarly long.

A known owner has its own durations. An unknown one takes the durations of a known one, drawn for each run, for all its pods.
The ages of its running pods change the chances: longer durations are likelier by the chance to reach these ages. A part of
each law is all durations together, with the weight of `LENT` durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LAWS = 2  # the stream of random numbers that chooses owners

LENT = 0.5
"""Weight of all durations together in each owner's law, as even a known owner has unusual pods."""

FEW = 5
"""An owner with this many pods takes durations of an owner with at least this many."""


@dataclass(frozen=True, eq=False)
class OwnerTimes:
    """Each owner's durations, in slots, and groups of one owner's pods."""

    values: tuple[Floats, ...]  # of each known owner, ascending
    waiting: Ints  # (n,) group of each waiting pod; -1: it does not end
    running: Ints  # (m,) group of each running pod; -1: it does not end
    age: Floats  # (m,)
    owner: tuple[int | None, ...]  # of each group, the number of the known owner, if there is one
    keys: tuple[int, ...]  # of each group: a key that does not depend on other pods

    @cached_property
    def every(self) -> Floats:
        """Durations of all owners, ascending."""
        return np.sort(self.joined)

    @cached_property
    def chances(self) -> list[Floats]:
        """Cumulative chances (owners,) of each group to take each owner's durations."""
        return [np.cumsum(self._chance(group, owner)) for group, owner in enumerate(self.owner)]

    def owners(self, seed: int) -> list[int]:
        """Return each group's owner of durations with this seed."""
        uniform = [random_of(seed, LAWS, key).random() for key in self.keys]
        return [int(np.searchsorted(sums, u * sums[-1], "right")) for sums, u in zip(self.chances, uniform, strict=True)]

    def remaining(self, owners: Sequence[int], uniform: Floats) -> Ints:
        """Return running pods' slots left, (m,), at quantiles `uniform` (m,)."""
        return self._drawn(self.running, self.age, uniform, [self.values[owner] for owner in owners])

    def slots(self, owners: Sequence[int], uniform: Floats, running: Ints) -> Ints:
        """Return slots of the waiting pods, (n,).

        `running` (m,): slots left of the running pods. They count as durations of their group: ended pods are the short ones, so
        without running pods all would be too short.
        """
        whole = self.age + running
        values = [np.sort(np.append(self.values[owner], whole[self.running == n])) for n, owner in enumerate(owners)]
        return self._drawn(self.waiting, np.zeros(len(uniform)), uniform, values)

    def _drawn(self, group: Ints, age: Floats, uniform: Floats, values: Sequence[Floats]) -> Ints:
        """Return the slots left by each group's durations, (n,)."""
        left = np.ones(len(group))
        for number in np.unique(group[group >= 0]):
            rows = np.flatnonzero(group == number)
            left[rows] = left_over(values[number], self.every, age[rows], uniform[rows])
        return np.maximum(np.ceil(np.round(left, 6)), 1).astype(np.int64)

    def _chance(self, group: int, owner: int | None) -> Floats:
        if owner is not None:
            return np.asarray(np.arange(len(self.values)) == owner, np.float64)
        ages = self.age[self.running == group]
        size = len(ages) + int((self.waiting == group).sum())
        likely = np.zeros(len(self.values)) + sum(np.log(self.tails(age)) for age in ages)
        likely[self.count < min(size, FEW, self.count.max())] = -np.inf
        return np.asarray(np.exp(likely - likely.max()), np.float64)

    @cached_property
    def count(self) -> Ints:
        """Known durations of each owner, (owners,)."""
        return np.array([len(values) for values in self.values], np.int64)

    @cached_property
    def joined(self) -> Floats:
        """Durations of all owners, one owner after the other."""
        return np.concatenate(self.values)

    def tails(self, age: float) -> Floats:
        """Return owners' chances to exceed an age, (owners,), above 0."""
        longer_ones = np.add.reduceat((self.joined > age).astype(np.int64), np.cumsum(self.count) - self.count)
        of_all = max(int(longer_ones.sum()), 1) / len(self.joined)
        return np.asarray((longer_ones + LENT * of_all) / (self.count + LENT), np.float64)


def longer(values: Floats, age: Floats) -> Floats:
    """Return the number of ascending values above each age, (n,)."""
    return np.asarray(len(values) - np.searchsorted(values, age, "right"), np.float64)


def left_over(values: Floats, every: Floats, age: Floats, uniform: Floats) -> Floats:
    """Return the rest of services that have lasted `age`, (n,).

    Each is of the owner's values, or with a small chance of all values.
    """
    of_owner, of_all = longer(values, age), LENT * longer(every, age) / len(every)
    share = np.divide(of_owner, of_owner + of_all, out=np.zeros_like(of_owner), where=of_owner + of_all > 0)
    mine = uniform < share
    within = np.where(mine, uniform / np.maximum(share, 1e-300), (uniform - share) / np.maximum(1 - share, 1e-300))
    return np.where(mine, _above(values, age, within), _above(every, age, within)) - age


def _above(values: Floats, age: Floats, uniform: Floats) -> Floats:
    """Return the value at `uniform` above each age, or the age, (n,)."""
    first = np.searchsorted(values, age, "right")
    place = first + np.minimum((uniform * (len(values) - first)).astype(np.int64), len(values) - first - 1)
    return np.where(first < len(values), values[np.minimum(place, len(values) - 1)], age)


def random_of(*key: int) -> np.random.Generator:
    """Return a stream of random numbers for each key."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def central(values: Floats, every: Floats, level: float = 0.8) -> tuple[float, float]:
    """Return a law's middle share `level`. `values` and `every` ascend."""
    both = np.concatenate([values, every])
    order = np.argsort(both, kind="stable")
    weight = np.concatenate([np.ones(len(values)), np.full(len(every), LENT / len(every))])[order]
    share = np.cumsum(weight) / weight.sum()
    outside = (1 - level) / 2
    low, high = np.searchsorted(share, [outside, 1 - outside - 1e-12])
    return float(both[order[low]]), float(both[order[high]])
