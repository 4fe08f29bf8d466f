"""The rules for DAGs of tasks, fast against reference, and mistakes in them that the comparison must notice."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, policies
from packenv.jobs import Ragged
from packenv.workloads.named.dag import dag
from tests.cluster.test_against_reference import compare
from tests.cluster.test_planted_bugs import noticed
from tests.reference import whole_jobs
from tests.reference.instances import SERVERS, random_instance
from tests.reference.model import Server, World
from tests.reference.table import Task

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
@pytest.mark.parametrize("seed", range(4))
def test_random_instances(name: str, options: dict[str, Any], seed: int) -> None:
    """Phases, predecessors, tenants, wrong estimates, data that lies elsewhere."""
    rng = random.Random(f"{name}{options}{seed}")
    for servers in SERVERS:
        instance = random_instance(rng, resources=2, servers=servers, tasks=rng.randint(5, 30), jobs=True, predecessors=seed > 0)
        compare(instance, name, options)


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
    assert noticed(name, planted(), range(12), resources=2, tasks=40, jobs=True, predecessors=True, servers="equal") >= 2


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
