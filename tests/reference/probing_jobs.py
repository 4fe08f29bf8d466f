"""What the probing schedulers (PAPERS §4) believe of jobs and workers before a run: estimates, long jobs, partitions, slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.reference.model import World
from tests.reference.table import Task, Vector


def name_of(task: Task) -> int:
    """The job that a task belongs to."""
    return task.row if task.job is None else task.job


def believed(task: Task) -> float:
    return task.service if task.estimate is None else task.estimate


@dataclass(eq=False)
class Batch:
    """The tasks of one job that became eligible in the same slot: what is scheduled as one job."""

    tasks: list[Task]
    estimate: int
    long: bool
    told: int = 0  # unassigned tasks, as far as workers know
    unassigned: list[Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unassigned = list(self.tasks)
        self.told = len(self.tasks)


class Book:
    """The table by jobs. `cutoff` in slots, -1: a tenth of the jobs at most are long."""

    def __init__(self, tasks: Sequence[Task], cutoff: float) -> None:
        self.tasks: dict[int, list[Task]] = {}
        for task in tasks:
            self.tasks.setdefault(name_of(task), []).append(task)
        self.mean = {name: sum(believed(task) for task in rows) / len(rows) for name, rows in self.tasks.items()}
        self.estimate = {name: max(1, round(mean)) for name, mean in self.mean.items()}
        if cutoff == -1:
            cutoff = min((mean for mean in self.mean.values() if 10 * self.above(mean) <= len(self.mean)), default=0)
        self.long = {name for name, mean in self.mean.items() if mean > cutoff}

    def above(self, mean: float) -> int:
        return sum(other > mean for other in self.mean.values())

    def work(self, name: int) -> int:
        return self.estimate[name] * len(self.tasks[name])

    def short_share(self) -> float:
        """Of the work."""
        short = sum(self.work(name) for name in self.tasks if name not in self.long)
        return short / sum(self.work(name) for name in self.tasks)

    def newcomers(self, world: World) -> list[Batch]:
        """Those of this slot, by first row."""
        groups: dict[int, list[Task]] = {}
        for task in sorted(world.newcomers, key=lambda task: task.row):
            groups.setdefault(name_of(task), []).append(task)
        return [Batch(tasks, self.estimate[name], name in self.long) for name, tasks in groups.items()]


def largest_of(tasks: Sequence[Task]) -> Vector:
    """In each resource."""
    return tuple(max(column) for column in zip(*(task.demand for task in tasks), strict=True))


def slots_of(capacity: Vector, largest: Vector) -> int:
    """How many tasks a worker can run at once, whichever they are."""
    slots = min(c // d for c, d in zip(capacity, largest, strict=True) if d > 0)
    if slots == 0:
        raise ValueError("a worker has no room for the largest task")
    return slots


def short_workers(workers: int, reserved: float, book: Book) -> int:
    """S: how many never run long tasks: a share of the workers, rounded down."""
    share = book.short_share() if reserved == -1 else reserved
    short = int(share * workers + 1e-9)  # a third of three is one
    return short if reserved != -1 else min(max(short, 1), workers - 1)


def check(**options: float) -> None:
    """Of parameters alone."""
    least = {"ratio": 1, "minimum": 1, "delay": 0, "threshold": 0, "attempts": 0}
    for name, value in options.items():
        if name in least and value < least[name]:
            raise ValueError(f"{name} is below {least[name]}")
        if name == "reserved" and value != -1 and not 0 <= value <= 1:
            raise ValueError("reserved is not a share")
        if name == "cutoff" and value != -1 and value < 0:
            raise ValueError("cutoff is negative")
