"""Gangs: tasks that start in the same slot or not at all. Each finds its server in row order, beside those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.reference.model import Running, Server, World
from tests.reference.table import Task

Places = list[tuple[Task, Server]]


def gang_of(world: World, task: Task) -> list[Task]:
    """The tasks that start with it, in row order; alone if it is in no gang."""
    return [other for other in world.tasks if other.gang == task.gang >= 0] or [task]


def leads(world: World, task: Task) -> bool:
    """Whether it is the first of its gang, or in none: such tasks stand in line."""
    return gang_of(world, task)[0] is task


def alone(world: World, task: Task) -> bool:
    return len(gang_of(world, task)) == 1


def places_for(world: World, gang: Sequence[Task], choose: Callable[[Task], Server | None]) -> Places | None:
    """Where each task goes, if one after another takes its room; None if one has nowhere to go."""
    places: Places = []
    taken: list[tuple[Server, Running]] = []
    for task in gang:
        server = choose(task)
        if server is not None:
            devices = server.devices_for(task)
            assert devices is not None
            taken.append((server, Running(task.row, task.demand, world.slot + 1, world.size(task), devices, task.share)))
            server.running.append(taken[-1][1])
            places.append((task, server))
    for server, job in taken:
        server.running.remove(job)
    return places if len(places) == len(gang) else None


def first_fit(servers: Sequence[Server]) -> Callable[[Task], Server | None]:
    return lambda task: next((server for server in servers if server.takes(task)), None)


def start_together(world: World, gang: Sequence[Task], choose: Callable[[Task], Server | None]) -> bool:
    """Start all of a gang, or none of it."""
    places = places_for(world, gang, choose)
    for task, server in places or []:
        world.start(task, server)
    return places is not None
