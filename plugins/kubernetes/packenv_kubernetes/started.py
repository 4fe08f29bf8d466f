"""Waiting pods as a table, and running pods, with times by seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv import Jobs
from packenv.extend import HOW_MANY, NO_GANG, SHARE, WHOLE, Empirical, InService, Law, to_units
from packenv_kubernetes.durations import are_drawn
from packenv_kubernetes.owners import LAWS, OwnerTimes, random_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENDLESS = 2**31
"""Slots of a task that does not end: more than any run has (68 years of seconds)."""

STRETCH, MOST_STRETCHES = 100, 1000
WAITING, RUNNING = 0, 1  # streams of random numbers
MOST_KEPT = 4  # of drawn times
MOST_SEEDS = 64  # seeds whose remaining times are cached: 16 search, 16 confirm, also for waiting pods
TAKEN = 3  # column of `InService.devices`
STEPS = 64  # of a bisection: doubles have no more


def no_amounts() -> Floats:
    return np.zeros((0, 0))


def no_slots() -> Ints:
    return np.zeros(0, np.int64)


def no_pods() -> Bools:
    return np.zeros(0, np.bool_)


class OfGpus(NamedTuple):
    """Shares of GPUs in the forms of `Jobs.devices` and `InService.devices`."""

    nodes: Ints  # (L, 3) as `Servers.devices`
    need: Ints  # (n, 3) of the waiting pods
    again: Ints  # (again and evicted, 3)
    held: Ints  # (m, 4) of the running pods
    begun: Ints  # (begun, 4) of those that start now


class Held:
    """Amounts held on nodes (L, D) by pods (n, D), in units.

    `server` (n,): node of each pod, -1: none.
    devices  (n, 4) shares of GPUs, as `InService.devices`. `gpus` (L, 3) of the nodes
    """

    def __init__(self, demand: Ints, server: Ints, capacity: Ints, devices: Ints | None = None, gpus: Ints | None = None) -> None:
        self.devices, self.gpus = devices, gpus
        self.over = -capacity
        if len(capacity):
            placed = server >= 0
            np.add.at(self.over, server[placed], demand[placed])
        overfull = np.flatnonzero((self.over > 0).any(axis=1))
        self.demand, self.server = demand, server
        self.full = np.flatnonzero(np.isin(server, overfull))  # pods of overfull nodes
        self.there = (server >= 0) & demand.any(axis=1)

    def with_slots(self, left: Ints) -> InService:
        """Return the pods with slots left (n,), reduced to the nodes' amounts."""
        demand, there = self.demand, self.there
        if len(self.full):
            demand, over = demand.copy(), self.over.copy()
            for n in self.full[np.argsort(left[self.full], kind="stable")].tolist():
                less = np.clip(over[self.server[n]], 0, demand[n])
                demand[n] -= less
                over[self.server[n]] -= less
            there = there & demand.any(axis=1)
        return InService(demand[there], self.server[there], left[there], self._shares(left, there))

    def _shares(self, left: Ints, there: Bools) -> Ints | None:
        """Return pods' GPU shares, (there, 4), less for early ends on overfull ones."""
        if self.devices is None or self.gpus is None:
            return None
        devices = np.where(there[:, None], self.devices, 0)
        gpu = np.log2(np.maximum(devices[:, TAKEN], 1)).astype(np.int64)  # of its node
        over = np.repeat(-self.gpus[:, WHOLE, None], self.gpus[:, HOW_MANY].max() or 1, axis=1)
        np.add.at(over, (self.server, gpu), devices[:, SHARE])
        for n in np.argsort(left, kind="stable").tolist() if (over > 0).any() else ():
            less = min(max(over[self.server[n], gpu[n]], 0), devices[n, SHARE])
            devices[n, SHARE] -= less
            over[self.server[n], gpu[n]] -= less
        return (devices * (devices[:, SHARE] > 0)[:, None])[there]


