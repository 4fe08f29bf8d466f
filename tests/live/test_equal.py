"""A scheduler that is told of a simulation's own arrivals and ends starts the same task on the same server in the same slot."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import packenv
from packenv.workloads.workload import Workload
from tests.live.driving import compare
from tests.reference.instances import Instance, random_instance, to_jobs, to_network, to_servers, with_devices, with_gangs
from tests.seeds import seeds

ONE = (
    *("bf-j", "bf-s", "bf-js", "bf-js:stall", "fifo-ff", "fifo-ff:stall", "slot-fifo", "slot-fifo:slots=3,stall", "vqs:J=3"),
    *("vqs", "vqs:J=3,stall", "vqs:adaptive,check=4", "vqs-bf:J=2", "vqs-bf:adaptive,check=4,stall", "quickswap:types=3"),
    *("maxweight:types=3,limit=400", "easy", "conservative:depth=3", "reserve:age=3", "pairing", "quickswap"),
)
SEVERAL = ("bf-j", "bf-s", "bf-js", "fifo-ff", "easy", "conservative:depth=3", "reserve:age=3", "pairing", "bf-js:stall")
DEVICES = ("bf-j", "bf-s", "bf-js", "fifo-ff", "easy", "conservative:depth=3", "reserve:age=3", "pairing")
GANGS = ("fifo-ff", "bf-js", "easy", "conservative:depth=3", "reserve:age=3")
HOMES = ("bf-js", "bf-s", "fifo-ff", "easy", "reserve:age=3")
LAWS = ("vqs", "quickswap", "slot-fifo", "maxweight")


def workload_of(instance: Instance) -> Workload:
    return Workload(jobs=to_jobs(instance), servers=to_servers(instance), network=to_network(instance), slot_seconds=1.0)


def estimated(instance: Instance, rng: random.Random) -> Instance:
    return replace(instance, tasks=[replace(task, estimate=float(rng.randint(1, 40))) for task in instance.tasks])


def plain(rng: random.Random, resources: int = 1) -> Instance:
    instance = random_instance(rng, resources=resources, predecessors=False, initial=False, placed=False)
    return estimated(instance, rng)


def check(instance: Instance, policy: str) -> None:
    workload = workload_of(instance)
    compare(workload, policy, instance.slots, law=workload if policy.startswith(LAWS) else None)


@pytest.mark.parametrize("policy", ONE)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_one_resource(policy: str, seed: int) -> None:
    check(plain(random.Random(f"{policy}{seed}")), policy)


@pytest.mark.parametrize("policy", SEVERAL)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_several_resources(policy: str, seed: int) -> None:
    check(plain(random.Random(f"{policy}{seed}"), 3), policy)


@pytest.mark.parametrize("policy", DEVICES)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_devices(policy: str, seed: int) -> None:
    rng = random.Random(f"{policy}{seed}")
    check(with_devices(rng, plain(rng, 1 + seed % 2)), policy)


@pytest.mark.parametrize("policy", GANGS)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_gangs(policy: str, seed: int) -> None:
    rng = random.Random(f"{policy}{seed}")
    instance = plain(rng, 1 + seed % 2)
    check(with_gangs(rng, with_devices(rng, instance) if seed % 3 == 1 else instance), policy)


@pytest.mark.parametrize("policy", HOMES)
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_data_locality(policy: str, seed: int) -> None:
    rng = random.Random(f"{policy}{seed}")
    instance = random_instance(rng, resources=1 + seed % 2, predecessors=False, initial=False, placed=True, drain=True)
    check(estimated(instance, rng), policy)


RANDOM = ("msr", "kmw", "vqs", "vqs-bf", "bf-js", "quickswap", "slot-fifo")
AGENTS = ("any", "fig3a", "fig3b", "fig4a", "fig4b", "fig4b-kmw", "google2011-like")


@pytest.mark.parametrize("policy", RANDOM)
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_random_tasks(policy: str, seed: int) -> None:
    """Policies that know the law of the tasks, and set timers."""
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    assert compare(workload, policy, 1500, seed, law=workload) > 5


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_agents(name: str, seed: int) -> None:
    """All shipped agents that do not know whole jobs; without a workload they take times as on the one that they learned on."""
    source = name if name.startswith("google") else f"paper/{name if name.startswith('fig3') or name == 'fig4a' else 'fig4b'}"
    workload = packenv.workload(source, resources="max" if name.startswith("google") else None)
    assert compare(workload, f"agent:{name}", 1500, seed, law=workload if name == "any" else None) > 3
