"""The policies of Zhang and Yao (PAPERS §3), as they say them: every score is worked out anew for every choice."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.fair import alike, believed
from tests.reference.model import SchedulingPolicy, Server, World
from tests.reference.table import Task, Vector

Merits = dict[tuple[int, int], float]  # by row and server


class ByMerit:
    """The ready phase with the most merit on any server, to the server where it has most of those with room.

    Ties, up to 10⁻⁹ of the largest merit: earlier job, earlier phase, earlier row; lower server. Like tasks of a phase start
    in row order.
    """

    def __init__(self, *, blocking: bool = False) -> None:
        self.blocking = blocking

    def begin(self, world: World) -> None:
        names = [self.name(task) for task in world.tasks]
        self.number = {name: n for n, name in enumerate(dict.fromkeys(names))}
        self.members = {name: [task for task in world.tasks if self.name(task) == name] for name in self.number}

    def name(self, task: Task) -> int:
        return task.row if task.job is None else task.job

    def value(self, task: Task) -> float:
        """That of the job: Zhang and Yao give a task, which is a job here, one value u_a, and its phases none."""
        values = {member.value for member in self.members[self.name(task)]}
        if len(values) > 1:
            raise ValueError("a job of several values")
        value = values.pop()
        return 1.0 if value is None else value

    def merit(self, world: World, task: Task, server: Server) -> float:
        raise NotImplementedError

    def chosen(self, world: World, task: Task) -> None:
        """Hear of a phase that is about to start."""

    def schedule(self, world: World) -> None:
        while True:
            pair = self.choice(world)
            if pair is None:
                return
            self.chosen(world, pair[0])
            world.start(*pair)

    def choice(self, world: World) -> tuple[Task, Server] | None:
        ready = {task.row: task for task in self.heads(world)}
        merits = {(row, s.index): self.merit(world, task, s) for row, task in ready.items() for s in world.servers}
        room = {(row, s) for row, s in merits if world.servers[s].fits(ready[row].demand)}
        fit_empty = {(row, s) for row, s in merits if inside(ready[row].demand, world.servers[s].capacity)}
        best = top({pair: merits[pair] for pair in (fit_empty if self.blocking else room)})
        if not best:
            return None
        row = min((row for row, _ in best), key=lambda row: (self.number[self.name(ready[row])], ready[row].phase, row))
        servers = top({pair: merits[pair] for pair in room if pair[0] == row})
        return (ready[row], world.servers[min(s for _, s in servers)]) if servers else None

    def heads(self, world: World) -> list[Task]:
        first: dict[tuple[object, ...], Task] = {}
        for task in sorted(world.waiting, key=lambda task: task.row):
            first.setdefault(alike(task), task)
        return list(first.values())


def inside(demand: Vector, capacity: Vector) -> bool:
    return all(d <= c for d, c in zip(demand, capacity, strict=True))


def top(merits: Merits) -> list[tuple[int, int]]:
    """Those that are the largest, or as good as that."""
    if not merits:
        return []
    near = max(merits.values()) - 1e-9 * max(map(abs, merits.values()))
    return [pair for pair, merit in merits.items() if merit >= near]


class Fifo(ByMerit):
    def __init__(self, *, blocking: bool = True) -> None:
        super().__init__(blocking=blocking)

    def merit(self, world: World, task: Task, server: Server) -> float:
        return 0.0


class Priority(ByMerit):
    def merit(self, world: World, task: Task, server: Server) -> float:
        if task.value is None:
            raise ValueError("no values")
        return self.value(task)


class Capacity(ByMerit):
    def merit(self, world: World, task: Task, server: Server) -> float:
        return -sum(d / c for d, c in zip(task.demand, world.scale.largest, strict=True) if c > 0)


class Price(ByMerit):
    """Eq. 15-18."""

    def __init__(self, *, welfare: float = 0.1, c: float = 4.0, gamma: float = 0.0, blocking: bool = False) -> None:
        super().__init__(blocking=blocking)
        self.rate, self.c, self.gamma = welfare, c, gamma
        self.welfare: dict[int, float] = {}  # by row

    def phase_value(self, task: Task) -> float:
        return self.value(task) / len(self.members[self.name(task)])

    def unstarted(self, world: World) -> list[Task]:
        """S: the phases that have not started, of the jobs that have arrived."""
        here = {name for name, tasks in self.members.items() if min(task.arrival for task in tasks) <= world.slot}
        return [task for task in world.tasks if self.name(task) in here and task.row not in world.outcome.start]

    def merit(self, world: World, task: Task, server: Server) -> float:
        S = self.unstarted(world)
        waste = 0.0
        for r, k in enumerate(server.capacity):
            demanded = sum(self.phase_value(other) for other in S if other.demand[r] > 0)
            for t in range(world.slot, world.slot + believed(task)):
                discount = self.c * len(S) * (1 + self.gamma) ** (t - world.slot)
                if k > 0:
                    waste += demanded / (discount * k) * (k - task.demand[r])
        return self.phase_value(task) - waste + self.welfare.get(task.row, 0.0)

    def chosen(self, world: World, task: Task) -> None:
        for other in world.waiting:
            if other is not task:
                paid = self.rate * self.phase_value(task) / len(self.members)
                self.welfare[other.row] = self.welfare.get(other.row, 0.0) + paid


JOB_POLICIES: dict[str, Callable[..., SchedulingPolicy]] = {
    "price": Price,
    "priority": Priority,
    "capacity": Capacity,
    "fifo": Fifo,
}
