"""The table of jobs, jobs in service at slot 0, and the network, as the slow model sees them: plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Vector = tuple[int, ...]  # one integer per resource, in units


@dataclass(frozen=True)
class Task:
    """One row of the table."""

    row: int
    arrival: int
    demand: Vector
    service: int
    predecessors: tuple[int, ...] = ()
    job: int | None = None  # given for all rows or none; None: every row is a job of its own
    phase: int = 0
    value: float | None = None  # given for all rows or none
    tenant: int | None = None  # given for all rows or none
    estimate: float | None = None  # given for all rows or none; None: the service
    home: tuple[int, ...] = ()  # servers that hold its data; none: all
    overhead: int = 0  # extra slots away from home
    devices: int = 0  # how many it needs
    share: int = 0  # of one device; 0: whole ones
    kinds: tuple[int, ...] = ()  # that it accepts; none: all
    gang: int = -1  # that it is in; -1: none


@dataclass(frozen=True)
class Devices:
    """Of a server."""

    number: int = 0
    whole: int = 1  # capacity of each
    kind: int = -1  # -1: none in particular


NO_DEVICES = Devices()


@dataclass(frozen=True)
class Network:
    """What it costs to be away from the data."""

    racks: tuple[int, ...] = ()  # of each server; none: every server is a rack of its own
    same_rack: float = 0.5
    steps: tuple[tuple[int, float], ...] = ()  # from a slot on, this factor; 1 before the first
    reading: Vector = ()  # what a task away from its data takes beyond its demand; none: nothing
    serving: Vector = ()  # and on the server from which it reads

    def level(self, task: Task, server: int) -> int:
        """0 at home, 1 in the rack of a home, 2 elsewhere."""
        if not task.home or server in task.home:
            return 0
        return 1 if self.racks and self.racks[server] in [self.racks[home] for home in task.home] else 2

    def overhead(self, task: Task, server: int, slot: int) -> int:
        factor = ([1.0] + [factor for since, factor in self.steps if since <= slot])[-1]
        return round(task.overhead * factor * (0.0, self.same_rack, 1.0)[self.level(task, server)])


def before(task: Task, tasks: Sequence[Task]) -> set[int]:
    """The rows that must complete first: those named, and all of the earlier phases of the job."""
    earlier = {row.row for row in tasks if row.job == task.job is not None and row.phase < task.phase}
    return earlier | set(task.predecessors)


@dataclass(frozen=True)
class Initial:
    """A job already in service at slot 0; it leaves at the start of slot `remaining` >= 1 and has no delay."""

    demand: Vector
    server: int
    remaining: int
