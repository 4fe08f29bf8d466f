"""Delay scheduling (PAPERS §5), asked in every slot, everything looked up anew for every offer."""

from __future__ import annotations

from collections import defaultdict

from tests.reference.model import Server, World
from tests.reference.table import Task

Job = tuple[str, int]


def job_of(task: Task) -> Job:
    return ("row", task.row) if task.job is None else ("job", task.job)


class Delay:
    """`skips` None: by time. Slots are seconds. Neither stalls: it may leave every server idle for `patience` slots."""

    def __init__(
        self,
        *,
        interval: float = 3.0,
        rack: float = 3.0,
        skips: int | None = None,
        paper: bool = False,
        weight: float | None = None,
    ) -> None:
        self.skips, self.paper, self.weight = skips, paper, weight
        self.node = defaultdict[int, float](lambda: interval)  # by phase
        self.rack = defaultdict[int, float](lambda: rack)
        self.level = defaultdict[Job, int](int)  # of the last launch
        self.since: dict[Job, int] = {}  # first skip after the last launch
        self.skipped = defaultdict[Job, int](int)
        self.lost: dict[int, tuple[int, int]] = {}  # row -> level and overhead
        self.delayed: dict[int, int] = {}  # row -> slots
        self.heard: set[int] = set()
        self.patience = 500

    def begin(self, world: World) -> None:
        self.number = {job: n for n, job in enumerate(dict.fromkeys(job_of(task) for task in world.tasks))}

    def schedule(self, world: World) -> None:
        for row in sorted(world.completed - self.heard):
            self.heard.add(row)
            self.hear(world, world.tasks[row])
        for server in world.servers:
            while self.offer(world, server):
                pass

    def hear(self, world: World, task: Task) -> None:
        level, reading = self.lost[task.row]
        if self.weight is None or (level == 0 and not self.paper):
            return
        interval = self.rack if level == 2 and world.network.racks else self.node
        if interval is self.rack:
            reading = max(reading - self.node[task.phase], 0)
        interval[task.phase] = (1 - self.weight) * interval[task.phase] + self.weight * reading

    def offer(self, world: World, server: Server) -> bool:
        running = [job_of(world.tasks[r.row]) for s in world.servers for r in s.running if r.row is not None]
        jobs = {job_of(task) for task in world.waiting}
        for job in sorted(jobs, key=lambda job: (running.count(job), self.number[job])):
            fitting = [task for task in world.waiting if job_of(task) == job and world.fits(task, server)]
            if not fitting:
                continue
            nearest = min(fitting, key=lambda task: (world.network.level(task, server.index), task.row))
            level = world.network.level(nearest, server.index)
            if level <= self.allowed(world, job, nearest.phase):
                self.launch(world, job, nearest, server, level)
                return True
            self.skipped[job] += 1
            self.since.setdefault(job, world.slot)
        return False

    def allowed(self, world: World, job: Job, phase: int) -> int:
        if self.skips is not None:
            return 2 if self.level[job] == 2 or self.skipped[job] >= self.skips else 0
        waited = world.slot - self.since.get(job, world.slot)
        if self.level[job] == 2:
            return 2
        if self.level[job] == 1:
            return 2 if waited > self.rack[phase] else 1
        if not world.network.racks:
            return 2 if waited > self.node[phase] else 0
        return (waited > self.node[phase]) + (waited > self.node[phase] + self.rack[phase])

    def launch(self, world: World, job: Job, task: Task, server: Server, level: int) -> None:
        self.lost[task.row] = level, world.remote_slots(task, server)
        self.delayed[task.row] = world.slot - self.since.pop(job, world.slot)
        self.level[job] = 0 if self.paper else level
        if self.skips is not None and level == 1 and not self.paper:
            self.level[job] = 2
        if self.paper or level == 0:
            self.skipped[job] = 0
        world.start(task, server)


class Dynamic(Delay):
    def __init__(self, *, interval: float = 3.0, rack: float = 3.0, weight: float = 0.5, paper: bool = False) -> None:
        super().__init__(interval=interval, rack=rack, paper=paper, weight=weight)


class Fair(Delay):
    """Without delay."""

    def __init__(self) -> None:
        super().__init__(interval=0.0, rack=0.0, skips=0)
