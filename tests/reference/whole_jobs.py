"""Rules for DAGs of tasks (Decima, §7.1), as they are said: paths and work below are found by walking, anew for every choice."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.fair import alike, believed
from tests.reference.job_policies import ByMerit
from tests.reference.model import SchedulingPolicy, Server, World
from tests.reference.table import Task, before
from tests.reference.tetris import PER_SLOT, Tetris, job_of

Name = tuple[str, int]


def waiting_for(task: Task, tasks: list[Task]) -> list[Task]:
    """Those that cannot start before this one has completed, as they name it or are of a later phase."""
    return [other for other in tasks if task.row in before(other, tasks)]


class Dag:
    """What is below each task."""

    def __init__(self, tasks: list[Task]) -> None:
        self.children = {task.row: waiting_for(task, tasks) for task in tasks}
        self.tasks = tasks
        self.paths: dict[int, int] = {}

    def path(self, task: Task) -> int:
        if task.row not in self.paths:
            self.paths[task.row] = believed(task) + max((self.path(child) for child in self.children[task.row]), default=0)
        return self.paths[task.row]

    def below(self, task: Task) -> set[int]:
        """The task and all that wait for it."""
        found, todo = {task.row}, [task]
        while todo:
            for child in self.children[todo.pop().row]:
                if child.row not in found:
                    found.add(child.row)
                    todo.append(child)
        return found


class FirstByPath(ByMerit):
    def begin(self, world: World) -> None:
        super().begin(world)
        self.dag = Dag(world.tasks)

    def heads(self, world: World) -> list[Task]:
        return list(world.waiting)

    def merit(self, world: World, task: Task, server: Server) -> float:
        return float(self.dag.path(task))


class FirstByWork(FirstByPath):
    def merit(self, world: World, task: Task, server: Server) -> float:
        below = [world.tasks[row] for row in self.dag.below(task)]
        return float(sum(Tetris().rate(world, one) * believed(one) for one in below))


class JobByJob:
    """The job that comes first, then its task that comes first, of those that fit somewhere; to the first server."""

    def begin(self, world: World) -> None:
        self.dag = Dag(world.tasks)
        self.number = {name: n for n, name in enumerate(dict.fromkeys(job_of(task) for task in world.tasks))}
        self.leaves: dict[int, int] = {}

    def job_key(self, world: World, job: Name) -> float:
        """The least goes first."""
        raise NotImplementedError

    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        """The least goes first."""
        raise NotImplementedError

    def schedule(self, world: World) -> None:
        while fitting := [task for task in world.waiting if any(server.fits(task.demand) for server in world.servers)]:
            keys = {job: self.job_key(world, job) for job in {job_of(task) for task in fitting}}
            near = min(keys.values()) + 1e-9 * max(map(abs, keys.values()))
            job = min((job for job, key in keys.items() if key <= near), key=lambda job: self.number[job])
            mine = [task for task in fitting if job_of(task) == job]
            task = min(mine, key=lambda task: (*self.task_key(world, task), task.phase, task.row))
            server = next(server for server in world.servers if server.fits(task.demand))
            self.leaves[task.row] = world.slot + believed(task) + world.remote_slots(task, server)
            world.start(task, server)

    def work(self, world: World, job: Name, slots: Callable[[Task], int]) -> int:
        members = [task for task in world.tasks if job_of(task) == job and task.row not in world.completed]
        return sum(Tetris().rate(world, task) * slots(task) for task in members)

    def slots_left(self, world: World, task: Task) -> int:
        return max(self.leaves[task.row] - world.slot, 0) if task.row in self.leaves else believed(task)

    def total(self, world: World, job: Name) -> int:
        return sum(Tetris().rate(world, task) * believed(task) for task in world.tasks if job_of(task) == job)


class Srpt(JobByJob):
    def __init__(self, *, total: bool = False) -> None:
        self.by_total = total

    def job_key(self, world: World, job: Name) -> float:
        if self.by_total:
            return self.total(world, job)
        return self.work(world, job, lambda task: self.slots_left(world, task))

    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        return (-self.dag.path(task),)


class Graphene(Srpt):
    def __init__(self, *, long: float = 0.5, large: float = 0.5) -> None:
        super().__init__()
        self.long, self.large = long, large

    def troublesome(self, world: World, task: Task) -> bool:
        mates = [other for other in world.tasks if job_of(other) == job_of(task)]
        long = believed(task) >= self.long * max(map(believed, mates))
        return long or any(d >= self.large * max(c, 1) for d, c in zip(task.demand, world.scale.largest, strict=True))

    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        first = any(self.troublesome(world, world.tasks[row]) for row in self.dag.below(task))
        return (not first, -self.dag.path(task))


class WeightedFair(JobByJob):
    def __init__(self, *, alpha: float = -1.0) -> None:
        self.alpha = alpha

    def job_key(self, world: World, job: Name) -> float:
        mine = [task for task in in_service(world) if job_of(task) == job]
        total = [sum(server.capacity[r] for server in world.servers) for r in range(world.resources)]
        used = [sum(task.demand[r] for task in mine) for r in range(world.resources)]
        share = max((u / t for u, t in zip(used, total, strict=True) if t > 0), default=0.0)
        return share / (self.total(world, job) / PER_SLOT) ** self.alpha

    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        return (sum(stage(other) == stage(task) for other in in_service(world)),)


def in_service(world: World) -> list[Task]:
    return [world.tasks[job.row] for server in world.servers for job in server.running if job.row is not None]


def stage(task: Task) -> tuple[object, ...]:
    return (*alike(task), frozenset(task.predecessors))


WHOLE_JOBS: dict[str, Callable[..., SchedulingPolicy]] = {
    "critical-path": FirstByPath,
    "most-work": FirstByWork,
    "srpt": Srpt,
    "graphene": Graphene,
    "weighted-fair": WeightedFair,
}
