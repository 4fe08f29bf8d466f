"""Bugs seen in neighbours, planted in the reference: the comparison with the fast simulator must notice each.

So if the fast simulator had one of them, tests/cluster/test_against_reference.py would fail.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Workload
from packenv.cluster import build, look_at
from packenv.cluster.loop import runner_for
from packenv.cluster.slots import FINISHED
from packenv.policy import Setting, find_policy, needs_of
from packenv.workloads.laws import Geometric, Uniform
from packenv.workloads.source import refill
from tests.cluster import fast
from tests.reference import model, policies
from tests.reference.instances import Instance, random_instance
from tests.reference.model import Server, World
from tests.reference.stalling import Policy
from tests.reference.table import Task

LAW = Workload(sizes=Uniform(0.1, 0.9), service=Geometric(20), servers=2, intensity=0.8)


def noticed(
    name: str, policy: Policy, seeds: Sequence[int] = range(8), options: dict[str, Any] | None = None, **kind: Any
) -> int:
    """On how many random instances fast and reference differ. `options`: of the fast policy."""
    own = fast.make(name, **(options or {}))
    return sum(differs(random_instance(random.Random(seed), drain=False, **kind), own, policy) for seed in seeds)


def differs(instance: Instance, own: Any, policy: Policy) -> bool:
    args = (instance.tasks, instance.capacities, policy, instance.slots, False, instance.initial)
    expected = model.simulate(*args, network=instance.network)
    outcome = fast.run(instance, own, places=100, steps=1000)
    return (outcome.start, outcome.server, outcome.queue_sum) != (expected.start, expected.server, sum(expected.queue))


class NothingGivenBack(World):
    """Capacity is never given back after a departure."""

    def complete(self) -> None:
        before = [list(server.running) for server in self.servers]
        super().complete()
        for server, running in zip(self.servers, before, strict=True):
            ghosts = [model.Running(None, job.demand, 10**9, job.counted) for job in running if job.leaves == self.slot]
            server.running += ghosts


class OneSlotLate(World):
    """A job stays one slot longer than its service."""

    def start(self, task: Task, server: Server, counted: int | None = None) -> None:
        super().start(task, server, counted)
        job = server.running.pop()
        server.running.append(model.Running(job.row, job.demand, job.leaves + 1, job.counted))


class ArrivalsFirst(World):
    """Arrivals join before the completions of the slot."""

    def complete(self) -> None:
        super().arrive()

    def arrive(self) -> None:
        super().complete()


@pytest.mark.parametrize("name", ["bf-j", "bf-s", "bf-js", "fifo-ff"])
@pytest.mark.parametrize("world", [NothingGivenBack, OneSlotLate, ArrivalsFirst])
def test_world(monkeypatch: pytest.MonkeyPatch, name: str, world: type[World]) -> None:
    assert noticed(name, policies.make(name), predecessors=True) == 0  # the same instances without the bug
    monkeypatch.setattr(model, "World", world)
    assert noticed(name, policies.make(name), predecessors=True) > 0


def largest_residual(world: World, task: Task, servers: Sequence[Server]) -> Server | None:
    return max((server for server in servers if server.fits(task.demand)), key=lambda s: (s.residual[0], -s.index), default=None)


def last_of_equal_servers(world: World, task: Task, servers: Sequence[Server]) -> Server | None:
    return min((server for server in servers if server.fits(task.demand)), key=lambda s: (s.residual[0], -s.index), default=None)


def last_of_equal_tasks(world: World, server: Server) -> Task | None:
    return max((task for task in world.waiting if server.fits(task.demand)), key=lambda t: (t.demand[0], t.row), default=None)


def smallest_task(world: World, server: Server) -> Task | None:
    return min((task for task in world.waiting if server.fits(task.demand)), key=lambda t: (t.demand[0], t.row), default=None)


def added_score(demand: model.Vector, server: Server) -> float:
    """Adds where the alignment multiplies."""
    return sum(d / c + o / c for d, o, c in zip(demand, server.occupied, server.capacity, strict=True) if c > 0)


@pytest.mark.parametrize(
    "rule, bug, names, kind",
    [
        ("best_server", largest_residual, ("bf-j", "bf-js"), {"servers": "equal"}),
        ("best_server", last_of_equal_servers, ("bf-j", "bf-js"), {"servers": "equal"}),
        ("best_job", last_of_equal_tasks, ("bf-s", "bf-js"), {"kind": "ties"}),
        ("best_job", smallest_task, ("bf-s", "bf-js"), {"kind": "ties"}),
        ("score", added_score, ("bf-j", "bf-s", "bf-js"), {"servers": "equal", "resources": 3}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_rule(monkeypatch: pytest.MonkeyPatch, rule: str, bug: Any, names: tuple[str, ...], kind: dict[str, Any]) -> None:
    seeds = range(20)
    assert all(noticed(name, policies.make(name), seeds, **kind) == 0 for name in names)
    monkeypatch.setattr(policies, rule, bug)
    assert all(noticed(name, policies.make(name), seeds, **kind) > 0 for name in names)


def schedule_of(seed: int) -> list[int]:
    result = packenv.simulate(LAW, "bf-js", 3000, seed, schedule=True)
    assert result.schedule is not None
    return result.schedule.start.tolist()


def test_two_seeds_are_two_runs() -> None:
    assert schedule_of(0) == schedule_of(0)
    assert len({tuple(schedule_of(seed)) for seed in range(5)}) == 5
    assert (LAW.jobs_table(0, 50).service != LAW.jobs_table(1, 50).service).any()


def test_global_seeds_do_nothing() -> None:
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    expected = schedule_of(0)
    after = random.random(), np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    assert after == (random.random(), np.random.random())  # noqa: NPY002  (the run drew nothing from them)
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert schedule_of(0) == expected


def test_every_row_of_a_batch_source_is_its_own() -> None:
    together = LAW.source([5, 6, 5])
    for e in range(3):
        refill(together, e)
    for column in (together.arrival, together.demand, together.service):
        assert (column[0] != column[1]).any()
        assert (column[0] == column[2]).all()
    alone = LAW.jobs_table(6, together.arrival.shape[1])
    assert (together.arrival[1] == alone.arrival).all()
    assert (together.demand[1] == alone.demand).all()
    assert (together.service[1] == alone.service).all()


def test_every_cluster_of_a_batch_is_its_own() -> None:
    """Three clusters run one after the other, each to another slot, are as they are alone."""
    policy: Any = find_policy("bf-js")
    needs = needs_of(policy, Setting(LAW.servers.units, LAW, 4, packenv.UNIT))
    batch = build(LAW.source([5, 6, 5]), LAW.servers.units, needs, clusters=3, record_rows=1024)
    run = runner_for(policy)
    for e, slots in ((2, 900), (0, 1000), (1, 1100)):
        look_at(batch, e)
        while run(policy, batch, (), slots, 100) != FINISHED:
            pass
        alone = packenv.simulate(LAW, policy, slots, seed=(5, 6, 5)[e], warmup=0, schedule=True)
        assert alone.schedule is not None
        assert batch.measures.start[e, : alone.arrived].tolist() == alone.schedule.start.tolist()
        assert batch.measures.server[e, : alone.arrived].tolist() == alone.schedule.server.tolist()
    assert batch.head["now"].tolist() == [1000, 1100, 900]
