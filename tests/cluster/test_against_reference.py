"""Fast = reference: start slot and server of every task, and all that is added up over the slots."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from packenv.errors import InputError
from tests.cluster import fast
from tests.reference import model, policies
from tests.reference.cases_tetris import as_predecessors
from tests.reference.instances import FREE, SERVERS, SIZES, Instance, random_instance
from tests.reference.worked_cases import CASES
from tests.seeds import seeds

SEEDS = seeds(1, 5)

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("bf-j", {}),
    ("bf-s", {}),
    ("bf-js", {}),
    ("fifo-ff", {}),
    ("bf-j", {"stall": True}),
    ("bf-s", {"stall": True}),
    ("bf-js", {"stall": True}),
    ("fifo-ff", {"stall": True}),
    ("slot-fifo", {}),
    ("slot-fifo", {"slots": 3, "stall": True}),
    ("vqs", {"J": 2}),
    ("vqs", {"J": 4}),
    ("vqs", {"J": 3, "stall": True}),
    ("vqs", {"adaptive": True, "first_check": 4}),
    ("vqs-bf", {"J": 2}),
    ("vqs-bf", {"J": 5}),
    ("vqs-bf", {"J": 3, "stall": True}),
    ("vqs-bf", {"adaptive": True, "first_check": 4, "stall": True}),
    ("maxweight", {"types": 2, "limit": 400}),
    ("maxweight", {"types": 4, "limit": 400}),
    ("maxweight", {"types": 12, "limit": 150, "stall": True}),
    ("maxweight", {"J": 2}),
    ("maxweight", {"J": 3, "stall": True}),
]


JOB_OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("price", {}),
    ("price", {"welfare": 1.0}),
    ("price", {"welfare": 0.0, "c": 0.5, "gamma": 0.25}),
    ("price", {"gamma": -0.2, "blocking": True}),
    ("priority", {}),
    ("priority", {"blocking": True}),
    ("capacity", {}),
    ("capacity", {"blocking": True}),
    ("fifo", {}),
    ("fifo", {"blocking": False}),
]


def compare(instance: Instance, name: str, options: dict[str, Any], seed: int | None = None) -> None:
    """`seed`: of a policy that draws."""
    try:
        policy = policies.make(name, **options, **({} if seed is None else {"seed": seed}))
        drain = instance.slots is None
        args = (instance.tasks, instance.capacities, policy, instance.slots, drain, instance.initial)
        expected = model.simulate(*args, network=instance.network, devices=instance.devices)
    except ValueError:  # a task larger than a slot of slot-fifo, too many configurations of MaxWeight: both refuse
        with pytest.raises(InputError):
            fast.run(instance, fast.make(name, **options), seed or 0)
        return
    except model.NoProgress:
        expected = None
    outcome = fast.run(instance, fast.make(name, **options), seed or 0)
    if expected is None:  # the reference gave up with tasks that can never start
        assert len(outcome.start) < len(instance.tasks)
        return
    assert outcome.start == expected.start
    assert outcome.server == expected.server
    assert outcome.slots == len(expected.queue)
    assert outcome.queue_sum == sum(expected.queue)
    assert outcome.max_queue == max(expected.queue, default=0)
    assert outcome.used == [sum(column) for column in zip(*expected.used, strict=True)]
    assert outcome.waiting_size_sum == sum(expected.waiting_size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_worked_case(case: Any) -> None:
    options = dict(case.options)
    seed = options.pop("seed", 0)
    instance = Instance(case.tasks, case.capacities, case.initial, case.slots, case.network or FREE)
    outcome = fast.run(instance, fast.make(case.policy, **options), seed)
    assert {row: (slot, outcome.server[row]) for row, slot in outcome.start.items()} == case.expected


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_one_resource(name: str, options: dict[str, Any], servers: str, seed: int) -> None:
    rng = random.Random(f"{name}{options}{servers}{seed}")
    for kind in SIZES:
        predecessors = False if "adaptive" in options else None
        compare(random_instance(rng, servers=servers, kind=kind, predecessors=predecessors), name, options)


@pytest.mark.parametrize("name, options", JOB_OPTIONS, ids=str)
@pytest.mark.parametrize("resources", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_jobs(name: str, options: dict[str, Any], resources: int, seed: int) -> None:
    rng = random.Random(f"{name}{options}{resources}{seed}")
    for servers in SERVERS:
        compare(random_instance(rng, resources=resources, servers=servers, tasks=rng.randint(5, 30), jobs=True), name, options)


@pytest.mark.parametrize("name", ["price", "capacity", "fifo"])
def test_every_task_a_job(name: str) -> None:
    rng = random.Random(name)
    for _ in range(8):
        compare(random_instance(rng, resources=2, tasks=20), name, {})


@pytest.mark.parametrize("name", ["bf-js", "fifo-ff"])
@pytest.mark.parametrize("seed", seeds(5, 30))
def test_phases(name: str, seed: int) -> None:
    rng = random.Random(f"{name}{seed}")
    compare(random_instance(rng, resources=rng.randint(1, 3), jobs=True), name, {})


@pytest.mark.parametrize("name, options", [*OPTIONS, *JOB_OPTIONS], ids=str)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_data_that_lies_elsewhere(name: str, options: dict[str, Any], seed: int) -> None:
    """Tasks away from their data take longer under every policy, in racks and on networks that change."""
    rng = random.Random(f"{name}{options}{seed}")
    for servers in ("equal", "odd"):
        jobs, linked = name in ("price", "priority", "capacity", "fifo"), False if "adaptive" in options else None
        compare(random_instance(rng, servers=servers, jobs=jobs, placed=True, predecessors=linked), name, options)


OF_JOBS: list[tuple[str, dict[str, Any]]] = [
    ("drf", {}),
    ("drf", {"checked": 1}),
    ("task-fair", {}),
    ("task-fair", {"checked": 2}),
    ("slot-fair", {}),
    ("slot-fair", {"slots": 3, "checked": 1}),
    ("slot-fair", {"slots": 5, "checked": 9}),
    ("tetris", {}),
    ("tetris", {"f": 0.0}),
    ("tetris", {"f": 0.6, "b": 0.3, "m": 2.0}),
    ("tetris", {"f": 0.0, "b": 0.0, "m": 0.0, "remote": 0.5, "weights": "2:0:1"}),
    ("tetris", {"f": 0.3, "b": 1.0, "packing": 0.0}),
]


@pytest.mark.parametrize("name, options", OF_JOBS, ids=str)
@pytest.mark.parametrize("seed", seeds(3, 20))
def test_policies_that_know_jobs(name: str, options: dict[str, Any], seed: int) -> None:
    """Phases, tenants, wrong estimates, data that lies elsewhere, over-allocation."""
    rng = random.Random(f"{name}{options}{seed}")
    for servers in SERVERS:
        compare(random_instance(rng, resources=3, servers=servers, jobs=True), name, options)


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_barriers_of_phases_and_of_predecessors(seed: int) -> None:
    """Tetris does the same with a chain of phases and with the predecessors that stand for it."""
    rng = random.Random(seed)
    instance = random_instance(rng, resources=2, servers="equal", tasks=40, jobs=True, predecessors=False)
    policy = fast.make("tetris", f=rng.choice([0.0, 0.6]), b=rng.choice([0.0, 0.3, 0.9]))
    named = replace(instance, tasks=as_predecessors(instance.tasks))
    one, other = fast.run(instance, policy), fast.run(named, policy)
    assert (one.start, one.server) == (other.start, other.server)


@pytest.mark.parametrize("name, options", [case for case in OF_JOBS[::2] if "weights" not in case[1]], ids=str)
@pytest.mark.parametrize("seed", seeds(2, 10))
def test_policies_that_know_jobs_with_one_resource(name: str, options: dict[str, Any], seed: int) -> None:
    rng = random.Random(f"{name}{options}{seed}")
    for jobs in (True, False):
        compare(random_instance(rng, jobs=jobs), name, options)


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("resources", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_several_resources(name: str, options: dict[str, Any], resources: int, seed: int) -> None:
    rng = random.Random(f"{name}{options}{resources}{seed}")
    for servers in SERVERS:
        predecessors = False if "adaptive" in options else None
        compare(random_instance(rng, resources=resources, servers=servers, predecessors=predecessors), name, options)
