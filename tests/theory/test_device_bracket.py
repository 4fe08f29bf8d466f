"""The bracket of ρ* with devices: against all configurations of small servers, by hand, and what it says of kinds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

import packenv
from packenv import Workload
from packenv.jobs import Jobs
from packenv.theory.capacity.devices import DeviceBracket, device_bracket
from packenv.workloads.servers import Servers
from tests.reference.instances import Instance, random_instance, to_jobs, to_servers, with_devices
from tests.reference.model import Running, Server
from tests.seeds import seeds


def sets_on(server: Server, shapes: list, first: int = 0) -> Iterator[tuple[int, ...]]:
    """All that an empty server can hold of these tasks, as indices in increasing order, by every assignment of devices."""
    yield ()
    for n in range(first, len(shapes)):
        task = shapes[n]
        if not server.takes(task):
            continue
        able = [device for device in range(server.devices.number) if server.left(device) >= (task.share or server.devices.whole)]
        alike = {server.left(device): device for device in able}.values()  # devices with as much left are alike
        choices = [(device,) for device in alike] if task.share else [tuple(able[: task.devices])]
        for on in choices:
            server.running.append(Running(0, task.demand, 1, 0, on, task.share))
            yield from ((n, *rest) for rest in sets_on(server, shapes, n))
            server.running.pop()


def exact(instance: Instance) -> float:
    """ρ* by the linear program over all configurations of each server."""
    asked = [(task.demand, task.devices, task.share, task.kinds) for task in instance.tasks]
    distinct = [*dict.fromkeys(asked)]
    shapes = [instance.tasks[asked.index(shape)] for shape in distinct]
    of = [distinct.index(shape) for shape in asked]
    mass = np.bincount(of, [task.service for task in instance.tasks], len(shapes))
    columns = []
    for k, (capacity, devices) in enumerate(zip(instance.capacities, instance.devices, strict=True)):
        held = {
            tuple(np.bincount(found, minlength=len(shapes)))
            for found in sets_on(Server(k, capacity, devices=devices), shapes)
            if found
        }
        columns += [(k, counts) for counts in held]
    covers = np.array([counts for _, counts in columns], float).T
    on = np.array([[float(k == server) for k, _ in columns] for server in range(len(instance.capacities))])
    above = np.block([[-covers, (mass / mass.sum())[:, None]], [on, np.zeros((len(on), 1))]])
    right = np.concatenate([np.zeros(len(shapes)), np.ones(len(on))])
    return float(-linprog(np.append(np.zeros(len(columns)), -1.0), A_ub=above, b_ub=right, method="highs").fun)


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_against_all_configurations(seed: int) -> None:
    rng = random.Random(seed)
    servers = [(4,)] * rng.randint(1, 2)
    plain = random_instance(rng, servers=servers, tasks=rng.randint(2, 5), initial=False, kind="ties")
    instance = with_devices(rng, plain)
    bracket = device_bracket(Workload(jobs=to_jobs(instance), servers=to_servers(instance)), 0.001, 5.0)
    truth = exact(instance)
    assert bracket.lower <= truth * (1 + 1e-6) and truth <= bracket.upper * (1 + 1e-6)
    assert bracket.lower >= 0.7 * truth and bracket.upper <= 1.5 * truth + 1e-6


def table(*needs: tuple[int, int, int], servers: Servers) -> Workload:
    sizes = [(0.01, number if share == 0 else share / 1000) for number, share, _ in needs]
    jobs = Jobs.of([0] * len(needs), sizes, [10] * len(needs))
    jobs = Jobs(jobs.arrival, jobs.demand, jobs.service, devices=np.array(needs), device_kinds=("A10", "T4"))
    return Workload(jobs=jobs, servers=servers, resources=("cpu", "gpu"))


def test_by_hand() -> None:
    """Shares of .6: one a device, where the sums would hold three on two. Half whole ones, half of .5: 4/3 a device."""
    two = Servers([[1, 2]], np.array([[2, 1000, 0]]), ("A10",))
    for needs, value in (([(1, 600, 0)], 2.0), ([(1, 0, 0), (1, 500, 0)], 8 / 3), ([(2, 0, 0)], 1.0)):
        bracket = packenv.max_workload(table(*needs, servers=two))
        assert isinstance(bracket, DeviceBracket) and bracket.reached
        assert bracket.lower == pytest.approx(value, rel=1e-5) and bracket.upper == pytest.approx(value, rel=1e-5)


def test_kinds() -> None:
    """8 tasks on A10 alone for 10 slots that arrive in one: 80 wanted of 60 there, 133 %, while the cluster has 160."""
    servers = Servers([[1, 60], [1, 100]], np.array([[60, 1000, 0], [62, 1000, 1]]), ("A10", "T4"))
    bracket = packenv.max_workload(table(*[(1, 0, 1)] * 8, (1, 0, 3), servers=servers))
    shares = {load.kinds: load.share for load in bracket.kinds}
    assert shares == {"": pytest.approx(90 / 122), "A10": pytest.approx(80 / 60), "A10|T4": pytest.approx(90 / 122)}
    assert "133.3%" in repr(bracket.tables()[1].rows) and bracket.upper == pytest.approx(60 * 9 / 8, rel=1e-5)
