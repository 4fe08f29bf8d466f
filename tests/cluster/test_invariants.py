"""At every slot of random runs: no server above capacity, no task lost, early or on two servers, none left that fits."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import packenv
from packenv import UNIT, Workload
from tests.cluster.replay import violations
from tests.reference.instances import SERVERS, SIZES, Instance, random_instance, to_jobs
from tests.reference.table import Initial, Task

CONSERVING = {"bf-j": "vectors", "bf-s": "vectors", "bf-js": "vectors", "vqs-bf:J=4": "scalar"}
JOBS = {
    "price": "vectors",
    "priority": "vectors",
    "capacity": "vectors",
    "fifo:blocking=false": "vectors",
    "fifo": None,
    "tetris:f=0": "vectors",
    "tetris": None,
    "drf": "vectors",
    "task-fair": "vectors",
}
OTHERS = ("vqs:J=4", "fifo-ff", "slot-fifo", "bf-js:stall", "vqs-bf:J=3,stall", "vqs:J=2,stall", "maxweight:types=3")

instances = st.builds(
    lambda seed, resources, servers, kind: random_instance(
        random.Random(seed), resources=resources, servers=servers, kind=kind, tasks=seed % 50 + 1
    ),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.sampled_from(SERVERS),
    st.sampled_from(SIZES),
)


def at_home(instance: Instance) -> Instance:
    """The same tasks, none of which stays longer anywhere."""
    return replace(instance, tasks=[replace(task, home=(), overhead=0) for task in instance.tasks])


phased_instances = st.builds(
    lambda seed, resources, servers: at_home(
        random_instance(random.Random(seed), resources=resources, servers=servers, jobs=True)
    ),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.sampled_from(SERVERS),
)


def simulate(instance: Instance, policy: str) -> packenv.Result:
    workload = Workload(jobs=to_jobs(instance), servers=np.array(instance.capacities) / UNIT)
    assert workload.servers.units.tolist() == [list(capacity) for capacity in instance.capacities]
    initial = [(np.array(job.demand) / UNIT, job.server, job.remaining) for job in instance.initial]
    drain = instance.slots is None
    return packenv.simulate(workload, policy, instance.slots, drain=drain, schedule=True, initial=initial)


def check(instance: Instance, policy: str, conserving: str | None) -> None:
    result = simulate(instance, policy)
    assert result.schedule is not None
    rows = len(instance.tasks)
    start, server = (np.concatenate([column, np.full(rows - len(column), -1)]).tolist() for column in result.schedule[:2])
    assert violations(instance, start, server, result.slots, conserving=conserving) == []
    assert result.started == sum(slot >= 0 for slot in start)
    assert result.arrived == sum(task.arrival < result.slots for task in instance.tasks)
    assert result.arrived == result.started + result.waiting
    ended = [s + task.service for s, task in zip(start, instance.tasks, strict=True) if s >= 0]
    assert result.completed == sum(slot < result.slots for slot in ended) + (instance.slots is None) * ended.count(result.slots)


@pytest.mark.parametrize("policy", CONSERVING)
@given(instance=instances)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_conserving(policy: str, instance: Instance) -> None:
    check(instance, policy, CONSERVING[policy])


@pytest.mark.parametrize("policy", JOBS)
@given(instance=phased_instances)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_jobs(policy: str, instance: Instance) -> None:
    check(instance, policy, JOBS[policy])


@pytest.mark.parametrize("policy", OTHERS)
@given(instance=instances)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_not_conserving(policy: str, instance: Instance) -> None:
    try:
        check(instance, policy, None)
    except packenv.InputError as error:
        assert {"slot-fifo": "larger than a slot", "maxweight:types=3": "maximal configurations"}[policy] in str(error)


THIRD = UNIT // 3
PLAIN = Instance(
    [Task(0, 0, (2 * THIRD,), 3), Task(1, 0, (2 * THIRD,), 2), Task(2, 1, (THIRD,), 2), Task(3, 1, (THIRD,), 1, (0,))],
    [(UNIT,)],
    [Initial((THIRD,), 0, 1)],
    None,
)
GOOD = ([0, 3, 1, 3], [0, 0, 0, 0])


def test_the_check_accepts_a_good_schedule() -> None:
    result = simulate(PLAIN, "bf-j")
    assert result.schedule is not None
    assert (result.schedule.start.tolist(), result.schedule.server.tolist()) == GOOD
    assert violations(PLAIN, *GOOD, result.slots, conserving="vectors") == []
    assert violations(PLAIN, *GOOD, result.slots, conserving="scalar") == []


@pytest.mark.parametrize(
    "start, server, problem",
    [
        ([0, 0, 1, 3], [0, 0, 0, 0], "above its capacity"),
        ([0, 3, 0, 3], [0, 0, 0, 0], "row 2 starts before it is eligible"),
        ([0, 3, 1, 2], [0, 0, 0, 0], "row 3 starts before it is eligible"),  # its predecessor leaves in slot 3
        ([0, 3, 1, -1], [0, 0, 0, -1], "row 3 is lost"),
        ([0, 3, 1, 3], [0, 0, 0, 1], "row 3 has no server"),
        ([0, -1, 1, 3], [0, 0, 0, 0], "row 1 has a server but no start"),
        ([0, 4, 1, 3], [0, 0, 0, 0], "slot 3: row 1 waits and fits on server 0"),
        ([0, 3, 1, 9], [0, 0, 0, 0], "row 3 starts after the end"),
    ],
)
def test_the_check_finds_planted_violations(start: list[int], server: list[int], problem: str) -> None:
    assert any(problem in found for found in violations(PLAIN, start, server, 5, conserving="vectors"))


def test_the_check_finds_tampered_runs() -> None:
    """Each start of a busy run moved by one slot, to either side, is a violation: best fit leaves no freedom in time."""
    instance = random_instance(random.Random(5), servers="one", kind="mixed", tasks=40, initial=False, drain=True)
    result = simulate(instance, "bf-s")
    assert result.schedule is not None
    for row in range(40):
        for shift in (-1, 1):
            start = result.schedule.start.tolist()
            start[row] += shift
            assert violations(instance, start, result.schedule.server.tolist(), result.slots + 1, conserving="vectors")
