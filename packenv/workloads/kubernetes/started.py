"""Waiting pods as a table of tasks, and the pods that run already, with times that are drawn by seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.units import UNIT, to_units
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
MOST_KEPT = 4  # of drawn times
STEPS = 64  # of a bisection: doubles have no more


def no_amounts() -> Floats:
    return np.zeros((0, 0))


def no_slots() -> Ints:
    return np.zeros(0, np.int64)


def no_pods() -> Bools:
    return np.zeros(0, np.bool_)


@dataclass(frozen=True, eq=False)
class Started:
    """A function from a seed to the table of the waiting pods; `in_service` has those that run. Demands in units of capacity.

    Pods are those that wait, and behind them those that start again. Arrays left empty: there are none of which it is true.
    """

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
    unfit: tuple[str, ...] = ()  # names of pods that wait and fit on no node: they are no tasks
    capacity: Floats = field(default_factory=no_amounts)  # (L, D) of the nodes; without it none is overfull
    latest: Ints = field(default_factory=no_slots)  # (n,) slots that a waiting pod is in service at the most
    running_latest: Ints = field(default_factory=no_slots)  # (m,) slots from now until a running pod has ended
    again_latest: Ints = field(default_factory=no_slots)  # (again and evicted,) as `latest`
    begun: tuple[tuple[int, int, int], ...] = ()  # waiting pods that start now: number, server, slots until the room is free
    evicted: tuple[int, ...] = ()  # of the running pods, by number: preempted by those, and queued last
    loose: Bools = field(
        default_factory=no_pods
    )  # (pods,) whether more keeps a pod waiting, or less in service, than is modelled
    lower: Bools = field(default_factory=no_pods)  # (pods,) whether another may preempt it
    running_lower: Bools = field(
        default_factory=no_pods
    )  # (m,) whether its end is up to others: it may be preempted, or is being deleted
    running_server: Ints = field(default_factory=no_slots)  # (m,) before any was preempted

    def __call__(self, seed: int) -> Jobs:
        """The table: waiting pods that do not start now, those that start again, and those that are preempted.

        A pod that starts again is in service for what it has been already, and for what remained.
        """
        again = np.array([*self.again, *self.evicted], np.int64)
        whole = np.minimum(np.ceil(self.age[again]).astype(np.int64) + self.remaining(seed, known=False)[again], ENDLESS)
        whole = np.minimum(whole, self.again_latest) if len(self.again_latest) else whole
        waits = self.queued
        demand = np.concatenate([self.demand[waits], self.running_demand[again]])
        return Jobs(np.zeros(len(demand), np.int64), to_units(demand), np.concatenate([self.slots(seed)[waits], whole]))

    @property
    def queued(self) -> Ints:
        """The numbers of the waiting pods that do not start now."""
        return np.setdiff1d(np.arange(len(self.demand)), [pod for pod, _, _ in self.begun]).astype(np.int64)

    def in_service(self, seed: int) -> list[InService]:
        """The running pods whose node is there, and those that start now, each with the slots that remain.

        Of a node that holds more than it has, the pods that end first give no room back until it holds what it has.
        """
        units, server, left = self.held(seed)
        return [*zip((units / UNIT).tolist(), server.tolist(), left.tolist(), strict=True)]

    def held(self, seed: int) -> tuple[Ints, Ints, Ints]:
        """The same as arrays: units (n, D), nodes (n,) and slots (n,)."""
        first, node, wait = np.array(self.begun, np.int64).reshape(-1, 3).T
        server = np.concatenate([self.server, node])
        left = np.concatenate([self.remaining(seed), np.minimum(wait + self.slots(seed)[first], ENDLESS)])
        units = to_units(np.concatenate([self.running_demand, self.demand[first]]))
        if len(self.capacity):
            over = -to_units(self.capacity)
            np.add.at(over, server[server >= 0], units[server >= 0])
            full = np.flatnonzero((server >= 0) & np.isin(server, np.flatnonzero((over > 0).any(axis=1))))
            for n in full[np.argsort(left[full], kind="stable")].tolist():
                less = np.clip(over[server[n]], 0, units[n])
                units[n] -= less
                over[server[n]] -= less
        there = (server >= 0) & units.any(axis=1)
        return units[there], server[there], left[there]

    def remaining(self, seed: int, known: bool = True) -> Ints:
        """(m,) slots that remain of each running pod's service. `known`: not longer than until its latest end."""
        slots = self._slots(seed, RUNNING, np.arange(len(self.age)), self.age, self.running_endless)
        return np.minimum(slots, self.running_latest) if known and len(self.running_latest) else slots

    def slots(self, seed: int) -> Ints:
        """(n,) slots that each waiting pod will be in service."""
        slots = self._slots(seed, WAITING, self.row, np.zeros(len(self.demand)), self.endless)
        return np.minimum(slots, self.latest) if len(self.latest) else slots

    def times(self, seed: int, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """(pods,) starts and ends of the waiting pods and of those that start again, from those of the table; -1: never."""
        times = []
        slots = self.slots(seed)
        for column, longer in ((start, 0), (end, 1)):
            whole = np.full(len(self.demand), -1)
            whole[self.queued] = column[: len(self.queued)]
            for pod, _, wait in self.begun:
                whole[pod] = min(wait + longer * slots[pod], ENDLESS)
            times.append(np.concatenate([whole, column[len(self.queued) : len(self.queued) + len(self.again)]]))
        return times[0], times[1]

    @cached_property
    def drawn(self) -> dict[tuple[int, int], Ints]:
        """What `_slots` drew last: one run asks for it several times, and a law's inverse takes long."""
        return {}

    def _slots(self, seed: int, stream: int, row: Ints, age: Floats, endless: Bools) -> Ints:
        if (seed, stream) not in self.drawn:
            slots = self._draw(seed, stream, row, age, endless)
            if len(self.drawn) >= MOST_KEPT:
                self.drawn.clear()
            self.drawn[seed, stream] = slots
            return slots
        return self.drawn[seed, stream]

    def _draw(self, seed: int, stream: int, row: Ints, age: Floats, endless: Bools) -> Ints:
        if not self.services:
            return np.full(len(age), ENDLESS)
        uniform = random_of(seed, stream).random(int(row.max(initial=-1)) + 1)[row]
        if isinstance(self.services, OwnerTimes):
            owners = self.services.owners(seed)
            if stream == RUNNING:
                slots = self.services.remaining(owners, uniform)
            else:
                slots = self.services.slots(owners, uniform, self.remaining(seed, known=False))
        else:
            law = self.services[random_of(seed, LAWS).integers(len(self.services))]
            slots = np.full(len(age), ENDLESS)
            slots[~endless] = remaining(law, age[~endless], uniform[~endless])
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
