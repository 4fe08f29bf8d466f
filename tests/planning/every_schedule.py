"""Every schedule of a few tasks on a few servers: whether one meets a goal on the wait, and whether a policy's own does."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import packenv
from packenv.planning.goals import Goal, share_of
from packenv.results.schedule_table import Schedule
from tests.reference.instances import Instance, with_devices
from tests.reference.table import NO_DEVICES, Devices, Task, Vector

GOALS = ("max wait <= 0", "max wait <= 2", "p50 wait <= 1", "p70 wait <= 0", "mean wait <= 1", "mean wait <= 0.5")


def unequal_gangs(rng: random.Random, capacities: Sequence[Vector], devices: bool) -> Instance:
    """Two to four waits: single tasks, and gangs of up to three tasks of different demands and services."""
    largest = max(capacity[0] for capacity in capacities)
    tasks: list[Task] = []
    for wait in range(rng.randint(2, 4)):
        arrival = tasks[-1].arrival + rng.choice([0, 0, 1, 2]) if tasks else 0
        size = rng.choice([1, 1, 2, 2, 3])
        for _ in range(size):
            demand = (rng.randint(1, largest),)
            tasks.append(Task(len(tasks), arrival, demand, rng.randint(1, 3), gang=wait if size > 1 else -1))
    instance = Instance(tasks, [*capacities], [], None)
    return with_devices(rng, instance) if devices else instance


def waits_of(tasks: Sequence[Task]) -> list[list[Task]]:
    """The tasks that wait together."""
    return [[*same] for _, same in itertools.groupby(tasks, lambda task: task.gang if task.gang >= 0 else -2 - task.row)]


def met_by(tasks: Sequence[Task], schedule: Schedule, goal: Goal) -> bool:
    """Whether all tasks started, and their waits, those of a gang once, meet the goal."""
    if len(schedule.start) < len(tasks) or (schedule.start < 0).any():
        return False
    return goal.met(statistic([int(schedule.start[same[0].row]) - same[0].arrival for same in waits_of(tasks)], goal))


def statistic(waits: Sequence[int], goal: Goal) -> float:
    share = share_of(goal.statistic)
    return float(np.mean(waits)) if share is None else sorted(waits)[math.ceil(share * len(waits)) - 1]


@dataclass
class Room:
    """A server, with what tasks hold of it and of each of its devices in each slot."""

    capacity: Vector
    devices: Devices
    held: dict[int, list[int]] = field(default_factory=dict)
    used: dict[tuple[int, int], int] = field(default_factory=dict)  # (device, slot)

    @property
    def key(self) -> object:
        held = sorted((t, held) for t, held in self.held.items() if any(held))
        return self.capacity, self.devices, repr(held), repr(sorted(map(self._slots_of, range(self.devices.number))))

    def choices(self, task: Task, start: int) -> Iterator[tuple[int, ...]]:
        """The devices on which it can run from `start` on."""
        slots = range(start, start + task.service)
        free = [[c - h for c, h in zip(self.capacity, self.held.get(t, [0] * len(self.capacity)), strict=True)] for t in slots]
        if any(demand > room for of_slot in free for demand, room in zip(task.demand, of_slot, strict=True)):
            return
        if task.kinds and self.devices.kind not in task.kinds:
            return
        if not task.devices:
            yield ()
        else:
            part = task.share or self.devices.whole
            able = [
                device
                for device in range(self.devices.number)
                if all(self.used.get((device, t), 0) + part <= self.devices.whole for t in slots)
            ]
            alike = {tuple(self._slots_of(device) for device in on): on for on in itertools.combinations(able, task.devices)}
            yield from alike.values()

    def _slots_of(self, device: int) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((t, used) for (other, t), used in self.used.items() if other == device and used))

    def take(self, task: Task, start: int, on: tuple[int, ...], sign: int = 1) -> None:
        for t in range(start, start + task.service):
            before = self.held.get(t, [0] * len(self.capacity))
            self.held[t] = [held + sign * demand for held, demand in zip(before, task.demand, strict=True)]
            for device in on:
                self.used[device, t] = self.used.get((device, t), 0) + sign * (task.share or self.devices.whole)


def some_schedule(tasks: Sequence[Task], servers: Sequence[tuple[Vector, Devices]], goal: Goal) -> bool:
    """Whether some schedule on these servers meets a goal on the wait."""
    rooms, waits = [Room(capacity, devices) for capacity, devices in servers], waits_of(tasks)
    if any(not _places([Room(*server) for server in servers], same, 0, lambda: True) for same in waits):
        return False  # this gang never starts
    share = share_of(goal.statistic)
    spared = 0 if share is None else len(waits) - math.ceil(share * len(waits))
    budget = math.floor(goal.limit * len(waits)) if share is None else math.floor(goal.limit)

    def schedule(number: int, spared: int, left: int) -> bool:
        if number == len(waits):
            return True
        same = waits[number]
        for wait in range(left + 1):
            rest = left - wait if share is None else left
            if _places(rooms, same, same[0].arrival + wait, lambda rest=rest: schedule(number + 1, spared, rest)):
                return True
        return spared > 0 and schedule(number + 1, spared - 1, left)  # it starts when all others have ended

    return schedule(0, spared, budget)


def _places(rooms: Sequence[Room], tasks: Sequence[Task], start: int, then: object) -> bool:
    """Whether these tasks have room together from `start` on such that `then()`: by every choice of servers and devices."""
    if not tasks:
        return bool(then())  # type: ignore[operator]
    for room in {room.key: room for room in rooms}.values():
        for on in [*room.choices(tasks[0], start)]:
            room.take(tasks[0], start, on)
            found = _places(rooms, tasks[1:], start, then)
            room.take(tasks[0], start, on, -1)
            if found:
                return True
    return False


def servers_of(instance: Instance, which: Sequence[int]) -> list[tuple[Vector, Devices]]:
    devices = instance.devices or [NO_DEVICES] * len(instance.capacities)
    return [(instance.capacities[k], devices[k]) for k in which]


def on_servers(instance: Instance, which: Sequence[int]) -> Instance:
    """The same tasks on some of the servers, of which some may be there several times."""
    pairs = servers_of(instance, which)
    return replace(
        instance, capacities=[pair[0] for pair in pairs], devices=[pair[1] for pair in pairs] if instance.devices else []
    )


def policy_meets(workload: packenv.Workload, tasks: Sequence[Task], policy: str, goal: Goal) -> bool:
    """Whether all tasks start in a run of a policy, with waits that meet the goal."""
    result = packenv.simulate(workload, policy, drain=True, schedule=True)
    assert result.schedule is not None
    return met_by(tasks, result.schedule, goal)
