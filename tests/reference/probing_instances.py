"""Small random instances for the probing schedulers: every task fits every worker, and some jobs are long."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from packenv.units import UNIT
from tests.reference.instances import Instance, random_arrivals, random_jobs
from tests.reference.probing_jobs import name_of
from tests.reference.table import Initial, Task, Vector

LARGEST = UNIT // 4


def probing_instance(
    rng: random.Random,
    *,
    resources: int = 1,
    workers: int | None = None,
    slots: Sequence[int] = (1, 1, 1, 2, 3),
    single: bool = False,
    exact: bool = False,
    initial: bool | None = None,
    drain: bool | None = None,
) -> Instance:
    """`slots`: how many tasks a worker may run at once; `single`: every task is a job; `exact`: no wrong estimates.

    Jobs arrive whole, or their tasks are scattered over the table, with phases. Estimates are halves, so that their sums
    are exact. Whatever is None is drawn.
    """
    workers = rng.randint(1, 8) if workers is None else workers
    capacities = [random_worker(rng, rng.choice(slots), resources) for _ in range(workers)]
    tasks = [Task(row, arrival, random_demand(rng, resources), 1) for row, arrival in enumerate(random_arrivals(rng, 40))]
    tasks = tasks[: rng.randint(1, 40)]
    if not single:
        tasks = random_jobs(rng, tasks) if rng.random() < 0.3 else whole_jobs(rng, tasks)
    tasks = served(rng, tasks)
    if not exact and rng.random() < 0.5:
        tasks = [replace(task, estimate=max(1, rng.choice([1, 2, 2, 5]) * task.service) / 2) for task in tasks]
    if not exact and rng.random() < 0.2:
        tasks = [replace(t, predecessors=(rng.randrange(t.row),)) if t.row and rng.random() < 0.4 else t for t in tasks]
    loaded = rng.random() < 0.3 if initial is None else initial
    there = in_service(rng, capacities, tasks) if loaded else []
    drained = rng.random() < 0.7 if drain is None else drain
    return Instance(tasks, capacities, there, None if drained else rng.randint(1, tasks[-1].arrival + 20))


def random_worker(rng: random.Random, slots: int, resources: int) -> Vector:
    """Room for so many of the largest tasks: in one resource at least no more."""
    tight = rng.randrange(resources)
    spare = [rng.choice([0, LARGEST - 1]) if r == tight else rng.choice([0, LARGEST]) for r in range(resources)]
    return tuple(slots * LARGEST + room for room in spare)


def random_demand(rng: random.Random, resources: int) -> Vector:
    demand = [rng.choice([LARGEST, LARGEST, LARGEST // 2, LARGEST // 7]) for _ in range(resources)]
    if resources > 1 and rng.random() < 0.2:
        demand[rng.randrange(resources)] = 0
    return tuple(demand)


def whole_jobs(rng: random.Random, tasks: list[Task]) -> list[Task]:
    """Rows in a row are a job of 1 to 6 tasks, and arrive with its first."""
    table: list[Task] = []
    while len(table) < len(tasks):
        first = tasks[len(table)]
        members = tasks[len(table) : len(table) + rng.choice([1, 1, 2, 3, 6])]
        table += [replace(task, job=first.row, arrival=first.arrival) for task in members]
    return table


def served(rng: random.Random, tasks: list[Task]) -> list[Task]:
    """The same tasks; all of a job serve for about as long, and few jobs for long."""
    mean = {name_of(task): rng.choice([1, 2, 3, 4, 6, 30]) for task in tasks}
    return [replace(task, service=max(1, mean[name_of(task)] + rng.randint(-1, 1))) for task in tasks]


def in_service(rng: random.Random, capacities: Sequence[Vector], tasks: Sequence[Task]) -> list[Initial]:
    """Jobs like the tasks, on some workers more of them than it has slots, or larger ones."""
    placed: list[Initial] = []
    for _ in range(rng.randint(1, 6)):
        server = rng.randrange(len(capacities))
        larger = tuple(max(1, capacity * rng.randint(1, 8) // 8) for capacity in capacities[server])
        demand = rng.choice([rng.choice(tasks).demand, larger])
        together = [demand, *(job.demand for job in placed if job.server == server)]
        if all(sum(column) <= capacity for column, capacity in zip(zip(*together, strict=True), capacities[server], strict=True)):
            placed.append(Initial(demand, server, rng.randint(1, 15)))
    return placed


def probing_options(rng: random.Random, name: str, workers: int) -> dict[str, Any]:
    """Some that both models must refuse."""
    options: dict[str, Any] = {"delay": rng.choice([0.0, 0.0, 1.0, 2.0, 3.0])}
    if name in ("sparrow", "hawk", "eagle"):
        options |= {"ratio": rng.choice([1, 2, 2, 3]), "minimum": rng.choice([rng.randint(1, workers), 20])}
    if name in ("hawk", "eagle"):
        options |= {"cutoff": rng.choice([-1.0, -1.0, 0.0, 3.0, 5.5, 12.0, 1e9])}
        options |= {"reserved": rng.choice([-1.0, -1.0, 0.1, 0.5, round(rng.random(), 2)])}
    if name == "hawk":
        options |= {"attempts": rng.choice([0, 1, 10])}
    if name == "eagle":
        options |= {switch: rng.random() < 0.6 for switch in ("sharing", "sticky")}
    if name in ("eagle", "yaq"):
        options |= {"srpt": rng.random() < 0.7, "threshold": rng.choice([0.0, 1.0, 1.5, 5.0])}
    return options
