"""Times in service by owner: pods of one owner last about as long as each other, and so do those of an owner not seen before.

An owner that is known has its own durations. One that is not takes those of one of the known, drawn for each run: all of its
pods have the same. Owners of which pods are in service are the likelier to be taken the longer theirs last: by the chance that
pods are still there at these ages. Of each law a part is that of all durations together: `LENT` more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LAWS = 2  # the stream of random numbers that says whose durations there are

LENT = 0.5
"""Durations of all owners together that count with those of each: even one that is well known has a pod that lasts otherwise."""

FEW = 5
"""An owner with this many pods or more takes the durations of an owner of which as many are known."""


@dataclass(frozen=True, eq=False)
class OwnerTimes:
    """The durations of each owner, in slots, and the group of each pod of a cluster: pods of one owner."""

    values: tuple[Floats, ...]  # of each known owner, ascending
    waiting: Ints  # (n,) group of each waiting pod; -1: it does not end
    running: Ints  # (m,) group of each running pod; -1: it does not end
    age: Floats  # (m,)
    owner: tuple[int | None, ...]  # of each group, the number of the known owner, if there is one
    keys: tuple[int, ...]  # of each group, a number of its own, whatever other pods there are

    @cached_property
    def every(self) -> Floats:
        """The durations of all owners, ascending."""
        return np.sort(self.joined)

    @cached_property
    def chances(self) -> list[Floats]:
        """The cumulative chances (owners,) of each group to have the durations of each known owner."""
        return [np.cumsum(self._chance(group, owner)) for group, owner in enumerate(self.owner)]

    def owners(self, seed: int) -> list[int]:
        """The owner whose durations each group has in the run with this seed."""
        uniform = [random_of(seed, LAWS, key).random() for key in self.keys]
        return [int(np.searchsorted(sums, u * sums[-1], "right")) for sums, u in zip(self.chances, uniform, strict=True)]

    def remaining(self, owners: Sequence[int], uniform: Floats) -> Ints:
        """(m,) slots that remain of the running pods: the inverse of the distribution function at `uniform` (m,)."""
        return self._drawn(self.running, self.age, uniform, [self.values[owner] for owner in owners])

    def slots(self, owners: Sequence[int], uniform: Floats, running: Ints) -> Ints:
        """(n,) slots of the waiting pods, when so many (m,) remain of those that run: these count with their group's durations.

        Pods that have ended by now are the short ones of those that began together; without the others all would be too short.
        """
        whole = self.age + running
        values = [np.sort(np.append(self.values[owner], whole[self.running == n])) for n, owner in enumerate(owners)]
        return self._drawn(self.waiting, np.zeros(len(uniform)), uniform, values)

    def _drawn(self, group: Ints, age: Floats, uniform: Floats, values: Sequence[Floats]) -> Ints:
        """(n,) what remains, by the durations of each group."""
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
        """(owners,) how many durations of each owner are known."""
        return np.array([len(values) for values in self.values], np.int64)

    @cached_property
    def joined(self) -> Floats:
        """The durations of all owners, one owner after the other."""
        return np.concatenate(self.values)

    def tails(self, age: float) -> Floats:
        """(owners,) the chance to last longer than an age by the law of each owner; never 0."""
        longer_ones = np.add.reduceat((self.joined > age).astype(np.int64), np.cumsum(self.count) - self.count)
        of_all = max(int(longer_ones.sum()), 1) / len(self.joined)
        return np.asarray((longer_ones + LENT * of_all) / (self.count + LENT), np.float64)


def longer(values: Floats, age: Floats) -> Floats:
    """(n,) how many of the values, ascending, are above each age."""
    return np.asarray(len(values) - np.searchsorted(values, age, "right"), np.float64)


def left_over(values: Floats, every: Floats, age: Floats, uniform: Floats) -> Floats:
    """(n,) what remains of services that have lasted `age`: of one of the owner's values, or with a small part of all."""
    of_owner, of_all = longer(values, age), LENT * longer(every, age) / len(every)
    share = np.divide(of_owner, of_owner + of_all, out=np.zeros_like(of_owner), where=of_owner + of_all > 0)
    mine = uniform < share
    within = np.where(mine, uniform / np.maximum(share, 1e-300), (uniform - share) / np.maximum(1 - share, 1e-300))
    return np.where(mine, _above(values, age, within), _above(every, age, within)) - age


def _above(values: Floats, age: Floats, uniform: Floats) -> Floats:
    """(n,) the value at `uniform` of those above each age; the age itself if there is none."""
    first = np.searchsorted(values, age, "right")
    place = first + np.minimum((uniform * (len(values) - first)).astype(np.int64), len(values) - first - 1)
    return np.where(first < len(values), values[np.minimum(place, len(values) - 1)], age)


def random_of(*key: int) -> np.random.Generator:
    """A stream of random numbers for each key."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def central(values: Floats, every: Floats, level: float = 0.8) -> tuple[float, float]:
    """The middle of a law with these durations of the owner and a part of all, both ascending: this share of it at least."""
    both = np.concatenate([values, every])
    order = np.argsort(both, kind="stable")
    weight = np.concatenate([np.ones(len(values)), np.full(len(every), LENT / len(every))])[order]
    share = np.cumsum(weight) / weight.sum()
    outside = (1 - level) / 2
    low, high = np.searchsorted(share, [outside, 1 - outside - 1e-12])
    return float(both[order[low]]), float(both[order[high]])
