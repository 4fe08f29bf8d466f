"""Delay scheduling: fast = reference, cases and intervals worked by hand, and how long anything waits for its data."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import packenv
from packenv import InputError
from packenv.policies import Delay, DelayDynamic
from packenv.simulation import setting_of
from packenv.workloads.named.blocks import head_of_line
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.reference import model, policies
from tests.reference.instances import SERVERS, Instance, random_instance
from tests.reference.table import Task
from tests.seeds import seeds

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
@pytest.mark.parametrize("seed", seeds(2, 6))
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
    for _ in range(3):
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


def test_a_larger_cluster() -> None:
    """Many servers wait with room while others work: what fast need not offer again makes no difference."""
    rng = random.Random(4)
    for _ in range(2):
        tasks = [
            Task(
                row,
                arrival=row // 8 * 3,
                demand=(UNIT,),
                service=rng.randint(4, 20),
                job=row // 8,
                home=tuple(rng.sample(range(40), k=2)),
                overhead=6,
            )
            for row in range(240)
        ]
        compare(Instance(tasks, [(UNIT,)] * 40, [], None), "delay", {"interval": 4.0})


@given(seed=st.integers(0, 2**32), rule=st.sampled_from([rule for rule in RULES if "skips" not in rule[1]]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_waits_for_its_data_longer_than_the_bound(seed: int, rule: tuple[str, dict[str, Any]]) -> None:
    """PAPERS §5: the largest interval in force meanwhile, and then until a server is offered.

    Servers with room are offered in every slot: one slot after the interval has run out no server may have room for a task
    that waits for its data, until that task starts.
    """
    name, options = rule
    instance = replace(many_servers(random.Random(seed), 1), slots=None)
    largest = max(task.overhead for task in instance.tasks) * max([1.0, *(factor for _, factor in instance.network.steps)])
    own = fast.make(name, **options)
    interval = max(getattr(own, "interval", 0.0), largest if name == "delay-dynamic" else 0.0)
    rack = max(getattr(own, "rack", 0.0), largest if name == "delay-dynamic" else 0.0)
    bound = int(interval + rack) + 1
    outcome = fast.run(instance, own)
    stay = {t.row: instance.network.overhead(t, outcome.server[t.row], outcome.start[t.row]) + t.service for t in instance.tasks}
    for task in instance.tasks:
        start = outcome.start[task.row]
        first_skip = start - int(outcome.state.delayed[task.row])
        for slot in range(first_skip + bound, start):
            for server, (capacity,) in enumerate(instance.capacities):
                here = [t for t in instance.tasks if outcome.server[t.row] == server]
                used = sum(t.demand[0] for t in here if outcome.start[t.row] <= slot < outcome.start[t.row] + stay[t.row])
                used += sum(job.demand[0] for job in instance.initial if job.server == server and slot < job.remaining)
                assert used + task.demand[0] > capacity, f"row {task.row} waits in slot {slot}, and server {server} has room"


def test_the_bound_of_the_seed() -> None:
    """With a constant overhead t the interval becomes t, and then no task takes longer than t_compute + 2 t and the slot in
    which the interval has just run out, where there is always a server with room."""
    service, overhead, jobs = 10, 8, 60
    tasks = [Task(row, row // 2 * 100, (UNIT,), service, job=row // 2, home=(0,), overhead=overhead) for row in range(2 * jobs)]
    outcome = fast.run(Instance(tasks, [(UNIT,)] * 3, [], None), DelayDynamic())
    interval = outcome.state.interval[0, 0]
    assert interval == pytest.approx(overhead, abs=1e-9)
    took = [outcome.start[row] - tasks[row].arrival + service + int(outcome.state.overhead[row]) for row in outcome.start]
    assert max(took[jobs:]) <= service + 2 * overhead + 1
    assert took[-1] == service + 2 * overhead + (interval >= overhead)  # the second of a job, in slot ⌊interval⌋ + 1


@pytest.mark.parametrize("paper, expected", [(True, [1.5, 0.75, 0.375, 0.1875, 0.09375]), (False, [3.0] * 5)])
def test_five_tasks_at_home(paper: bool, expected: list[float]) -> None:
    """In the paper's variant they pull 3 s down to 0.09 s."""
    for count, interval in enumerate(expected, 1):
        tasks = [Task(row, row, (UNIT,), 1, job=row, home=(0,), overhead=5) for row in range(count)]
        outcome = fast.run(Instance(tasks, [(UNIT,)], [], count + 1), DelayDynamic(paper=paper))
        assert outcome.state.interval[0, 0] == interval


def closed_form(servers: int, skips: int, tasks: int = 20, copies: int = 3) -> float:
    """Exact mean locality of jobs that launch at random offers, and with k tasks left are refused `skips` of them at most."""
    nowhere = 1 - copies / servers  # the chance that a server has none of the data of one task
    return 1 - sum(nowhere ** (k * (skips + 1)) for k in range(1, tasks + 1)) / tasks


@pytest.mark.parametrize("servers, skips, jobs", [(100, 24, 500), (1000, 232, 150)])
def test_the_closed_form(servers: int, skips: int, jobs: int) -> None:
    """PAPERS §5: D ≥ −(M/R) ln((1 − l) N / (1 + (1 − l) N)) skips for locality l = 0.95 of jobs of N = 20 tasks, R = 3."""
    assert skips == math.ceil(-servers / 3 * math.log(0.05 * 20 / (1 + 0.05 * 20)))
    workload = head_of_line(servers, jobs)
    result = packenv.simulate(workload, Delay(skips=skips, paper=True))
    assert result.data is not None
    job = workload.jobs.job[result.data.row]  # type: ignore[index, union-attr]
    done = np.bincount(job) == 20
    share = np.bincount(job, result.data.level == 0)[done] / 20
    error = share.std() / math.sqrt(len(share))
    assert len(share) > 0.95 * jobs
    assert abs(share.mean() - closed_form(servers, skips)) < 3 * error
    assert share.mean() > 0.95 - 3 * error
    assert {100: 0.9535, 1000: 0.9504}[servers] == pytest.approx(closed_form(servers, skips - 1), abs=1e-4)


@pytest.mark.parametrize(
    "policy, problem",
    [
        (Delay(interval=-1.0), "delay: intervals are seconds >= 0, not -1.0 and 3.0"),
        (Delay(rack=math.inf), "delay: intervals are seconds >= 0"),
        (Delay(skips=-2), "delay: skips must not be negative, not -2"),
        (DelayDynamic(weight=0.0), "delay-dynamic: needs 0 < weight <= 1, not 0.0"),
        (DelayDynamic(interval=math.nan), "delay-dynamic: intervals are seconds >= 0, not nan"),
    ],
)
def test_bad_parameters(policy: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        policy.needs(setting_of(packenv.workload("delay/facebook")))


def test_intervals_are_seconds() -> None:
    """A slot of the named workload is a tenth of one."""
    setting = setting_of(packenv.workload("delay/racks"))
    assert Delay(interval=2.0, rack=0.5).initial_state(setting, 0).interval.tolist() == [[20.0, 5.0]]
