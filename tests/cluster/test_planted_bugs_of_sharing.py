"""Mistakes in Tetris and in fair sharing, planted in the reference: the comparison with the fast simulator notices each."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.cluster.test_planted_bugs import noticed
from tests.reference import fair, policies
from tests.reference.model import Running, Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task
from tests.reference.tetris import Tetris


class WorkBelowZero(Tetris):
    """An overdue task has less than no work left, and its job is credited with that."""

    def slots_left(self, world: World, task: Task) -> int:
        return self.leaves[task.row] - world.slot if task.row in self.leaves else super().slots_left(world, task)


class OnlyPhases(Tetris):
    """Predecessors make no barrier."""

    def holds_up(self, world: World, candidate: Task) -> bool:
        mates = [task for task in world.tasks if task.job == candidate.job]
        phase = [task for task in mates if task.phase == candidate.phase]
        done = sum(task.row in world.completed for task in phase)
        return any(task.phase > candidate.phase for task in mates) and done >= self.b * len(phase)


class Proportional(fair.DRF):
    """Tasks get shares of an over-allocated resource in proportion to their demands."""

    def speed(self, world: World, server: Server, job: Running) -> Fraction:
        speed = Fraction(1)
        for r in range(self.checked or 0, world.resources):
            if server.capacity[r] > 0 and job.demand[r] > 0:
                speed = min(speed, Fraction(server.capacity[r], max(server.occupied[r], server.capacity[r])))
        return speed


class FixedAtTheStart(fair.DRF):
    """A task keeps the speed with which it starts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.speeds: dict[int | None, Fraction] = {}

    def speed(self, world: World, server: Server, job: Running) -> Fraction:
        return self.speeds.setdefault(job.row, super().speed(world, server, job))


class SharesAreTasks(fair.SlotFair):
    """Slots are held, but tasks are counted."""

    def share(self, world: World, who: int) -> float:
        return len(fair.in_service(world, who))


TETRIS: dict[str, Any] = {"f": 0.0, "b": 0.3}
ONE: dict[str, Any] = {"checked": 1}
SLOTS: dict[str, Any] = {"slots": 4, "checked": 1}


@pytest.mark.parametrize(
    ("name", "bug", "options"),
    [
        ("tetris", WorkBelowZero, TETRIS),
        ("tetris", OnlyPhases, TETRIS),
        ("drf", Proportional, ONE),
        ("drf", FixedAtTheStart, ONE),
        ("slot-fair", SharesAreTasks, SLOTS),
    ],
)
def test_noticed(name: str, bug: type[Policy], options: dict[str, Any]) -> None:
    kind: dict[str, Any] = {"resources": 2, "servers": "equal", "jobs": True, "predecessors": True, "initial": False, "tasks": 40}
    right, wrong = (
        sum(noticed(name, make(**options), [seed], options=options, **kind) for seed in range(12))
        for make in (type(policies.make(name)), bug)
    )
    assert right == 0
    assert wrong > 0
