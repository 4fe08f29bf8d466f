"""Sparrow, Hawk, Eagle, LWL and Yaq: fast = reference, what holds in every slot, limits that are exact, and bad input."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import packenv
from packenv import UNIT, InputError, Jobs, Workload, policies
from packenv.cluster import NONE
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.reference.cases_probing import drawing
from tests.reference.instances import Instance
from tests.reference.probing_instances import probing_instance, probing_options
from tests.reference.table import Task
from tests.seeds import seeds

NAMES = ("sparrow", "hawk", "eagle", "lwl", "yaq")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", seeds(6, 50))
def test_fast_is_reference(name: str, seed: int) -> None:
    rng = random.Random(f"{name}{seed}")
    for _ in range(2):
        instance = probing_instance(rng, resources=rng.choice([1, 1, 2, 3]))
        options = probing_options(rng, name, len(instance.capacities))
        compare(instance, name, options, seed)


def entries(state: Any, server: int) -> list[Any]:
    """A server's queue, front to back, looked at from both ends."""
    found, k, behind = [], int(state.queue[server]["head"]), NONE
    while k != NONE:
        assert state.entry[k]["prev"] == behind
        assert state.entry[k]["queued"]
        found.append(state.entry[k])
        k, behind = int(state.entry[k]["next"]), k
    assert state.queue[server]["tail"] == behind
    return found


def check(state: Any) -> None:
    for server, queue in enumerate(state.queue):
        waiting = entries(state, server)
        bound = sum(entry["row"] != NONE for entry in waiting)
        assert queue["reserved"] >= 0
        assert queue["central"] == bound + queue["running"]
        assert server < state.general or queue["central"] == 0  # no long task on the short partition
        assert all(entry["passed"] <= state.row[entry["job"]]["patience"] for entry in waiting)


def check_end(state: Any) -> None:
    """Nothing is left: every entry that was used is unused again."""
    k, free = int(state.free[0]), set[int]()
    while k != NONE:
        free.add(k)
        k = int(state.entry[k]["next"])
    assert len(free) == state.assigned("fresh") > 0
    assert state.assigned("sent") == state.assigned("received") > 0
    assert (state.queue["head"] == NONE).all()
    assert not any(state.queue[count].any() for count in ("reserved", "central", "running", "placed"))
    assert not state.loaded.any() and not state.waiting.within.any()
    assert not state.row["unassigned"].any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", seeds(3, 10))
def test_at_every_slot(name: str, seed: int) -> None:
    rng = random.Random(f"state {name}{seed}")
    instance = replace(probing_instance(rng), slots=10_000)
    states: list[Any] = []

    def watch(state: Any) -> None:
        check(state)
        states[:] = [state]

    try:
        outcome = fast.run(
            instance, fast.make(name, **probing_options(rng, name, len(instance.capacities))), seed, steps=1, watch=watch
        )
    except InputError:
        return
    assert len(outcome.start) == len(instance.tasks)
    check_end(states[0])


# Limits that are exact.


def starts(instance: Instance, name: str, seed: int = 0, **options: Any) -> Any:
    outcome = fast.run(instance, fast.make(name, **options), seed)
    return outcome.start, outcome.server


EQUAL = [
    ("hawk", {"cutoff": 1e9, "reserved": 0.5}, "sparrow", {}),  # no long job: nobody steals
    ("hawk", {"cutoff": 0.0, "reserved": 0.0}, "lwl", {}),  # all are long
    ("eagle", {"sharing": False, "sticky": False, "srpt": False, "minimum": 2}, "hawk", {"attempts": 0}),
    ("eagle", {"cutoff": 1e9, "minimum": 2}, "eagle", {"cutoff": 1e9, "minimum": 2, "sharing": False}),
    ("yaq", {"srpt": False}, "lwl", {}),
    ("yaq", {"threshold": 0.0}, "lwl", {}),
]


@pytest.mark.parametrize(("name", "options", "other", "its"), EQUAL)
@pytest.mark.parametrize("delay", [0.0, 2.0])
def test_one_is_the_other(name: str, options: dict[str, Any], other: str, its: dict[str, Any], delay: float) -> None:
    for seed in range(6):
        instance = probing_instance(random.Random(seed), workers=5)
        assert starts(instance, name, seed, delay=delay, **options) == starts(instance, other, seed, delay=delay, **its)


def fifo(instance: Instance) -> dict[int, int]:
    """Kiefer and Wolfowitz: a task starts when the first of the workers is free (one worker: Lindley)."""
    free = [0] * len(instance.capacities)
    start = {}
    for task in instance.tasks:
        worker = free.index(min(free))
        start[task.row] = max(task.arrival, free[worker])
        free[worker] = start[task.row] + task.service
    return start


@pytest.mark.parametrize("seed", seeds(4, 20))
def test_least_waiting_time_is_one_central_queue(seed: int) -> None:
    """With single tasks and exact estimates."""
    rng = random.Random(seed)
    instance = probing_instance(rng, slots=(1,), single=True, exact=True, initial=False, drain=True)
    assert starts(instance, "lwl")[0] == fifo(instance)


