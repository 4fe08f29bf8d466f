"""Tests of the reference itself: cases worked by hand, and what must hold in every run."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from packenv.units import UNIT
from tests.reference.case import WorkedCase, rows, servers, there
from tests.reference.instances import SERVERS, SIZES, Instance, random_instance, to_jobs
from tests.reference.job_policies import JOB_POLICIES
from tests.reference.model import NoProgress, Scale, Server, World, simulate
from tests.reference.partition import default_levels, heaviest, levels, reduced_configurations, type_of
from tests.reference.policies import POLICIES, make
from tests.reference.probing import PROBING
from tests.reference.probing_instances import probing_instance, probing_options
from tests.reference.table import Task
from tests.reference.whole_jobs import WHOLE_JOBS
from tests.reference.worked_cases import BOUNDARIES, CASES

ONE = servers(12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_worked_case(case: WorkedCase) -> None:
    policy = make(case.policy, **case.options)
    at = {"initial": case.initial, "network": case.network}
    outcome = simulate(case.tasks, case.capacities, policy, case.slots, drain=case.slots is None, **at)
    assert outcome.start == {row: slot for row, (slot, _) in case.expected.items()}
    assert outcome.server == {row: server for row, (_, server) in case.expected.items()}


def test_worked_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.policy for case in CASES} == set(POLICIES)


# The partition and the configurations.


@pytest.mark.parametrize(("J", "size", "expected"), BOUNDARIES)
def test_type_at_a_boundary(J: int, size: int, expected: int) -> None:
    assert type_of(size, UNIT, J) == expected


@pytest.mark.parametrize("J", range(2, 7))
def test_types_are_the_intervals_of_the_paper(J: int) -> None:
    """Eq. 6 in fractions, on capacities that boundaries do not divide."""
    for capacity in (96, 97, 100, 1000):
        for size in range(1, capacity + 1):
            x = Fraction(size, capacity)
            inside = [2 * J - 1] if x <= Fraction(1, 2**J) else []
            for m in range(J):
                top = Fraction(1, 2**m)
                inside += [2 * m] if top * 2 / 3 < x <= top else []
                inside += [2 * m + 1] if top / 2 < x <= top * 2 / 3 else []
            assert [type_of(size, capacity, J)] == inside
        assert type_of(capacity + 1, capacity, J) is None


K_RED = {
    2: [{0: 1}, {2: 2}, {3: 3}, {1: 1, 3: 1}],
    3: [{0: 1}, {2: 2}, {4: 4}, {3: 3}, {5: 6}, {1: 1, 4: 1}, {1: 1, 3: 1}, {1: 1, 5: 2}],
    4: [
        *[{0: 1}, {2: 2}, {4: 4}, {6: 8}, {3: 3}, {5: 6}, {7: 12}],
        *[{1: 1, 4: 1}, {1: 1, 6: 2}, {1: 1, 3: 1}, {1: 1, 5: 2}, {1: 1, 7: 4}],
    ],
    5: [
        *[{0: 1}, {2: 2}, {4: 4}, {6: 8}, {8: 16}, {3: 3}, {5: 6}, {7: 12}, {9: 24}],
        *[{1: 1, 4: 1}, {1: 1, 6: 2}, {1: 1, 8: 5}, {1: 1, 3: 1}, {1: 1, 5: 2}, {1: 1, 7: 4}, {1: 1, 9: 8}],
    ],
    6: [
        *[{0: 1}, {2: 2}, {4: 4}, {6: 8}, {8: 16}, {10: 32}, {3: 3}, {5: 6}, {7: 12}, {9: 24}, {11: 48}],
        *[{1: 1, 4: 1}, {1: 1, 6: 2}, {1: 1, 8: 5}, {1: 1, 10: 10}],
        *[{1: 1, 3: 1}, {1: 1, 5: 2}, {1: 1, 7: 4}, {1: 1, 9: 8}, {1: 1, 11: 16}],
    ],
}


@pytest.mark.parametrize("J", range(2, 7))
def test_reduced_configurations(J: int) -> None:
    configurations = reduced_configurations(J)
    assert configurations == K_RED[J]
    assert len(configurations) == 4 * J - 4
    top = {2 * m: Fraction(1, 2**m) for m in range(J)} | {2 * m + 1: Fraction(2, 3 * 2**m) for m in range(J)}
    assert all(sum(k * top[j] for j, k in configuration.items()) <= 1 for configuration in configurations)


def test_heaviest_takes_the_earliest_of_equals() -> None:
    assert heaviest(reduced_configurations(3), {}) == {0: 1}
    assert heaviest(reduced_configurations(3), {1: 5}) == {1: 1, 4: 1}
    assert heaviest(reduced_configurations(3), {0: 6, 2: 3, 3: 2, 5: 1}) == {0: 1}
    assert heaviest(reduced_configurations(3), {0: 6, 2: 3, 3: 2, 5: 2}) == {5: 6}


def test_levels_of_smaller_servers() -> None:
    assert [levels(5, capacity, 96) for capacity in (96, 49, 48, 47, 24, 12, 6, 1, 0)] == [5, 5, 4, 4, 3, 2, 2, 2, 2]


def test_default_levels() -> None:
    assert default_levels([96] * 10, 96) == 2
    assert default_levels([24] + [96] * 99, 96) == 2  # 1 % is allowed
    assert default_levels([24] + [96] * 98, 96) == 3
    assert default_levels([1], UNIT) == 16


# The model.


def test_scalar_size() -> None:
    scale = Scale((10, 7, 0))
    assert scale.size((3, 2, 0)) == 3  # 2 of 7 is 2.86 of 10
    assert scale.size((2, 2, 0)) == 3
    assert scale.capacity((5, 7, 0)) == 5
    assert scale.capacity((10, 6, 0)) == 8  # 8.57, down
    assert Scale((10,)).size((3,)) == 3
    assert Scale((10,)).capacity((7,)) == 7


def test_measures() -> None:
    table = [Task(0, 0, (7, 2), 2), Task(1, 0, (8, 1), 1)]
    outcome = simulate(table, [(10, 10)], make("bf-j"), drain=True)
    assert (outcome.queue, outcome.waiting_size, outcome.used) == ([1, 1, 0], [8, 8, 0], [(7, 2), (7, 2), (8, 1)])
    assert outcome.max_queue == 1
    assert outcome.eligible == {0: 0, 1: 0}


def test_horizon() -> None:
    table = rows((0, 12, 3), (2, 12, 1))
    assert len(simulate(table, ONE, make("bf-j"), slots=7).queue) == 7
    assert len(simulate(table, ONE, make("bf-j")).queue) == 3  # through the last arrival slot
    assert len(simulate(table, ONE, make("bf-j"), drain=True).queue) == 4  # the last completion is at slot 4
    assert simulate([], ONE, make("bf-j"), drain=True).queue == []
    assert len(simulate([], ONE, make("bf-j"), drain=True, initial=[there(0, 6, 5)]).queue) == 5


def test_a_run_that_cannot_end_says_so() -> None:
    crossed = [(12, 6), (6, 12)]  # the task fits the first server, but its scalar size is above both scalar capacities
    table = [Task(0, 3, (9, 3), 1)]
    assert simulate(table, crossed, make("fifo-ff"), drain=True).server == {0: 0}
    with pytest.raises(NoProgress, match=r"slot 3: rows \[0\]"):
        simulate(table, crossed, make("vqs"), drain=True)


def test_slot_fifo_refuses_what_is_larger_than_a_slot() -> None:
    with pytest.raises(ValueError, match="larger than a slot"):
        simulate(rows((0, 7, 1)), ONE, make("slot-fifo", slots=2), drain=True)
    with pytest.raises(ValueError, match="larger than a slot"):
        simulate(rows((0, 2, 1)), ONE, make("slot-fifo"), drain=True, initial=[there(0, 3, 2)])
    with pytest.raises(ValueError, match="larger than a slot"):  # the default is at least one slot
        simulate(rows((0, 12, 1)), servers(12, 6), make("slot-fifo"), drain=True)


# What must hold in every run, on random instances; the model itself checks its invariants at every slot.


SHARING = ("drf", "task-fair", "slot-fair", "tetris", "delay", "delay-dynamic", "fair", *WHOLE_JOBS)


def instance_for(rng: random.Random, name: str, resources: int) -> Instance:
    if name in PROBING:
        return probing_instance(rng, resources=resources, drain=True)
    jobs, placed = name in (*JOB_POLICIES, *SHARING), rng.random() < 0.3
    return random_instance(rng, resources=resources, drain=True, jobs=jobs, placed=placed)


def options_for(rng: random.Random, name: str, servers: int) -> dict[str, object]:
    if name in PROBING:
        return probing_options(rng, name, servers)
    if name in SHARING:
        if name == "slot-fair":
            return {"slots": 4, "checked": 3}  # all resources, so that nothing takes longer
        if name == "weighted-fair":
            return {"alpha": rng.choice([-1.0, 0.0, 0.7])}
        return {"f": rng.choice([0.0, 0.25, 0.7])} if name == "tetris" else {}
    if name in JOB_POLICIES:
        prices = {"welfare": rng.choice([0.0, 0.1, 1.0]), "gamma": rng.choice([0.0, 0.5])} if name == "price" else {}
        return {"blocking": rng.random() < 0.4, **prices}
    if name in ("easy", "conservative", "reserve"):
        return {"age": rng.choice([0, 3, 20])} if name == "reserve" else {}
    if name == "quickswap":
        return {"threshold": rng.choice([-1, 0, 1]), "types": rng.choice([1, 2, 16])}
    options: dict[str, object] = {"stall": rng.random() < 0.4}
    if name in ("vqs", "vqs-bf"):
        adaptive = {"adaptive": True, "first_check": rng.choice([2, 4, 8])}
        options |= adaptive if rng.random() < 0.3 else {"J": rng.randint(2, 5)}
    if name == "maxweight":
        options |= {"limit": 400, **rng.choice([{"J": 2}, {"J": 3}, {"types": 1}, {"types": 3}, {"types": 12}])}
    return options


@pytest.mark.parametrize("resources", [1, 2, 3])
@pytest.mark.parametrize("name", POLICIES)
def test_invariants_and_littles_law(name: str, resources: int) -> None:
    rng = random.Random(f"{name} {resources}")
    finished = 0
    for _ in range(20):
        if finished == 3:
            break
        instance = instance_for(rng, name, resources)
        policy = make(name, **options_for(rng, name, len(instance.capacities)))
        try:
            at = {"initial": instance.initial, "network": instance.network}
            outcome = simulate(instance.tasks, instance.capacities, policy, drain=True, **at)
        except ValueError:
            # servers too unequal for it; too many configurations; too many probes, a partition without workers
            assert name in ("slot-fifo", "slot-fair", "maxweight", "sparrow", "hawk", "eagle")
            continue
        assert len(outcome.start) == len(instance.tasks)
        assert sum(outcome.queue) == sum(outcome.start[row] - outcome.eligible[row] for row in outcome.start)
        began = [(t, outcome.server[t.row], outcome.start[t.row]) for t in instance.tasks]
        stay = [t.service + instance.network.overhead(t, server, start) for t, server, start in began]
        work = [sum(t.demand[r] * slots for t, slots in zip(instance.tasks, stay, strict=True)) for r in range(resources)]
        work = [w + sum(job.demand[r] * job.remaining for job in instance.initial) for r, w in enumerate(work)]
        assert [sum(column) for column in zip(*outcome.used, strict=True)] == work
        finished += 1
    assert finished == 3


@pytest.mark.parametrize("name", ["bf-j", "bf-s", "bf-js", "vqs-bf"])
def test_work_conservation(name: str) -> None:
    """After scheduling no waiting job fits anywhere: in every resource, or for VQS-BF by scalar size."""
    rng = random.Random(name)
    scalar = name == "vqs-bf"

    def fits(world: World, task: Task, server: Server) -> bool:
        if not scalar:
            return server.fits(task.demand)
        held = sum(world.scale.size(job.demand) for job in server.running)
        return held + world.size(task) <= world.scale.capacity(server.capacity)

    def nothing_fits(world: World) -> None:
        assert not [(t.row, s.index) for t in world.waiting for s in world.servers if fits(world, t, s)]

    for _ in range(40):
        instance = random_instance(rng, resources=rng.choice([1, 1, 2]))
        slots, drain = instance.slots, instance.slots is None
        simulate(instance.tasks, instance.capacities, make(name), slots, drain, instance.initial, watch=nothing_fits)


@pytest.mark.parametrize("name", ["bf-s", "bf-js", "vqs", "vqs-bf", "fifo-ff", "maxweight"])
def test_equal_sizes_start_in_the_same_slots(name: str) -> None:
    """On equal servers all policies are one M/G/(nL) queue (§1.7), given 2^-J < size."""
    rng = random.Random(name)
    waited = 0
    for _ in range(20):
        style = rng.choice(["one", "equal"])
        instance = random_instance(rng, servers=style, kind="equal", predecessors=False, initial=False, drain=True)
        J = max(2, (instance.capacities[0][0] // instance.tasks[0].demand[0]).bit_length())  # 2^J > capacity / size
        options = {"J": J} if name.startswith("vqs") else {"types": 1} if name == "maxweight" else {}
        outcome = simulate(instance.tasks, instance.capacities, make(name, **options), drain=True)
        assert outcome.start == simulate(instance.tasks, instance.capacities, make("bf-j"), drain=True).start
        waited += outcome.max_queue > 0
    assert waited >= 5


# The instances.


def test_instances_fit_and_convert() -> None:
    rng = random.Random(0)
    for _ in range(200):
        instance = random_instance(rng, resources=rng.randint(1, 3))
        jobs = to_jobs(instance)
        assert np.array_equal(jobs.demand, [task.demand for task in instance.tasks])
        assert np.array_equal(jobs.arrival, [task.arrival for task in instance.tasks])
        if jobs.predecessors is not None:
            offsets, values = jobs.predecessors
            assert [tuple(values[a:b]) for a, b in pairwise(offsets)] == [task.predecessors for task in instance.tasks]
        for task in instance.tasks:
            assert any(all(d <= c for d, c in zip(task.demand, capacity, strict=True)) for capacity in instance.capacities)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("style", SERVERS)
def test_every_kind_of_instance(kind: str, style: str) -> None:
    rng = random.Random(f"{kind} {style}")
    instance = random_instance(rng, resources=2, kind=kind, servers=style, tasks=15, predecessors=True, initial=True, drain=True)
    assert len(instance.tasks) == 15
    assert simulate(instance.tasks, instance.capacities, make("bf-js"), drain=True, initial=instance.initial).max_queue >= 0
