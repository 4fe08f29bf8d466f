"""The search for workloads on which a policy supports as little of ρ* as possible.

Candidates come from a linear program (servers that lock in a wasteful configuration) and at random; a climb changes
sizes, mix, servers and service to lower the throughput under overload; the best are judged. What it finds is an upper
bound on the policy's guarantee: no more than that can be proved for all workloads.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.simulation import simulate
from packenv.theory.instances import Instance, worst_lock
from packenv.theory.judge import Judgment, Runner, judge
from packenv.workloads.law import Law
from packenv.workloads.workload import Workload

OVERLOAD = 1.05
TASKS = 30_000  # arrivals in a run that scores a candidate
SMALLEST = 10  # servers hold at most so many jobs of the smallest size
FINEST = 120  # units of capacity
POOL = 12  # candidates that are climbed from
JUDGED = 3
TYPES = 2, 5

Progress = Callable[[str], None]


class Found(NamedTuple):
    """A workload and what the policy supports on it."""

    workload: Workload
    judgment: Judgment


class Scored(NamedTuple):
    """An instance with the share of ρ* that the policy served under overload."""

    share: float
    instance: Instance


def worst_case(
    policy: str | Any,
    services: Sequence[Law],
    seconds: float = 60.0,
    seed: int = 0,
    run: Runner | None = None,
    progress: Progress | None = None,
) -> list[Found]:
    """The worst workloads found in about `seconds` of search (judging them comes on top), the worst one first."""
    say = progress or (lambda what: None)
    search = Search(policy, services, random.Random(seed))
    began = time.monotonic()
    while time.monotonic() < began + seconds / 3 or not search.pool:
        search.add(search.candidate())
        say(f"candidates: {search.tried} tried, the lowest throughput {search.pool[0].share if search.pool else 1:.3f} of ρ*")
    while time.monotonic() < began + seconds:
        search.climb()
        say(f"climbing: {search.tried} tried, the lowest throughput {search.pool[0].share:.3f} of ρ*")
    found = []
    for n, (share, instance) in enumerate(search.pool[:JUDGED]):
        say(f"judging candidate {n + 1} of {min(JUDGED, len(search.pool))}, which served {share:.3f} of ρ* under overload")
        workload = instance.workload(1.0, f"worst-{n + 1}")
        found.append(Found(workload, judge(workload, policy, run=run)))
    return sorted(found, key=lambda one: (one.judgment.high, one.judgment.low))


class Search:
    """The best candidates so far."""

    def __init__(self, policy: str | Any, services: Sequence[Law], chance: random.Random) -> None:
        self.policy, self.services, self.chance = policy, services, chance
        self.pool: list[Scored] = []
        self.tried = 0

    def candidate(self) -> Instance:
        """Sizes at random; half of the time in the mix that starves locked servers, if they have one."""
        chance = self.chance
        while True:
            capacity = chance.randint(8, FINEST)
            least = max(1, -(-capacity // SMALLEST))
            count = min(chance.randint(*TYPES), capacity - least)
            sizes = tuple(sorted(chance.sample(range(least, capacity), count), reverse=True))
            service = chance.choice(list(self.services))
            if chance.random() < 0.5:
                weights = tuple(chance.randint(1, 6) for _ in sizes)
                return Instance(sizes, capacity, weights, chance.randint(1, 3), service)
            lock = worst_lock(sizes, capacity, service)
            if lock is not None and lock[0] < 0.95:
                return lock[1]

    def climb(self) -> None:
        """Change a good candidate a little; the pool keeps the better ones."""
        chosen = self.pool[min(len(self.pool) - 1, int(self.chance.expovariate(0.5)))].instance
        self.add(self.changed(chosen))

    def changed(self, instance: Instance) -> Instance:
        chance = self.chance
        i = chance.randrange(len(instance.sizes))
        what = chance.random()
        if what < 0.4:
            sizes = list(instance.sizes)
            sizes[i] += chance.choice((-2, -1, 1, 2))
            return replace(instance, sizes=tuple(sizes))
        if what < 0.75:
            weights = list(instance.weights)
            weights[i] = max(1, weights[i] + chance.choice((-1, 1)))
            return replace(instance, weights=tuple(weights))
        if what < 0.85 and instance.capacity <= FINEST // 2:
            return replace(instance, sizes=tuple(2 * size for size in instance.sizes), capacity=2 * instance.capacity)
        if what < 0.95:
            return replace(instance, servers=max(1, instance.servers + chance.choice((-1, 1))))
        return replace(instance, service=chance.choice(list(self.services)))

    def add(self, instance: Instance) -> None:
        """Score an instance, and keep it if it is among the best."""
        least = -(-instance.capacity // SMALLEST)
        falling = all(a > b for a, b in zip(instance.sizes, instance.sizes[1:], strict=False))
        known = any(instance == other.instance for other in self.pool)
        if known or not falling or instance.sizes[-1] < least or instance.sizes[0] > instance.capacity:
            return
        try:
            workload = instance.workload(OVERLOAD)
        except InputError:  # too many configurations
            return
        self.tried += 1
        result = simulate(workload, self.policy, round(TASKS / workload.rate))
        self.pool.append(Scored(OVERLOAD * result.completed / result.arrived, instance))
        self.pool.sort(key=lambda one: one.share)
        del self.pool[POOL:]
