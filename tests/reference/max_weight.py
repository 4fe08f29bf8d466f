"""MaxWeight (PAPERS §1.5): VQS's renewal over all maximal configurations, with every job at its rounded size."""

from __future__ import annotations

from tests.reference.model import Running, Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task

Counts = tuple[int, ...]  # jobs of each type, the largest type first


class TooMany(ValueError):
    """More configurations than allowed."""


def all_that_fit(sizes: list[int], capacity: int) -> list[Counts]:
    """Every feasible configuration, the empty one too, in descending lexicographic order."""
    if not sizes:
        return [()]
    most = capacity // sizes[0]
    return [(k, *rest) for k in range(most, -1, -1) for rest in all_that_fit(sizes[1:], capacity - k * sizes[0])]


def maximal(sizes: list[int], capacity: int, limit: int) -> list[Counts]:
    """Those that leave no room for one more job of any type. `sizes` descend, so the smallest type ends each of them."""
    if number_of_beginnings(sizes[:-1], capacity, limit) > limit:
        raise TooMany(f"more than {limit} configurations")
    found = []
    for beginning in all_that_fit(sizes[:-1], capacity):
        left = capacity - sum(k * size for k, size in zip(beginning, sizes, strict=False))
        found.append((*beginning, left // sizes[-1]))
    return found


def number_of_beginnings(sizes: list[int], capacity: int, limit: int) -> int:
    """How many configurations fit; it stops counting above the limit."""
    if not sizes:
        return 1
    total = 0
    for k in range(capacity // sizes[0] + 1):
        total += number_of_beginnings(sizes[1:], capacity - k * sizes[0], limit - total)
        if total > limit:
            break
    return total


def partition(capacity: int, J: int) -> list[int]:
    """The suprema of the intervals I of this capacity, in units: 1, 2/3, 1/2, 1/3, …"""
    return [part for m in range(J) for part in (capacity // 2**m, 2 * capacity // (3 * 2**m))]


def cells(sizes: list[int], most: int) -> list[int]:
    """All distinct sizes if there are at most `most`, else those at which that many equal shares of the rows end."""
    distinct = sorted(set(sizes), reverse=True)
    if len(distinct) <= most:
        return distinct
    rows = sorted(sizes)
    ends = {next(size for k, size in enumerate(rows, 1) if k * most >= n * len(rows)) for n in range(1, most + 1)}
    return sorted(ends, reverse=True)


def weight(configuration: Counts | None, lengths: list[int]) -> int:
    """<k, Q>; a server that has no configuration yet weighs nothing."""
    return sum(k * n for k, n in zip(configuration, lengths, strict=True)) if configuration else 0


class MaxWeight(Policy):
    """`types`: at most so many, from the sizes of the table; `J`: the partition I of the largest server instead."""

    def __init__(self, *, types: int = 0, J: int = 0, limit: int = 50_000, stall: bool = False) -> None:
        super().__init__(stall=stall)
        assert bool(types) != bool(J)
        self.types, self.J, self.limit = types, J, limit

    def begin(self, world: World) -> None:
        capacities = [world.scale.capacity(server.capacity) for server in world.servers]
        sizes = [world.size(task) for task in world.tasks]
        self.rounded = partition(max(capacities), self.J) if self.J else cells(sizes, self.types)
        known: dict[int, list[Counts]] = {}
        for capacity in capacities:
            left = self.limit - sum(map(len, known.values()))
            if capacity not in known:
                known[capacity] = self.configurations_in(capacity, left)
        self.configurations = [known[capacity] for capacity in capacities]
        self.active: list[Counts | None] = [None for _ in world.servers]

    def configurations_in(self, capacity: int, limit: int) -> list[Counts]:
        return maximal(self.rounded, capacity, limit)

    def type_of(self, world: World, job: Task | Running) -> int | None:
        """The smallest rounded size that is large enough. Only a job from before slot 0 can be above all of them."""
        size = world.scale.size(job.demand)
        return max((j for j, rounded in enumerate(self.rounded) if size <= rounded), default=None)

    def queue(self, world: World, server: Server, j: int) -> list[Task]:
        """VQ_j as this server sees it: empty if it is too small for the type."""
        if self.rounded[j] > world.scale.capacity(server.capacity):
            return []
        return [task for task in world.waiting if self.type_of(world, task) == j]

    def lengths(self, world: World, server: Server) -> list[int]:
        """Q of this server's virtual queues."""
        types = [self.type_of(world, task) for task in world.waiting]
        room = world.scale.capacity(server.capacity)
        return [types.count(j) if rounded <= room else 0 for j, rounded in enumerate(self.rounded)]

    def heaviest(self, world: World, server: Server) -> Counts:
        """The first of the largest weight."""
        lengths = self.lengths(world, server)
        return max(self.configurations[server.index], key=lambda each: weight(each, lengths))

    def place(self, world: World) -> None:
        for server in world.servers:
            if server.empty:
                self.active[server.index] = self.heaviest(world, server)
            if server.index not in self.stalled:
                self.fill(world, server)

    def fill(self, world: World, server: Server) -> None:
        for j, k in enumerate(self.active[server.index] or ()):
            while self.in_service(world, server, j) < k and self.queue(world, server, j):
                counted = sum(job.counted for job in server.running) + self.rounded[j]
                assert counted <= world.scale.capacity(server.capacity), "a configuration does not fit"
                world.start(self.queue(world, server, j)[0], server, self.rounded[j])

    def in_service(self, world: World, server: Server, j: int) -> int:
        return sum(self.type_of(world, job) == j for job in server.running)

    def wasteful(self, world: World, server: Server) -> bool:
        lengths = self.lengths(world, server)
        return 2 * weight(self.active[server.index], lengths) < weight(self.heaviest(world, server), lengths)