@dataclass(frozen=True, eq=False)
class Started:
    """A function from a seed to the table of waiting pods.

    `in_service` has the running ones. Demands are in units of capacity. Pods are the waiting ones, then restarted ones. Empty
    arrays mean no affected pod.
    """

    demand: Floats  # (n, D) of the waiting pods
    row: Ints  # (n,) random number of each pod: by its place in the queue as read
    endless: Bools  # (n,)
    running_demand: Floats  # (m, D)
    running_endless: Bools  # (m,)
    server: Ints  # (m,) -1: its node is taken away
    age: Floats  # (m,) slots in service so far
    services: tuple[Law, ...] | OwnerTimes
    """Laws of the service of pods that end, in slots. Each seed has one. Without any no pod ends."""
    again: tuple[int, ...] = ()  # of the running pods, by number: they start again, behind the waiting pods
    again_demand: Floats = field(default_factory=no_amounts)  # (again and evicted, D) as new pods
    names: tuple[str, ...] = ()  # of the waiting pods, and of those that start again
    notes: tuple[str, ...] = ()  # lines on what is assumed and ignored
    unfit: tuple[str, ...] = ()  # names of pods that wait and fit on no node: they are no tasks
    capacity: Floats = field(default_factory=no_amounts)  # (L, D) of the nodes; without it none is overfull
    latest: Ints = field(default_factory=no_slots)  # (n,) slots that a waiting pod is in service at the most
    running_latest: Ints = field(default_factory=no_slots)  # (m,) slots from now until a running pod has ended
    again_latest: Ints = field(default_factory=no_slots)  # (again and evicted,) as `latest`
    begun: tuple[tuple[int, int, int], ...] = ()  # waiting pods that start now: number, server, slots until the room is free
    begun_gang: Ints = field(default_factory=no_slots)  # (begun,) gang with which each of those starts
    evicted: tuple[int, ...] = ()  # of the running pods, by number: preempted by those, and queued last
    loose: Bools = field(
        default_factory=no_pods
    )  # (pods,) whether more keeps a pod waiting, or less in service, than is modelled
    lower: Bools = field(default_factory=no_pods)  # (pods,) whether another may preempt it
    running_lower: Bools = field(
        default_factory=no_pods
    )  # (m,) whether its end is up to others: it may be preempted, or is being deleted
    running_server: Ints = field(default_factory=no_slots)  # (m,) before any was preempted
    order: Ints = field(default_factory=no_slots)  # (queue,) which entry of the queue each row of the table is
    gang: Ints = field(default_factory=no_slots)  # (queue,) of each row, the gang with which it starts
    gpus: OfGpus | None = None  # of which pods have shares; None: of none
    behind: tuple[tuple[int, int], ...] = ()  # pairs of pods of a gang: the first starts with the second at the earliest

    def __call__(self, seed: int) -> Jobs:
        """Return the table: waiting pods, restarted ones, preempted ones.

        It omits immediate starts. A restarted pod lasts its past and remaining service. Simultaneous pods are adjacent.
        """
        again = np.array([*self.again, *self.evicted], np.int64)
        whole = np.minimum(np.ceil(self.age[again]).astype(np.int64) + self.remaining(seed, limited=False)[again], ENDLESS)
        whole = np.minimum(whole, self.again_latest) if len(self.again_latest) else whole
        waits = self.queued
        demand = np.concatenate([self.demand[waits], self.again_demand]) if len(again) else self.demand[waits]
        units, service = to_units(demand), np.concatenate([self.slots(seed)[waits], whole])
        arrival = np.zeros(len(demand), np.int64)
        devices = None if self.gpus is None else np.concatenate([self.gpus.need[waits], self.gpus.again])
        if not len(self.order):
            return Jobs(arrival, units, service, devices=devices)
        devices = None if devices is None else devices[self.order]
        return Jobs(arrival, units[self.order], service[self.order], gang=self.gang, devices=devices)

    def in_queue_order(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of the table in queue order."""
        if not len(self.order):
            return column
        of_queue = np.empty_like(column)
        of_queue[self.order] = column
        return of_queue

    @cached_property
    def queued(self) -> Ints:
        """Numbers of the waiting pods without an immediate start."""
        return np.setdiff1d(np.arange(len(self.demand)), [pod for pod, _, _ in self.begun]).astype(np.int64)

    def in_service(self, seed: int) -> InService:
        """Return running and immediately started pods, with slots left.

        On an overfull node, ending pods give no room back until its contents fit.
        """
        first, _, wait = np.array(self.begun, np.int64).reshape(-1, 3).T
        begun = np.minimum(wait + self.slots(seed)[first], ENDLESS) if len(first) else first
        return self._there.with_slots(np.concatenate([self.remaining(seed), begun]))

    @property
    def is_only_one(self) -> bool:
        """Whether all seeds have the same times."""
        return isinstance(self.services, tuple) and not are_drawn(self.services)

    def sure(self, seed: int) -> InService:
        """Return pods in service under every policy: not new, preemptible or deleted."""
        return self._sure.with_slots(self.remaining(seed))

    @cached_property
    def _there(self) -> Held:
        first, node, _ = np.array(self.begun, np.int64).reshape(-1, 3).T
        units = np.concatenate([self._running_units, to_units(self.demand[first])])
        server, capacity = np.concatenate([self.server, node]), to_units(self.capacity)
        if self.gpus is None:
            return Held(units, server, capacity)
        return Held(units, server, capacity, np.concatenate([self.gpus.held, self.gpus.begun]), self.gpus.nodes)

    @cached_property
    def _sure(self) -> Held:
        server = np.where(self.running_lower, -1, self.running_server) if len(self.running_lower) else self.server
        return Held(self._running_units, server, to_units(self.capacity))

    @cached_property
    def _running_units(self) -> Ints:
        return to_units(self.running_demand)

    def remaining(self, seed: int, limited: bool = True) -> Ints:
        """Return running pods' slots left, (m,), `limited` by latest ends."""
        slots = self._slots(seed, RUNNING, np.arange(len(self.age)), self.age, self.running_endless)
        return np.minimum(slots, self.running_latest) if limited and len(self.running_latest) else slots

    def slots(self, seed: int) -> Ints:
        """Return the waiting pods' slots in service, (n,)."""
        slots = self._slots(seed, WAITING, self.row, np.zeros(len(self.demand)), self.endless)
        return np.minimum(slots, self.latest) if len(self.latest) else slots

    def times(self, seed: int, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return starts and ends of waiting, then restarted pods; -1: never."""
        times = []
        slots = self.slots(seed)
        for column, longer in ((start, 0), (end, 1)):
            column = self.in_queue_order(column)
            whole = np.full(len(self.demand), -1)
            whole[self.queued] = column[: len(self.queued)]
            for pod, _, wait in self.begun:
                whole[pod] = min(wait + longer * slots[pod], ENDLESS)
            times.append(np.concatenate([whole, column[len(self.queued) : len(self.queued) + len(self.again)]]))
        # Pods above a gang's minimum start with it at the earliest.
        first, last = times
        for pod, leader in self.behind:
            if first[leader] < 0:
                first[pod] = last[pod] = -1
            elif 0 <= first[pod] < first[leader]:
                last[pod] += first[leader] - first[pod]
                first[pod] = first[leader]
        return first, last

    def counted(self, seed: int, jobs: Jobs, start: Ints, end: Ints) -> tuple[Jobs, Ints, Ints] | None:
        """Return waiting and restarted pods as tasks, those that start now last, with starts and ends. None: all rows are these.

        Preempted pods do not count.
        """
        if not self.begun and not self.evicted and not self.behind:
            return None
        entry = self.order if len(self.order) else np.arange(len(jobs))
        rows = np.flatnonzero(entry < len(self.queued) + len(self.again))
        first = np.array([pod for pod, _, _ in self.begun], np.int64)
        pods = np.concatenate([self.queued, len(self.demand) + np.arange(len(self.again))])[entry[rows]]
        pods = np.concatenate([pods, first]).astype(np.int64)
        demand = np.concatenate([jobs.demand[rows], to_units(self.demand[first])])
        service = np.concatenate([jobs.service[rows], self.slots(seed)[first]])
        of_table = np.full(len(jobs), NO_GANG) if jobs.gang is None else jobs.gang
        others = np.where(self.begun_gang >= 0, self.begun_gang + of_table.max(initial=NO_GANG) + 1, NO_GANG)
        first_start, last = self.times(seed, start, end)
        tasks = Jobs(np.zeros(len(pods), np.int64), demand, service, gang=np.concatenate([of_table[rows], others]))
        return tasks, first_start[pods], last[pods]

    @cached_property
    def drawn(self) -> dict[tuple[int, int], Ints]:
        """Cache of the last draws of `_slots`."""
        return {}

    def _slots(self, seed: int, stream: int, row: Ints, age: Floats, endless: Bools) -> Ints:
        if (seed, stream) not in self.drawn:
            slots = self._draw(seed, stream, row, age, endless)
            if len(self.drawn) >= MOST_KEPT:
                self.drawn.clear()
            self.drawn[seed, stream] = slots
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
                slots = self.services.slots(owners, uniform, self.remaining(seed, limited=False))
        else:
            law = self.services[random_of(seed, LAWS).integers(len(self.services))]
            slots = np.full(len(age), ENDLESS)
            slots[~endless] = np.frombuffer(_remaining(law, age[~endless].tobytes(), uniform[~endless].tobytes()), np.int64)
        return np.where(endless, ENDLESS, np.minimum(slots, ENDLESS))


def stretches(services: Ints) -> tuple[Law, ...]:
    """Return laws of recorded services (n,), one for each stretch of STRETCH.

    Tasks of one period last similarly long. Draws from one stretch vary together in the same way.
    """
    step = max(STRETCH // 2, len(services) // MOST_STRETCHES)
    first = range(0, max(len(services) - STRETCH, 0) + 1, step)
    return tuple(Empirical(services[n : n + STRETCH]) for n in first)


@lru_cache(MOST_SEEDS)
def _remaining(law: Law, age: bytes, uniform: bytes) -> bytes:
    """Return `remaining`, cached for clusters with the same running pods."""
    return remaining(law, np.frombuffer(age), np.frombuffer(uniform)).tobytes()


def remaining(law: Law, age: Floats, uniform: Floats) -> Ints:
    """Return whole slots left, at least 1, of services of age `age`, (n,).

    X - age, given X > age, by the inverse distribution function at `uniform` (n,) in [0, 1). 1 slot is left beyond all services.
    """
    below = law.cdf(age)
    target = below + (1 - below) * uniform
    low, high = age.copy(), np.maximum(2 * age, 1.0)
    while (short := (law.cdf(high) < target) & (high < ENDLESS)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = law.cdf(middle) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    last = np.ceil(np.round(high - age, 6))  # a whole number of slots, if the law has only whole ones
    return np.where(below < 1, np.clip(last, 1, ENDLESS), 1).astype(np.int64)
