"""VQS and VQS-BF (PAPERS §1.5): one pass over the servers, each with its active configuration. Sizes are scalar."""

from __future__ import annotations

from tests.reference.model import Running, Server, World
from tests.reference.partition import Configuration, default_levels, heaviest, levels, reduced_configurations, type_of, weight
from tests.reference.stalling import Policy
from tests.reference.table import Task


class VQS(Policy):
    """Virtual queue scheduling with J levels; `adaptive` starts there and re-evaluates J (§1.3)."""

    def __init__(self, *, J: int = 2, adaptive: bool = False, first_check: int = 256, stall: bool = False) -> None:
        super().__init__(stall=stall)
        assert J >= 2
        self.J = J
        self.adaptive = adaptive
        self.next_check = first_check

    def begin(self, world: World) -> None:
        self.largest = max(world.scale.capacity(server.capacity) for server in world.servers)
        # None: in service since before slot 0 and not empty yet, so never renewed.
        self.active: list[Configuration | None] = [None for _ in world.servers]

    def place(self, world: World) -> None:
        if self.adaptive:
            self.re_evaluate(world)
        for server in world.servers:
            if server.empty:
                self.active[server.index] = heaviest(self.configurations(world, server), self.lengths(world, server))
            if server.index not in self.stalled:
                self.fill(world, server)

    def re_evaluate(self, world: World) -> None:
        """In the slot after the n-th arrival, from the first n sizes; J never shrinks."""
        arrived = [task for task in world.tasks if task.arrival < world.slot]
        crossed = 0
        while self.next_check <= len(arrived):
            crossed = self.next_check
            self.next_check *= 2
        if crossed:
            sizes = [world.size(task) for task in arrived[:crossed]]
            self.J = max(self.J, default_levels(sizes, self.largest))

    def fill(self, world: World, server: Server) -> None:
        configuration = self.active[server.index]
        if configuration is None:
            return
        capacity = self.capacity(world, server)
        room_of_other = capacity
        if configuration.get(1) == 1:
            room_of_other = capacity - (2 * capacity + 2) // 3  # two thirds, rounded up, are reserved for VQ_1
            queue = self.virtual_queue(world, server, 1)
            if queue and not self.in_service(world, server, 1) and world.size(queue[0]) <= self.room(world, server):
                world.start(queue[0], server)
        other = next(j for j in configuration if j != 1)
        for head in self.virtual_queue(world, server, other):
            taken = sum(job.counted for job in server.running if self.type_in(world, server, job) != 1)
            occupies = self.occupies(world, server, head)
            if taken + occupies > room_of_other:
                break
            world.start(head, server, occupies)

    def occupies(self, world: World, server: Server, task: Task) -> int:
        """A size <= 2^-J takes 2^-J of its server."""
        size, capacity, J = world.size(task), self.capacity(world, server), self.levels(world, server)
        return max(size, capacity // 2**J) if size * 2**J <= capacity else size

    def wasteful(self, world: World, server: Server) -> bool:
        lengths = self.lengths(world, server)
        most = max(weight(k, lengths) for k in self.configurations(world, server))
        return 2 * weight(self.active[server.index], lengths) < most

    # Each kind of server (by capacity) has its own partition, configurations and virtual queues.

    def capacity(self, world: World, server: Server) -> int:
        return world.scale.capacity(server.capacity)

    def room(self, world: World, server: Server) -> int:
        return self.capacity(world, server) - sum(job.counted for job in server.running)

    def levels(self, world: World, server: Server) -> int:
        return levels(self.J, self.capacity(world, server), self.largest)

    def configurations(self, world: World, server: Server) -> list[Configuration]:
        return reduced_configurations(self.levels(world, server))

    def type_in(self, world: World, server: Server, job: Task | Running) -> int | None:
        return type_of(world.scale.size(job.demand), self.capacity(world, server), self.levels(world, server))

    def virtual_queue(self, world: World, server: Server, j: int) -> list[Task]:
        """VQ_j as servers of this kind see it, in queue order."""
        return [task for task in world.waiting if self.type_in(world, server, task) == j]

    def lengths(self, world: World, server: Server) -> dict[int, int]:
        types = [self.type_in(world, server, task) for task in world.waiting]
        return {j: types.count(j) for j in types if j is not None}

    def in_service(self, world: World, server: Server, j: int) -> int:
        return sum(self.type_in(world, server, job) == j for job in server.running)


class VQSBF(VQS):
    """VQS-BF: largest that fits first, by real sizes, and BF-S from the whole queue at the end."""

    def fill(self, world: World, server: Server) -> None:
        configuration = self.active[server.index] or {}
        if configuration.get(1) == 1 and not self.in_service(world, server, 1):
            self.start_largest(world, server, self.virtual_queue(world, server, 1))
        for j, k in configuration.items():
            if j != 1:
                while self.in_service(world, server, j) < k:
                    if not self.start_largest(world, server, self.virtual_queue(world, server, j)):
                        break
        while self.start_largest(world, server, world.waiting):
            pass

    def start_largest(self, world: World, server: Server, queue: list[Task]) -> bool:
        """Start the largest job of the queue that fits, if there is one."""
        fitting = [task for task in queue if world.size(task) <= self.room(world, server)]
        if not fitting:
            return False
        world.start(min(fitting, key=lambda task: (-world.size(task), task.row)), server)
        return True
