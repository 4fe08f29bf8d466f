"""Backfilling and kept servers: fast = reference, what they promise, planted mistakes, and what estimates they need."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import packenv
from packenv.errors import InputError
from packenv.policies import Conservative, Easy, Reserve
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.oracles.test_multiserver_jobs import RESPONSE_TIMES, SLOW_LARGE, workload
from tests.reference import backfilling, model
from tests.reference.instances import Instance, random_instance
from tests.reference.model import Server, World
from tests.reference.table import Task
from tests.seeds import seeds

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("easy", {}),
    ("conservative", {}),
    ("conservative", {"depth": 1}),
    ("conservative", {"depth": 3}),
    ("reserve", {"age": 0}),
    ("reserve", {"age": 5}),
    ("reserve", {"age": 20}),
]


def wrongly_estimated(rng: random.Random, instance: Instance) -> Instance:
    tasks = [replace(task, estimate=task.service * rng.choice([0.3, 1, 1, 2.5])) for task in instance.tasks]
    return replace(instance, tasks=tasks)


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("resources", [1, 2, 3])
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_against_reference(name: str, options: dict[str, Any], resources: int, seed: int) -> None:
    """True durations and wrong estimates, data that lies elsewhere, all kinds of servers."""
    rng = random.Random(f"{name}{options}{resources}{seed}")
    for servers in ("one", "equal", "powers", "odd"):
        instance = random_instance(rng, resources=resources, servers=servers, tasks=30, placed=rng.random() < 0.2)
        compare(instance, name, options)
        compare(wrongly_estimated(rng, instance), name, options)


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_reservations_only_come_forward(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With true durations the head of line starts no later than was first expected (conservative: is never put off)."""
    rng, waited = random.Random(name), 0
    for _ in range(20):
        instance = random_instance(rng, resources=rng.choice([1, 2]), kind="ties", tasks=30, drain=True, placed=False)
        expected: dict[int, int] = {}

        def note(world: World, expected: dict[int, int] = expected) -> None:
            if world.waiting:
                head = world.waiting[0]
                able = [s for s in world.servers if backfilling.within(head.demand, s.capacity)]
                slots = [world.slot, *(job.leaves for s in able for job in s.running)]
                first = min(t for t in slots for s in able if backfilling.within(head.demand, backfilling.free_in(world, s, t)))
                expected[head.row] = min(first, expected.get(head.row, first))

        args = (instance.tasks, instance.capacities, backfilling.Easy() if name == "easy" else backfilling.Conservative())
        model.simulate(*args, drain=True, initial=instance.initial, watch=note)
        outcome = fast.run(instance, fast.make(name))
        assert all(outcome.start[row] <= slot for row, slot in expected.items())
        waited += len(expected)
    assert waited > 20


class NeverAsksForTime(backfilling.Easy):
    """A backfilled job delays the head of line."""

    def in_time(self, world: World, task: Task, server: Server, start: int) -> bool:
        return True


class OneSlotTooFew(backfilling.Easy):
    """A job that ends one slot after the reservation begins is thought to be in time."""

    def in_time(self, world: World, task: Task, server: Server, start: int) -> bool:
        return super().in_time(world, task, server, start + 1)


class OnlyTheFirstSlot(backfilling.Conservative):
    """Room is looked for in the first slot alone, not for as long as the job stays."""

    def looked_at(self, slot: int, stay: int) -> range:
        return range(slot, slot + 1)


class OneSlotOlder(backfilling.Reserve):
    """A server is kept one slot too late."""

    def __init__(self) -> None:
        super().__init__(age=6)


@pytest.mark.parametrize(
    "name, options, mistake",
    [
        ("easy", {}, NeverAsksForTime),
        ("easy", {}, OneSlotTooFew),
        ("conservative", {}, OnlyTheFirstSlot),
        ("reserve", {"age": 5}, OneSlotOlder),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_planted_mistakes_are_noticed(name: str, options: dict[str, Any], mistake: type[backfilling.Backfilling]) -> None:
    rng, noticed = random.Random(name), 0
    for _ in range(25):
        if noticed:
            break
        instance = random_instance(rng, tasks=30, drain=True)
        outcome = model.simulate(instance.tasks, instance.capacities, mistake(), drain=True, initial=instance.initial)
        noticed += outcome.start != fast.run(instance, fast.make(name, **options)).start
    assert noticed > 0


def test_easy_responds_sooner_than_fcfs() -> None:
    """On the published workload of multiserver jobs, FCFS at a load of .84."""
    jobs = workload(SLOW_LARGE, 0.84, 300_000, 0.002, 0)
    assert jobs.jobs is not None
    delay = packenv.simulate(jobs, "easy", drain=True).mean_delay
    assert delay is not None
    assert 0 < (delay + jobs.jobs.service.mean()) * 0.002 <= RESPONSE_TIMES[0.84]


def test_estimates_that_are_missing_or_bad_parameters() -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.5)
    for policy in (Easy(estimates=True), Conservative(estimates=True)):
        with pytest.raises(InputError, match="reservations need estimates: workload paper/fig4b has no column `estimate`"):
            packenv.simulate(workload, policy, slots=100)
    with pytest.raises(InputError, match="depth must be at least 1, not 0"):
        packenv.simulate(workload, Conservative(depth=0), slots=100)
    with pytest.raises(InputError, match="age must be at least 0 slots, not -1"):
        packenv.simulate(workload, Reserve(age=-1), slots=100)
