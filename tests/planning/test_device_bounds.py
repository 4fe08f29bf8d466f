"""The bounds of a plan on servers with devices: against every placement, and by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import packenv
from packenv.planning.goals import parse_goal
from packenv.planning.kinds import Kinds
from packenv.planning.lower_bounds.cost_bound import least_cost
from packenv.planning.lower_bounds.fewest_servers import fewest_servers
from tests.reference.instances import Instance, random_instance, to_jobs, to_servers, with_devices
from tests.reference.model import Running, Server, Task
from tests.seeds import seeds

CASES = Path(__file__).parents[1] / "cases"
AT_ONCE = [parse_goal("max wait <= 0", None)]


def run_together(servers: Sequence[Server], tasks: Sequence[Task]) -> bool:
    """Whether the servers hold all tasks at once: by every choice of a server and of a device."""
    if not tasks:
        return True
    task = tasks[0]
    for server in servers:
        if not server.takes(task):
            continue
        able = [device for device in range(server.devices.number) if server.left(device) >= (task.share or server.devices.whole)]
        choices = [(device,) for device in {server.left(device): device for device in able}.values()]
        for on in choices if task.share else [tuple(able[: task.devices])]:
            server.running.append(Running(task.row, task.demand, 10, 0, on, task.share))
            held = run_together(servers, tasks[1:])
            server.running.pop()
            if held:
                return True
    return False


def tasks_at_once(rng: random.Random, servers: int) -> tuple[Instance, packenv.Workload]:
    """A few tasks that arrive together, for servers of several kinds on which each fits somewhere."""
    plain = random_instance(
        rng, servers=[(4,)] * servers, tasks=rng.randint(3, 6), initial=False, predecessors=False, kind="ties"
    )
    instance = with_devices(rng, plain)
    instance = replace(instance, tasks=[replace(task, arrival=0, service=10) for task in instance.tasks])
    return instance, packenv.Workload(jobs=to_jobs(instance), servers=to_servers(instance))


def servers_of(instance: Instance, counts: Sequence[int]) -> list[Server]:
    kinds = list(enumerate(zip(instance.capacities, instance.devices, strict=True)))
    return [Server(k, capacity, devices=own) for k, (capacity, own) in kinds for _ in range(counts[k])]


@pytest.mark.parametrize("seed", seeds(25, 200))
def test_equal_servers_against_every_placement(seed: int) -> None:
    instance, workload = tasks_at_once(random.Random(seed), 1)
    least = next(n for n in itertools.count(1) if run_together(servers_of(instance, [n]), instance.tasks))
    bound = fewest_servers(workload, AT_ONCE, 0.001, 1.0)
    assert least - 1 <= bound <= least


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_mixes_against_every_placement(seed: int) -> None:
    rng = random.Random(seed)
    instance, workload = tasks_at_once(rng, 2)
    kinds = Kinds(("first", "second"), (Fraction(10), Fraction(rng.randint(3, 15))))
    mixes = sorted(itertools.product(range(len(instance.tasks) + 1), repeat=2), key=kinds.total)
    least = next(kinds.total(mix) for mix in mixes if run_together(servers_of(instance, mix), instance.tasks))
    bound = least_cost(workload, AT_ONCE, kinds, 0.001, 1.0)
    assert bound.value <= bound.of_integers <= least and bound.of_integers >= least / 2


def test_shares_by_hand() -> None:
    """Three shares of .6 on servers of two devices: two servers, though one has as much in all."""
    pods, nodes = (str(CASES / f"gpu-shares-{name}.csv") for name in ("pods", "nodes"))
    workload = packenv.workload(pods, servers=nodes, slot_seconds=1)
    assert fewest_servers(workload, AT_ONCE, 0.001, 1.0) == 2


def test_a_server_of_many_small_tasks() -> None:
    """Tasks that need nearly nothing of a resource of which machines have much: its area is counted, not every sum of theirs."""
    types = Kinds(("0.5:2000:0.25@T4", "0.5:2000:0.125@T4"), (Fraction(1), Fraction("0.3")))
    workload = packenv.workload(str(CASES / "gpu-shares-pods.csv"), servers=types.one_of_each, slot_seconds=1)
    assert least_cost(workload, AT_ONCE, types, 0.001, 1.0).of_integers == Fraction("0.9")
