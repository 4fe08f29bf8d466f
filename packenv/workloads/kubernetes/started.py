"""Waiting pods as a table of tasks, and the pods that run already, with times that are drawn by seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.units import to_units
from packenv.workloads.in_service import InService
from packenv.workloads.kubernetes.owners import LAWS, OwnerTimes, random_of
from packenv.workloads.laws import Empirical, Law

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENDLESS = 2**31
"""Slots of a task that does not end: more than any run has (68 years of seconds)."""

STRETCH, MOST_STRETCHES = 100, 1000
WAITING, RUNNING = 0, 1  # streams of random numbers
STEPS = 64  # of a bisection: doubles have no more


@dataclass(frozen=True, eq=False)
class Started:
    """A function from a seed to the table of the waiting pods; `in_service` has those that run. Demands in units of capacity."""

    demand: Floats  # (n, D) of the waiting pods
    row: Ints  # (n,) which random number is a pod's: that of its place in the queue as it was read
    endless: Bools  # (n,)
    running_demand: Floats  # (m, D)
    running_endless: Bools  # (m,)
    server: Ints  # (m,) -1: its node is taken away
    age: Floats  # (m,) slots in service so far
    services: tuple[Law, ...] | OwnerTimes
    """Of pods that end, in slots: each seed has one of the laws; none: no pod ends."""
    again: tuple[int, ...] = ()  # of the running pods, by number: they start again, behind those that wait
    names: tuple[str, ...] = ()  # of the waiting pods, and of those that start again
    notes: tuple[str, ...] = ()  # lines on what is assumed and ignored

    def __call__(self, seed: int) -> Jobs:
        """The table; a pod that starts again is in service for what it has been already, and for what remained."""
        slots = self._slots(seed, WAITING, self.row, np.zeros(len(self.demand)), self.endless)
        again = np.array(self.again, np.int64)
        whole = np.minimum(np.ceil(self.age[again]).astype(np.int64) + self.remaining(seed)[again], ENDLESS)
        demand = np.concatenate([self.demand, self.running_demand[again]])
        return Jobs(np.zeros(len(demand), np.int64), to_units(demand), np.concatenate([slots, whole]))

    def in_service(self, seed: int) -> list[InService]:
        """The running pods, but for those whose node is taken away, each with the slots that remain."""
        rows = zip(self.running_demand.tolist(), self.server.tolist(), self.remaining(seed).tolist(), strict=True)
        return [row for row in rows if row[1] >= 0]

    def remaining(self, seed: int) -> Ints:
        """(m,) slots that remain of each running pod's service."""
        return self._slots(seed, RUNNING, np.arange(len(self.age)), self.age, self.running_endless)

    def _slots(self, seed: int, stream: int, row: Ints, age: Floats, endless: Bools) -> Ints:
        if not self.services:
            return np.full(len(age), ENDLESS)
        uniform = random_of(seed, stream).random(int(row.max(initial=-1)) + 1)[row]
        if isinstance(self.services, OwnerTimes):
            owners = self.services.owners(seed)
            if stream == RUNNING:
                slots = self.services.remaining(owners, uniform)
            else:
                slots = self.services.slots(owners, uniform, self.remaining(seed))
        else:
            law = self.services[random_of(seed, LAWS).integers(len(self.services))]
            slots = remaining(law, age, uniform)
        return np.where(endless, ENDLESS, np.minimum(slots, ENDLESS))


def stretches(services: Ints) -> tuple[Law, ...]:
    """Laws of services that were recorded one after the other (n,) slots: each is that of a stretch of STRETCH of them.

    Tasks that come together last about as long as each other. Draws of all of them from one stretch vary as much together.
    """
    step = max(STRETCH // 2, len(services) // MOST_STRETCHES)
    first = range(0, max(len(services) - STRETCH, 0) + 1, step)
    return tuple(Empirical(services[n : n + STRETCH]) for n in first)


def remaining(law: Law, age: Floats, uniform: Floats) -> Ints:
    """(n,) whole slots, at least 1, that remain of services that have lasted `age` slots: X - age, given that X > age.

    The inverse of the distribution function at `uniform` (n,) in [0, 1). Where no service lasts so long, 1 slot remains.
    """
    below = law.cdf(age)
    wanted = below + (1 - below) * uniform
    low, high = age.copy(), np.maximum(2 * age, 1.0)
    while (short := (law.cdf(high) < wanted) & (high < ENDLESS)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = law.cdf(middle) >= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    last = np.ceil(np.round(high - age, 6))  # a whole number of slots, if the law has only whole ones
    return np.where(below < 1, np.clip(last, 1, ENDLESS), 1).astype(np.int64)