def test_late_binding_is_one_central_queue() -> None:
    """With a probe of every single task on both workers."""
    seed = drawing(*[(2, 0), (2, 1)] * 6)
    for case in range(10):
        rng = random.Random(case)
        arrivals = sorted(rng.randrange(12) for _ in range(6))
        tasks = [Task(row, arrival, (UNIT,), rng.randint(1, 9)) for row, arrival in enumerate(arrivals)]
        instance = Instance(tasks, [(UNIT,)] * 2, [], None)
        assert starts(instance, "sparrow", seed, minimum=1)[0] == fifo(instance)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_sticky_probes_everywhere_are_one_central_queue(workers: int) -> None:
    """Of 20 tasks on three workers, all but once in 10¹⁰ jobs."""
    for seed in range(4):
        rng = random.Random(seed)
        arrivals = sorted(rng.randrange(200) for _ in range(4))
        tasks = [Task(row, arrivals[row // 20], (UNIT,), rng.randint(1, 9), job=row // 20) for row in range(80)]
        instance = Instance(tasks, [(UNIT,)] * workers, [], None)
        everywhere = {"ratio": workers, "minimum": 1, "cutoff": 1e9, "srpt": False}
        assert starts(instance, "eagle", seed, **everywhere)[0] == fifo(instance)


# Bad input.

TABLE = Jobs.of([0, 0, 0], [0.5, 0.5, 0.25], [9, 1, 1])
THREE = Workload(jobs=TABLE, servers=3)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("sparrow:ratio=0", "ratio must lie between 1 and 3, not 0"),
        ("sparrow:ratio=4", "ratio must lie between 1 and 3, not 4"),
        ("sparrow:minimum=0", "minimum must lie between 1 and 20 probes on 3 servers, not 0"),
        ("sparrow:minimum=21", "minimum must lie between 1 and 20 probes on 3 servers, not 21"),
        ("lwl:delay=-1", "delay must lie between 0 and 1e+12, not -1"),
        ("yaq:threshold=inf", "threshold must lie between 0 and 1e+12, not inf"),
        ("yaq:threshold=-0.5", "threshold must lie between 0 and 1e+12, not -0.5"),
        ("hawk:attempts=-1", "attempts must lie between 0 and 1e+12, not -1"),
        ("hawk:reserved=1.5", "reserved must lie between 0 and 1, not 1.5"),
        ("hawk:reserved=-0.5", "reserved must lie between 0 and 1, not -0.5"),
        ("hawk:cutoff=-2", "cutoff must lie between 0 and 1e+12, not -2"),
        ("hawk:reserved=1,cutoff=5", "reserved=1 of 3 servers leaves none to long jobs"),
        ("eagle:reserved=0,cutoff=5,minimum=3", "reserved=0 of 3 servers leaves none to short jobs"),
    ],
)
def test_bad_parameters(policy: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        packenv.simulate(THREE, policy, drain=True)
    assert str(error.value).endswith(message)
    assert str(error.value).startswith(policy.partition(":")[0])


@pytest.mark.parametrize(
    "policy",
    [
        "hawk:reserved=1,cutoff=9",  # no job is longer than the cutoff
        "eagle:reserved=0,cutoff=9,minimum=3",
        "eagle:reserved=0,cutoff=5,minimum=3,sharing=false",
        "hawk:reserved=0,cutoff=0.5",  # all are
        "eagle:reserved=0,cutoff=0.5,minimum=3",
    ],
)
def test_an_empty_partition_that_nobody_needs(policy: str) -> None:
    assert packenv.simulate(THREE, policy, drain=True).completed == 3


def test_a_task_larger_than_a_server() -> None:
    for name in NAMES:
        with pytest.raises(InputError, match=f"^{name}.*: the largest task of the table does not fit in server 1"):
            packenv.simulate(THREE.with_(servers=[1.0, 0.3, 1.0]), f"{name}", drain=True)


def test_seconds_become_slots() -> None:
    """The cutoff and the delay are in seconds; the first task is that of a long job."""
    tenths = THREE.with_(slot_seconds=0.1)
    for workload, knobs in ((THREE, "cutoff=5,delay=2"), (tenths, "cutoff=0.5,delay=0.2")):
        result = packenv.simulate(workload, f"hawk:reserved=0.4,minimum=1,{knobs}", drain=True, schedule=True)
        assert result.schedule is not None
        assert result.schedule.start.tolist() == [2, 6, 6]  # sent at once; probes ask for a task that comes after three messages
        assert result.schedule.server[0] < 2


def test_chance_is_the_seed() -> None:
    results = [packenv.simulate(THREE, policies.Sparrow(), seed=seed, schedule=True, drain=True) for seed in (0, 0, 1, 2, 3)]
    servers = [tuple(result.schedule.server.tolist()) for result in results if result.schedule is not None]
    assert servers[0] == servers[1]
    assert len(set(servers)) > 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("servers", [1, 2, 3, 10, 19])
def test_defaults_work_on_any_cluster(name: str, servers: int) -> None:
    table = Jobs.of([0] * 12, [1.0] * 12, [1] * 11 + [50])
    assert packenv.simulate(Workload(jobs=table, servers=servers), name, drain=True).completed == 12
