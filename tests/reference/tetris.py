"""Tetris (PAPERS §2), everything computed anew for every placement."""

from __future__ import annotations

import math

from tests.reference.fair import believed, dominant_share, least_served, owner
from tests.reference.model import Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task

PER_SLOT = 2**20  # work is counted in integers
ALIKE = 1e-9


def job_of(task: Task) -> tuple[str, int]:
    return ("row", task.row) if task.job is None else ("job", task.job)


class Tetris(Policy):
    def __init__(
        self, *, f: float = 0.25, b: float = 0.9, m: float = 1.0, packing: float = 1.0, remote: float = 0.1, weights: str = ""
    ) -> None:
        super().__init__()
        self.f, self.b, self.m, self.packing, self.remote = f, b, m, packing, remote
        self.weights = [float(weight) for weight in weights.split(":")] if weights else []
        self.leaves: dict[int, int] = {}  # row -> slot in which it should

    def place(self, world: World) -> None:
        """Fill every server in turn, until a whole round starts nothing."""
        while sum(self.fill(world, server) for server in world.servers):
            pass

    def fill(self, world: World, server: Server) -> int:
        started = 0
        while (task := self.best(world, server)) is not None:
            self.leaves[task.row] = world.slot + believed(task) + world.remote_slots(task, server)
            world.start(task, server)
            started += 1
        return started

    def best(self, world: World, server: Server) -> Task | None:
        ranked = least_served(world, lambda who: dominant_share(world, who))
        considered = ranked[: math.ceil((1 - self.f) * len(ranked) - ALIKE)]
        fitting = [task for task in world.waiting if owner(task) in considered and world.fits(task, server)]
        if not fitting:
            return None
        a = {task: self.alignment(task, server) for task in fitting}
        p = {task: self.work_left(world, task) for task in fitting}
        epsilon = self.m * sum(a.values()) / sum(p.values()) if sum(p.values()) > 0 else 0.0
        pressing = [task for task in fitting if self.holds_up(world, task)] or fitting
        score = {task: self.packing * a[task] - epsilon * p[task] for task in pressing}
        alike = ALIKE * (self.packing * max(a.values()) + epsilon * max(p.values()))
        best = max(score.values())
        return min((task for task in pressing if score[task] >= best - alike), key=lambda task: task.row)

    def alignment(self, task: Task, server: Server) -> float:
        weights = self.weights or [1.0] * len(task.demand)
        columns = zip(weights, task.demand, server.residual, server.capacity, strict=True)
        a = sum(w * (d / c) * (free / c) for w, d, free, c in columns if c > 0)
        return a * (1 - self.remote) if task.home and server.index not in task.home else a

    def work_left(self, world: World, candidate: Task) -> int:
        """p of the candidate's job: the whole work of its tasks that have not started, and of each in service what should be
        left of it, which is nothing when it should have ended."""
        mates = [task for task in world.tasks if job_of(task) == job_of(candidate) and task.row not in world.completed]
        return sum(self.rate(world, task) * self.slots_left(world, task) for task in mates)

    def slots_left(self, world: World, task: Task) -> int:
        return max(self.leaves[task.row] - world.slot, 0) if task.row in self.leaves else believed(task)

    def rate(self, world: World, task: Task) -> int:
        largest = world.scale.largest
        return round(PER_SLOT * sum(d / (c or 1) for d, c in zip(task.demand, largest, strict=True)))

    def holds_up(self, world: World, candidate: Task) -> bool:
        """Is it one of the last of the tasks for which some other task waits?"""
        stages = [stage for task in world.tasks for stage in waited_for(task, world.tasks) if candidate in stage]
        done = [sum(task.row in world.completed for task in stage) / len(stage) for stage in stages]
        return self.b < 1 and any(share >= self.b - ALIKE for share in done)


def waited_for(task: Task, tasks: list[Task]) -> list[list[Task]]:
    """The sets of tasks that must have finished before this one: the phase before its own, and its predecessors."""
    earlier = [mate for mate in tasks if task.job is not None and mate.job == task.job and mate.phase < task.phase]
    phase_before = [mate for mate in earlier if mate.phase == max(mate.phase for mate in earlier)]
    return [stage for stage in (phase_before, [tasks[row] for row in task.predecessors]) if stage]
