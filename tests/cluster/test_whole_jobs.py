"""The rules for DAGs of tasks, fast against reference, and mistakes in them that the comparison must notice."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, policies
from packenv.jobs import Ragged
from packenv.units import UNIT
from packenv.workloads.named.dag import dag
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.cluster.test_planted_bugs import differs
from tests.reference import whole_jobs
from tests.reference.instances import SERVERS, Instance, random_instance
from tests.reference.model import Server, World
from tests.reference.table import Task
from tests.seeds import seeds

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("critical-path", {}),
    ("critical-path", {"blocking": True}),
    ("most-work", {}),
    ("srpt", {}),
    ("srpt", {"total": True}),
    ("graphene", {}),
    ("graphene", {"long": 0.9, "large": 0.3}),
    ("weighted-fair", {}),
    ("weighted-fair", {"alpha": 0.0}),
    ("weighted-fair", {"alpha": 1.3}),
]


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_random_instances(name: str, options: dict[str, Any], seed: int) -> None:
    """Phases, predecessors, tenants, wrong estimates, data that lies elsewhere."""
    rng = random.Random(f"{name}{options}{seed}")
    for servers in SERVERS:
        instance = random_instance(rng, resources=2, servers=servers, tasks=rng.randint(5, 30), jobs=True, predecessors=seed > 0)
        compare(instance, name, options)


def dag_instance(rng: random.Random, wrong: bool = False) -> Instance:
    """A crowd of jobs on one small server or two: stages of like tasks, each waits for up to two earlier stages of its job."""
    tasks: list[Task] = []
    for job in range(rng.randint(3, 6)):
        stages: list[tuple[int, ...]] = []
        for _ in range(rng.randint(1, 6)):
            before = tuple(sorted({row for one in rng.sample(stages, k=min(len(stages), rng.randint(0, 2))) for row in one}))
            demand, service = (UNIT * rng.randint(1, 6) // 12, UNIT * rng.randint(1, 6) // 12), rng.randint(1, 7)
            estimate = service * rng.choice([0.3, 1, 2.5]) if wrong else None
            rows = tuple(range(len(tasks), len(tasks) + rng.randint(1, 4)))
            tasks += [Task(row, job // 3, demand, service, before, job=job, estimate=estimate) for row in rows]
            stages.append(rows)
    return Instance(tasks, [(UNIT, UNIT)] * rng.randint(1, 2), [], 400)


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
def test_dags(name: str, options: dict[str, Any]) -> None:
    for seed in range(8):
        compare(dag_instance(random.Random(seed), wrong=seed % 2 == 0), name, options)


class ForgetsChildren(whole_jobs.FirstByPath):
    def merit(self, world: World, task: Task, server: Server) -> float:
        return float(whole_jobs.believed(task))


class OnlyChildren(whole_jobs.FirstByWork):
    """Only work that waits for the task directly counts."""

    def merit(self, world: World, task: Task, server: Server) -> float:
        found = [task, *(child for child in self.dag.children[task.row] if task.row in child.predecessors)]
        return float(sum(whole_jobs.Tetris().rate(world, one) * whole_jobs.believed(one) for one in found))


class ForgetsService(whole_jobs.Srpt):
    """Tasks in service have all their work left."""

    def slots_left(self, world: World, task: Task) -> int:
        return whole_jobs.believed(task)


class ShortestPath(whole_jobs.Srpt):
    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        return (self.dag.path(task),)


class ForgetsAncestors(whole_jobs.Graphene):
    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        return (not self.troublesome(world, task), -self.dag.path(task))


class Unweighted(whole_jobs.WeightedFair):
    def total(self, world: World, job: tuple[str, int]) -> int:
        return whole_jobs.PER_SLOT


class OneBranch(whole_jobs.WeightedFair):
    def task_key(self, world: World, task: Task) -> tuple[float, ...]:
        return ()


PLANTED = [
    ("critical-path", ForgetsChildren),
    ("most-work", OnlyChildren),
    ("srpt", ForgetsService),
    ("srpt", ShortestPath),
    ("graphene", ForgetsAncestors),
    ("weighted-fair", Unweighted),
    ("weighted-fair", OneBranch),
]


@pytest.mark.parametrize("name, planted", PLANTED, ids=str)
def test_planted_mistakes(name: str, planted: Any) -> None:
    own = fast.make(name)
    assert sum(differs(dag_instance(random.Random(seed), wrong=True), own, planted()) for seed in range(20)) >= 2


def test_a_stage_is_one_barrier() -> None:
    """The same stages, of many tasks, as predecessors and, where they are a chain, as phases: the same schedule."""
    tasks = [4, 3, 5]
    stage = np.repeat(np.arange(3), tasks)
    before = [[], list(range(4)), list(range(4, 7))]
    jobs = Jobs.of(np.zeros(12), np.full(12, 0.3), 1 + np.arange(12) % 3, job=np.zeros(12, np.int64))
    chain = Jobs(jobs.arrival, jobs.demand, jobs.service, job=jobs.job, phase=stage)
    lists = Jobs(jobs.arrival, jobs.demand, jobs.service, job=jobs.job, predecessors=Ragged.of([before[k] for k in stage]))
    starts = [packenv.simulate(packenv.Workload(jobs=one, servers=2), "bf-js", schedule=True).schedule for one in (chain, lists)]
    assert starts[0].start.tolist() == starts[1].start.tolist()


@pytest.mark.parametrize(
    "policy, problem",
    [
        (policies.WeightedFair(alpha=17.0), "weighted-fair: needs alpha between -16 and 16, not 17"),
        (policies.WeightedFair(alpha=float("nan")), "needs alpha between"),
        (policies.Graphene(long=0.0), "graphene: needs 0 < long <= 1 and large > 0"),
        (policies.Graphene(large=-1.0), "graphene: needs 0 < long <= 1 and large > 0"),
    ],
    ids=str,
)
def test_parameters_out_of_range(policy: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        packenv.simulate(dag(jobs=3).at(0), policy)
