"""Fair sharing (PAPERS §2): whoever has the least share starts the first task that fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from tests.reference.model import Running, Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task, Vector


def owner(task: Task) -> int:
    """Whose share a task counts for."""
    if task.tenant is not None:
        return task.tenant
    return task.row if task.job is None else task.job


def owners(world: World) -> list[int]:
    """By first row: the order of ties."""
    return list(dict.fromkeys(owner(task) for task in world.tasks))


def in_service(world: World, who: int) -> list[Task]:
    rows = [job.row for server in world.servers for job in server.running if job.row is not None]
    return [world.tasks[row] for row in rows if owner(world.tasks[row]) == who]


def dominant_share(world: World, who: int, checked: int | None = None) -> float:
    """The most, over resources, of what is in service of the whole cluster."""
    tasks = in_service(world, who)
    used = [sum(task.demand[r] for task in tasks) for r in range(world.resources)]
    total = [sum(server.capacity[r] for server in world.servers) for r in range(world.resources)]
    return max([u / t for u, t in list(zip(used, total, strict=True))[:checked] if t > 0], default=0.0)


def least_served(world: World, share: Callable[[int], float]) -> list[int]:
    """The owners of waiting tasks, least share first, then by first row."""
    waiting = {owner(task) for task in world.waiting}
    return sorted((who for who in owners(world) if who in waiting), key=share)


def first_rows(world: World, who: int) -> list[Task]:
    """An owner's waiting tasks in the order in which they are offered: groups of like tasks by their first row ever."""
    first: dict[tuple[object, ...], int] = {}
    for task in world.tasks:
        first.setdefault(alike(task), task.row)
    return sorted((task for task in world.waiting if owner(task) == who), key=lambda task: (first[alike(task)], task.row))


def alike(task: Task) -> tuple[object, ...]:
    job = task.row if task.job is None else task.job
    return job, task.phase, task.demand, believed(task), frozenset(task.home)


def believed(task: Task) -> int:
    """Slots that a scheduler expects."""
    return task.service if task.estimate is None else max(1, round(task.estimate))


class Fair(Policy):
    """`checked`: look at the first so many resources only (0: all). What tasks demand of the others they share."""

    def __init__(self, *, checked: int = 0) -> None:
        super().__init__()
        self.checked = checked or None
        self.left: dict[int, Fraction] = {}  # row in service -> slots that it still needs at full speed

    def share(self, world: World, who: int) -> float:
        raise NotImplementedError

    def has_room(self, world: World, task: Task, server: Server) -> bool:
        return server.fits(task.demand, self.checked)

    def schedule(self, world: World) -> None:
        super().schedule(world)
        if self.checked is not None:
            for server in world.servers:
                self.serve_one_slot(world, server)

    def place(self, world: World) -> None:
        while self.start_one(world):
            pass

    def start_one(self, world: World) -> bool:
        for who in least_served(world, lambda who: self.share(world, who)):
            for task in first_rows(world, who):
                for server in world.servers:
                    if self.has_room(world, task, server):
                        world.start(task, server, checked=self.checked)
                        return True
        return False

    def serve_one_slot(self, world: World, server: Server) -> None:
        """Every task gets on at its speed in this slot; one that has all it needs is gone in the next."""
        speeds = {job.row: self.speed(world, server, job) for job in server.running if job.row is not None}
        for n, job in enumerate(server.running):
            if job.row is not None:
                self.left[job.row] = self.left.get(job.row, Fraction(job.leaves - world.slot)) - speeds[job.row]
                server.running[n] = replace(job, leaves=world.slot + (1 if self.left[job.row] <= 0 else 2))

    def speed(self, world: World, server: Server, job: Running) -> Fraction:
        """The least share of its demands that a task gets of what is not checked."""
        speed = Fraction(1)
        for r in range(self.checked or world.resources, world.resources):
            if server.capacity[r] > 0 and job.demand[r] > 0:
                kept = sum(other.demand[r] for other in server.running if other.row is None)
                demands = [other.demand[r] for other in server.running if other.row is not None]
                speed = min(speed, max_min(demands, server.capacity[r] - kept, job.demand[r]) / job.demand[r])
        return speed


def max_min(demands: list[int], capacity: int, demand: int) -> Fraction:
    """What one of the demands gets: smaller ones first, each gets an equal part of what is left or, if that is less, what
    it demands."""
    left = Fraction(capacity)
    for n, each in enumerate(sorted(demands)):
        got = min(Fraction(each), left / (len(demands) - n))
        if each == demand:
            return got
        left -= got
    raise AssertionError("not among the demands")


class DRF(Fair):
    def share(self, world: World, who: int) -> float:
        return dominant_share(world, who, self.checked)


class TaskFair(Fair):
    def share(self, world: World, who: int) -> float:
        return len(in_service(world, who))


class SlotFair(Fair):
    """Every server is cut into slots of one size; a task holds whole slots, and so many that each resource is covered."""

    def __init__(self, *, slots: int = 16, checked: int = 2) -> None:
        super().__init__(checked=checked)
        self.slots, self.sized = slots, checked

    def begin(self, world: World) -> None:
        self.checked = min(self.sized, world.resources)
        self.slot = [Fraction(world.scale.largest[r], self.slots) for r in range(self.checked)]
        if any(self.takes(task.demand) > max(self.slots_of(server) for server in world.servers) for task in world.tasks):
            raise ValueError("a task takes more slots than any server has")
        initial = [job for server in world.servers for job in server.running]
        if any(world.scale.size(job.demand) > max(world.scale.largest) // self.slots for job in initial):
            raise ValueError("a job in service before slot 0 is larger than a slot")

    def slots_of(self, server: Server) -> int:
        """As many as fit in the server."""
        return min([server.capacity[r] // size for r, size in enumerate(self.slot) if size > 0], default=self.slots)

    def takes(self, demand: Vector) -> int:
        n = 1
        while any(n * size < demand[r] for r, size in enumerate(self.slot)):
            n += 1
        return n

    def has_room(self, world: World, task: Task, server: Server) -> bool:
        held = sum(1 if job.row is None else self.takes(job.demand) for job in server.running)
        return held + self.takes(task.demand) <= self.slots_of(server)

    def share(self, world: World, who: int) -> float:
        return sum(self.takes(task.demand) for task in in_service(world, who))
