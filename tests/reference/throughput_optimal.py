"""MSR and K-discretised MaxWeight (PAPERS §6), slot by slot, for types and candidates that are given.

A change preempts nothing. A job of type j starts where fewer than k_j of its type are in service and the size of the type
fits beside what the jobs there occupy, the longest queue first. Backfilled jobs occupy the size of their type if k_j > 0, else
their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packenv.workloads.sampling import mix, uniform, word_at
from tests.reference.max_weight import Counts, maximal, weight
from tests.reference.model import Running, Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task


@dataclass
class Types:
    """Descending sizes that jobs of each type occupy, and the smallest size of each; vectors for several resources."""

    sizes: list[Any]
    least: list[Any]


@dataclass
class Rounds:
    """MSR: (configuration, share of the time) in cyclic order by capacity of the server, and where each server begins."""

    cycles: dict[Any, list[tuple[Counts, float]]]
    first: list[int]
    cycle: float
    rate: float
    seed: int = 0
    draws: int = field(default=0, init=False)


class Entitling(Policy):
    """What both do once every server has its active configuration."""

    patience = 100_000

    def __init__(self, types: Types, *, backfill: bool = False, few: int = 0) -> None:
        super().__init__()
        self.types, self.backfill, self.few = types, backfill, few

    def begin(self, world: World) -> None:
        self.active: list[Counts | None] = [None for _ in world.servers]

    def type_of(self, world: World, job: Task | Running) -> int | None:
        size = world.scale.size(job.demand)
        return max((j for j, rounded in enumerate(self.types.sizes) if size <= rounded), default=None)

    def capacity(self, world: World, server: Server) -> Any:
        return world.scale.capacity(server.capacity)

    def room(self, world: World, server: Server) -> Any:
        return self.capacity(world, server) - sum(job.counted for job in server.running)

    def has_room(self, world: World, server: Server) -> bool:
        """For some waiting job."""
        return min((world.size(task) for task in world.waiting), default=math.inf) <= self.room(world, server)

    def queue(self, world: World, server: Server, j: int) -> list[Task]:
        """Empty if the server is too small for the type."""
        if self.types.sizes[j] > self.capacity(world, server):
            return []
        return [task for task in world.waiting if self.type_of(world, task) == j]

    def lengths(self, world: World, server: Server) -> list[int]:
        return [len(self.queue(world, server, j)) for j in range(len(self.types.sizes))]

    def in_service(self, world: World, server: Server, j: int) -> int:
        return sum(self.type_of(world, job) == j for job in server.running)

    def missing(self, world: World, server: Server) -> list[int]:
        """Types of which entitled jobs wait."""
        counts = self.active[server.index] or ()
        here = [self.in_service(world, server, j) < k for j, k in enumerate(counts)]
        return [j for j, fewer in enumerate(here) if fewer and len(self.queue(world, server, j)) > self.few]

    def serve(self, world: World, server: Server) -> None:
        """The longest queue first; ties go to the larger type."""
        while True:
            fitting = [j for j in self.missing(world, server) if self.types.sizes[j] <= self.room(world, server)]
            if not fitting:
                break
            j = max(fitting, key=lambda j: (len(self.queue(world, server, j)), -j))
            world.start(self.queue(world, server, j)[0], server, self.types.sizes[j])

    def fill_idle(self, world: World) -> None:
        for server in world.servers:
            while True:
                limit = self.spare(world, server)
                fitting = [task for task in world.waiting if self.occupied(world, server, task) <= limit]
                if not fitting:
                    break
                task = min(fitting, key=lambda task: (-world.size(task), task.row))
                world.start(task, server, self.occupied(world, server, task))

    def occupied(self, world: World, server: Server, task: Task) -> Any:
        """What a backfilled job occupies."""
        j, active = self.type_of(world, task), self.active[server.index]
        return self.types.sizes[j] if j is not None and active and active[j] > 0 else world.size(task)

    def spare(self, world: World, server: Server) -> Any:
        """The largest size that may be backfilled: some job beyond the configuration must suffice for the smallest claim."""
        room, missing = self.room(world, server), self.missing(world, server)
        if not missing:
            return room
        return min(room, room + max(self.beyond(world, server), default=0) - self.types.sizes[missing[-1]])

    def beyond(self, world: World, server: Server) -> list[Any]:
        """For each type that the server has room for, with more in service than entitled: the smallest size of the type."""
        found = []
        for j, size in enumerate(self.types.sizes):
            active = self.active[server.index]
            if size <= self.capacity(world, server) and self.in_service(world, server, j) > (active[j] if active else 0):
                found.append(self.types.least[j])
        return found


class KMaxWeight(Entitling):
    def __init__(
        self, types: Types, *, refresh: str, slack: float = 10.0, every: int = 0, backfill: bool = False, few: int = 0
    ) -> None:
        super().__init__(types, backfill=backfill, few=few)
        self.refresh, self.slack, self.every = refresh, slack, every

    def begin(self, world: World) -> None:
        super().begin(world)
        self.chosen = [-self.every for _ in world.servers]
        self.configurations = self.configurations_of(world)

    def configurations_of(self, world: World) -> dict[Any, list[Counts]]:
        """The maximal ones, by capacity."""
        capacities = {self.capacity(world, server) for server in world.servers}
        return {capacity: maximal(self.types.sizes, capacity, 10**6) for capacity in capacities}

    def heaviest(self, world: World, server: Server) -> Counts:
        """The first of the largest weight, in descending lexicographic order."""
        lengths = self.lengths(world, server)
        return max(self.configurations[self.capacity(world, server)], key=lambda each: weight(each, lengths))

    def due(self, world: World, server: Server) -> bool:
        if server.empty:
            return True
        if self.refresh == "timer":
            return world.slot - self.chosen[server.index] >= self.every
        lengths = self.lengths(world, server)
        own, most = weight(self.active[server.index], lengths), weight(self.heaviest(world, server), lengths)
        return self.refresh == "weight" and own < most - self.slack * math.sqrt(most)

    def place(self, world: World) -> None:
        for server in world.servers:
            if not self.has_room(world, server):
                continue
            if self.due(world, server):
                self.active[server.index], self.chosen[server.index] = self.heaviest(world, server), world.slot
            self.serve(world, server)
        if self.backfill:
            self.fill_idle(world)


class MSR(Entitling):
    def __init__(self, types: Types, rounds: Rounds, *, backfill: bool = False, few: int = 0) -> None:
        super().__init__(types, backfill=backfill, few=few)
        self.rounds = rounds

    def begin(self, world: World) -> None:
        super().begin(world)
        self.key = np.uint64(mix(np.uint64(self.rounds.seed) + np.uint64(1)))
        self.at, self.until = list(self.rounds.first), [0 for _ in world.servers]
        for server in world.servers:
            self.enter(world, server, 0)

    def enter(self, world: World, server: Server, queue: int) -> None:
        """Take the configuration of the place in the round where the server is, for a geometric time."""
        self.active[server.index], share = self.rounds.cycles[self.capacity(world, server)][self.at[server.index]]
        mean = share * max(self.rounds.cycle, math.sqrt(self.rounds.cycle * queue / self.rounds.rate))
        chance = uniform(np.uint64(word_at(self.key, self.rounds.draws)))
        self.rounds.draws += 1
        slots = 1 + int(math.log(chance) / math.log1p(-1 / mean)) if mean > 1 else 1
        self.until[server.index] = world.slot + slots

    def place(self, world: World) -> None:
        for server in world.servers:
            if self.until[server.index] <= world.slot:
                self.at[server.index] += 1
                self.at[server.index] %= len(self.rounds.cycles[self.capacity(world, server)])
                self.enter(world, server, len(world.waiting))
        for server in world.servers:
            self.serve(world, server)
        if self.backfill:
            self.fill_idle(world)
