"""Fair sharing (PAPERS §2): whoever has the least share starts the first task that fits."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.model import Server, Task, World
from tests.reference.stalling import Policy


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
    """`checked`: look at the first so many resources only (0: all); over-allocated ones slow the new task down."""

    def __init__(self, *, checked: int = 0) -> None:
        super().__init__()
        self.checked = checked or None

    def share(self, world: World, who: int) -> float:
        raise NotImplementedError

    def place(self, world: World) -> None:
        while self.start_one(world):
            pass

    def start_one(self, world: World) -> bool:
        for who in least_served(world, lambda who: self.share(world, who)):
            for task in first_rows(world, who):
                for server in world.servers:
                    if server.fits(task.demand, self.checked):
                        extra = self.slow_down(world, task, server)
                        world.start(task, server, extra=extra, checked=self.checked)
                        return True
        return False

    def slow_down(self, world: World, task: Task, server: Server) -> int:
        """A resource allocated x > 1 times its capacity makes the task take x times as long."""
        extra = 0
        for r in range(world.resources if self.checked is None else self.checked, world.resources):
            allocated, capacity = server.occupied[r] + task.demand[r], server.capacity[r]
            if capacity > 0:
                extra = max(extra, -(-task.service * allocated // capacity) - task.service)
        return extra


class DRF(Fair):
    def share(self, world: World, who: int) -> float:
        return dominant_share(world, who, self.checked)


class SlotFair(Fair):
    def share(self, world: World, who: int) -> float:
        return len(in_service(world, who))
