"""MSR and K-discretised MaxWeight for several resources (PAPERS §6), slot by slot, for boxes and candidates that are given.

A job is of the last box, in descending order of volume, that holds its demand. One that starts as entitled takes its whole
box, as does a backfilled one whose type is in the configuration; other backfilled jobs take their demands.
"""

from __future__ import annotations

from typing import Any

from tests.reference import throughput_optimal
from tests.reference.max_weight import Counts
from tests.reference.model import Running, Server, World
from tests.reference.table import Task, Vector


def inside(demand: Vector, room: Vector) -> bool:
    return all(d <= r for d, r in zip(demand, room, strict=True))


def plus(*vectors: Vector) -> Vector:
    return tuple(map(sum, zip(*vectors, strict=True)))


def minus(vector: Vector, other: Vector) -> Vector:
    return tuple(a - b for a, b in zip(vector, other, strict=True))


class Boxed(throughput_optimal.Entitling):
    """What differs from scalar sizes. `types`: boxes and the least demands of each."""

    def begin(self, world: World) -> None:
        super().begin(world)
        self.taken: dict[int, Vector] = {}  # row -> what it takes, if that is not its demand

    def type_of(self, world: World, job: Task | Running) -> int | None:
        return max((j for j, box in enumerate(self.types.sizes) if inside(job.demand, box)), default=None)

    def capacity(self, world: World, server: Server) -> Any:
        return server.capacity

    def room(self, world: World, server: Server) -> Any:
        taken = [self.taken.get(-1 if job.row is None else job.row, job.demand) for job in server.running]
        return minus(server.capacity, plus(*taken)) if taken else server.capacity

    def has_room(self, world: World, server: Server) -> bool:
        """For the box of some waiting job."""
        waiting = [j for j in range(len(self.types.sizes)) if self.queue(world, server, j)]
        return any(inside(self.types.sizes[j], self.room(world, server)) for j in waiting)

    def queue(self, world: World, server: Server, j: int) -> list[Task]:
        if not inside(self.types.sizes[j], server.capacity):
            return []
        return [task for task in world.waiting if self.type_of(world, task) == j]

    def serve(self, world: World, server: Server) -> None:
        while True:
            fitting = [j for j in self.missing(world, server) if inside(self.types.sizes[j], self.room(world, server))]
            if not fitting:
                break
            j = max(fitting, key=lambda j: (len(self.queue(world, server, j)), -j))
            self.start(world, self.queue(world, server, j)[0], server, self.types.sizes[j])

    def start(self, world: World, task: Task, server: Server, takes: Vector) -> None:
        assert inside(takes, self.room(world, server))
        world.start(task, server)
        self.taken[task.row] = takes

    def fill_idle(self, world: World) -> None:
        for server in world.servers:
            while True:
                limit = self.spare(world, server)
                fitting = [task for task in world.waiting if inside(self.occupied(world, server, task), limit)]
                if not fitting:
                    break
                task = min(fitting, key=lambda t: (-self.score(world, t, server), -world.size(t), t.row))
                self.start(world, task, server, self.occupied(world, server, task))

    def score(self, world: World, task: Task, server: Server) -> float:
        """As best fit's, but what is taken counts as occupied."""
        occupied = minus(server.capacity, self.room(world, server))
        total = 0.0
        for d, taken, capacity in zip(task.demand, occupied, server.capacity, strict=True):
            if capacity > 0:
                total += (d / capacity) * (taken / capacity)
        return total

    def occupied(self, world: World, server: Server, task: Task) -> Any:
        """What a backfilled job takes."""
        j, active = self.type_of(world, task), self.active[server.index]
        return self.types.sizes[j] if j is not None and active and active[j] > 0 else task.demand

    def spare(self, world: World, server: Server) -> Any:
        """The largest demands that may be backfilled: when the first job that can make room for the smallest claim leaves,
        there must be that room."""
        room, missing = self.room(world, server), self.missing(world, server)
        if not missing:
            return room
        for least in self.beyond(world, server):
            left = minus(plus(room, least), self.types.sizes[missing[-1]])
            if min(left) >= 0:
                return tuple(map(min, room, left))
        return tuple(-1 for _ in room)

    def beyond(self, world: World, server: Server) -> list[Any]:
        """For each type that the server can hold, with more in service than entitled: the least demands of the type."""
        found = []
        for j, box in enumerate(self.types.sizes):
            active = self.active[server.index]
            if inside(box, server.capacity) and self.in_service(world, server, j) > (active[j] if active else 0):
                found.append(self.types.least[j])
        return found


class BoxedKMaxWeight(Boxed, throughput_optimal.KMaxWeight):
    """`choices`: by capacity, the configurations to choose from, in descending lexicographic order."""

    def __init__(self, types: throughput_optimal.Types, choices: dict[Vector, list[Counts]], **options: Any) -> None:
        super().__init__(types, **options)
        self.choices = choices

    def configurations_of(self, world: World) -> dict[Any, list[Counts]]:
        return {server.capacity: self.choices[server.capacity] for server in world.servers}


class BoxedMSR(Boxed, throughput_optimal.MSR):
    """The same for the round of MSR."""
