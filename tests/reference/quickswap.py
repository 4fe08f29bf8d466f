"""Quickswap (PAPERS §6), as its words say: working phase, draining phase, next type.

It looks at the cluster only in slots with a completion or an arrival.
"""

from __future__ import annotations

from tests.reference.max_weight import cells
from tests.reference.model import Server, World
from tests.reference.table import Task


class Quickswap:
    def __init__(self, *, threshold: int = -1, types: int = 16) -> None:
        self.threshold, self.types = threshold, types

    def begin(self, world: World) -> None:
        self.rounded = cells([world.size(task) for task in world.tasks], self.types)
        self.serves = [0 for _ in world.servers]
        self.draining: set[int] = set()

    def schedule(self, world: World) -> None:
        if not (world.vacated or world.newcomers):
            return
        for server in world.servers:
            if world.waiting:
                self.serve(world, server)

    def serve(self, world: World, server: Server) -> None:
        others = self.others(world, server)
        if server.index not in self.draining or not others:  # or nobody waits for the change any more
            self.work(world, server)
        if server.index in self.draining and server.empty:
            self.serves[server.index] = others[0]
            self.work(world, server)

    def others(self, world: World, server: Server) -> list[int]:
        """The other types of which jobs wait, the next one first."""
        return [j for j in self.in_turn(server) if self.queue(world, server, j)]

    def work(self, world: World, server: Server) -> None:
        """The working phase in one slot: start what there is; with few in service then, and others waiting, it is over."""
        own = self.serves[server.index]
        self.draining.discard(server.index)
        for task in self.queue(world, server, own):
            if len(server.running) >= self.most(world, server, own) or not self.fits(world, task, server):
                break
            world.start(task, server)
        if len(server.running) <= self.left(world, server) and self.others(world, server):
            self.draining.add(server.index)

    def fits(self, world: World, task: Task, server: Server) -> bool:
        occupied = sum(job.counted for job in server.running)
        return occupied + world.size(task) <= world.scale.capacity(server.capacity)

    def left(self, world: World, server: Server) -> int:
        """So many jobs in service, or fewer, are not worth going on for."""
        full = self.most(world, server, self.serves[server.index])
        return max(0, full - 1 if self.threshold == -1 else min(self.threshold, full - 1))

    def most(self, world: World, server: Server, j: int) -> int:
        return world.scale.capacity(server.capacity) // self.rounded[j]

    def in_turn(self, server: Server) -> list[int]:
        """The other types, in the order in which they come after the server's."""
        own, count = self.serves[server.index], len(self.rounded)
        return [*range(own + 1, count), *range(own)]

    def queue(self, world: World, server: Server, j: int) -> list[Task]:
        if self.rounded[j] > world.scale.capacity(server.capacity):
            return []
        lower = self.rounded[j + 1] if j + 1 < len(self.rounded) else 0
        return [task for task in world.waiting if lower < world.size(task) <= self.rounded[j]]
