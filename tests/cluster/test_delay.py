"""Delay scheduling: fast = reference, cases and intervals worked by hand, and how long anything waits for its data."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.reference import model, policies
from tests.reference.instances import SERVERS, Instance, random_instance

UNIT = 12

RULES: list[tuple[str, dict[str, Any]]] = [
    ("fair", {}),
    ("delay", {}),
    ("delay", {"paper": True}),
    ("delay", {"interval": 0.0, "rack": 0.5}),
    ("delay", {"interval": 7.5, "rack": 4.0}),
    ("delay", {"interval": 2.0, "rack": 9.0, "paper": True}),
    ("delay", {"skips": 0}),
    ("delay", {"skips": 1}),
    ("delay", {"skips": 5}),
    ("delay", {"skips": 4, "paper": True}),
    ("delay-dynamic", {}),
    ("delay-dynamic", {"paper": True}),
    ("delay-dynamic", {"interval": 1.0, "rack": 0.0, "weight": 0.1}),
]


def many_servers(rng: random.Random, resources: int) -> Instance:
    """Up to twelve servers with one or several places each, and few jobs: some wait while others run."""
    capacities = [(rng.choice([UNIT, UNIT, 3 * UNIT]),) * resources for _ in range(rng.randint(2, 12))]
    if rng.random() < 0.6:
        capacities = [(UNIT,) * resources] * len(capacities)
    return random_instance(rng, resources=resources, servers=capacities, kind="equal", jobs=True, placed=True)


@pytest.mark.parametrize("name, options", RULES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_reference(name: str, options: dict[str, Any], seed: int) -> None:
    """Racks or none, a changing network, several places on a server, unequal demands, phases, tenants, predecessors."""
    rng = random.Random(f"{name}{options}{seed}")
    for resources in (1, 2):
        compare(random_instance(rng, resources=resources, servers=rng.choice(SERVERS), jobs=True, placed=True), name, options)
        for _ in range(2):
            compare(many_servers(rng, resources), name, options)
    compare(random_instance(rng, jobs=False, placed=rng.random() < 0.5), name, options)


@pytest.mark.parametrize("name, options", RULES, ids=str)
def test_waits_and_intervals_equal_those_of_the_reference(name: str, options: dict[str, Any]) -> None:
    rng = random.Random(f"{name}{options}")
    for _ in range(10):
        drawn = many_servers(rng, 1)
        late = {"row": len(drawn.tasks), "arrival": 1500, "job": 1000, "phase": 99, "home": (), "predecessors": ()}
        last = replace(drawn.tasks[-1], **late)  # when it comes, all other completions have been heard
        instance = replace(drawn, tasks=[*drawn.tasks, last], slots=None)
        own = policies.make(name, **options)
        model.simulate(instance.tasks, instance.capacities, own, None, True, instance.initial, network=instance.network)
        state = fast.run(instance, fast.make(name, **options)).state
        assert dict(enumerate(state.delayed.tolist())) == own.delayed
        assert dict(enumerate(zip(state.ran.tolist(), state.overhead.tolist(), strict=True))) == own.lost
        phases = sorted({task.phase for task in instance.tasks})
        assert state.interval.tolist()[:-1] == [[own.node[phase], own.rack[phase]] for phase in phases[:-1]]
