"""What must hold in every run of the probing schedulers, and that the random instances would show a rule that is broken."""

from __future__ import annotations

import functools
import inspect
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from packenv.units import UNIT
from tests.reference import probing, probing_jobs, probing_workers
from tests.reference.case import rows, servers
from tests.reference.cases_probing import believing, jobs
from tests.reference.instances import Instance
from tests.reference.model import Outcome, World, simulate
from tests.reference.probing import PROBING, Probing
from tests.reference.probing_instances import probing_instance, probing_options
from tests.reference.probing_jobs import Book, largest_of, short_workers, slots_of
from tests.seeds import seeds

TWENTY = jobs(*((0, [1]) for _ in range(18)), (0, [5]), (0, [7]))


def test_a_tenth_of_the_jobs_is_long() -> None:
    assert Book(TWENTY, -1).long == {18, 19}
    assert Book(TWENTY[1:], -1).long == {19}  # of 19 jobs one, as two are more than a tenth
    assert Book(TWENTY[:9], -1).long == set()
    assert Book(jobs((0, [3]), (0, [3]), *((0, [1]) for _ in range(10))), -1).long == set()  # one of two equal ones is not chosen
    assert Book(TWENTY, 5).long == {19}
    assert Book(jobs((0, [2, 9])), 5.5).long == set()
    assert Book(believing(jobs((0, [2, 9])), 5, 6.5), 5.5).long == {0}
    assert Book(jobs((0, [2, 9])), 5.5).estimate == {0: 6}  # 5.5
    assert Book(believing(jobs((0, [2])), 0.25), 5.5).estimate == {0: 1}


ROUNDED_DOWN = [(1, -1, 0), (2, -1, 1), (10, -1, 6), (11, -1, 6), (40, -1, 24), (10, 0.25, 2), (10, 0.29, 2), (100, 0.29, 29)]


@pytest.mark.parametrize(("workers", "reserved", "expected"), [*ROUNDED_DOWN, (3, 1 / 3, 1), (10, 1, 10), (9, 0, 0)])
def test_short_partition(workers: int, reserved: float, expected: int) -> None:
    """18 of 30 slots of work are of short jobs."""
    assert short_workers(workers, reserved, Book(TWENTY, -1)) == expected


def test_some_workers_are_always_general() -> None:
    assert short_workers(10, -1, Book(TWENTY, 9)) == 9
    assert short_workers(10, -1, Book(TWENTY, 0)) == 1


def test_slots() -> None:
    largest = largest_of(rows((0, (3, 6, 0), 1), (0, (4, 1, 0), 1)))
    assert [slots_of(capacity, largest) for capacity in servers((12, 12, 12), (4, 6, 0), (7, 12, 0), (8, 12, 1))] == [2, 1, 1, 2]
    with pytest.raises(ValueError, match="no room"):
        slots_of((UNIT, UNIT // 2 - 1, UNIT), largest)


@functools.cache
def random_case(name: str, seed: int) -> tuple[Instance, dict[str, Any]]:
    """An instance and options that the policy does not refuse."""
    rng = random.Random(f"{name} {seed}")
    while True:
        instance = probing_instance(rng, resources=rng.choice([1, 1, 2]))
        options = probing_options(rng, name, len(instance.capacities)) | {"seed": seed}
        try:
            PROBING[name](**options).begin(World(instance.tasks, instance.capacities, instance.initial))
        except ValueError:
            continue
        return instance, options


def run(instance: Instance, policy: Probing, watch: Callable[[World], None] | None = None) -> Outcome:
    return simulate(instance.tasks, instance.capacities, policy, instance.slots, instance.slots is None, instance.initial, watch)


@pytest.mark.parametrize("name", PROBING)
@pytest.mark.parametrize("seed", seeds(5, 40))
def test_at_every_slot(name: str, seed: int) -> None:
    instance, options = random_case(name, seed)
    policy = PROBING[name](**options)

    def look(world: World) -> None:
        for worker in policy.workers:
            assert worker.held >= 0
            assert not (worker.has_free_slot and worker.queue)  # nobody idles while something waits
            long = [entry.batch.long for entry in worker.queue]
            assert worker.server.index < policy.general or not (any(long) or policy.runs_long(worker))
            assert not policy.sharing or long == sorted(long)  # no probe joins behind a long task
            for entry in worker.queue:
                bound = policy.central or entry.batch.long
                assert bound == (entry.task is not None)
                assert entry.counter <= policy.threshold * entry.batch.estimate
        for batch in policy.batch.values():
            assert len(batch.unassigned) <= batch.told <= len(batch.tasks) or batch.long or policy.central

    run(instance, policy, look)


@pytest.mark.parametrize("name", ["sparrow", "hawk", "eagle"])
@pytest.mark.parametrize("seed", seeds(5, 40))
def test_every_probe_joins_one_queue_and_leaves_it(name: str, seed: int) -> None:
    instance, options = random_case(name, seed)
    policy = PROBING[name](**options)
    worlds: list[World] = []
    simulate(instance.tasks, instance.capacities, policy, None, True, instance.initial, worlds.append)
    world = worlds[-1]
    while policy.network or any(not server.empty for server in world.servers):  # what is still to come at the end
        world.complete()
        world.arrive()
        policy.schedule(world)
        world.slot += 1
    assert not any(worker.queue or worker.held for worker in policy.workers)
    short = {batch for batch in policy.batch.values() if not batch.long}
    sent = {batch: max(policy.ratio * len(batch.tasks), policy.minimum) for batch in short}
    assert Counter(entry.batch for entry in policy.probes) == sent
    assert all(batch.told == 0 and not batch.unassigned for batch in short)
    assert not policy.placed


BROKEN = [
    ("eagle", "max(worker.snapshot for", "min(worker.snapshot for"),
    ("eagle", "while worker in self.snapshots[snapshot]", "while False"),
    ("eagle", "self.send(self.second_round, batch, number, snapshot)", "self.send(self.third_round, batch, number)"),
    ("eagle", "self.general + self.below(len(self.workers) - self.general)", "self.below(len(self.workers))"),
    ("eagle", "self.runs_long(worker) or worker.has_long", "worker.has_long"),
    ("eagle", "self.runs_long(worker) or worker.has_long", "self.runs_long(worker)"),
    ("eagle", " if row not in world.completed", ""),
    ("eagle", "if not self.sticky:", "if True:"),
    ("eagle", "            break", "            continue"),
    ("eagle", "other.counter += chosen.batch.estimate", "other.counter += 1"),
    ("eagle", "left < least", "left <= least"),
    ("eagle", "left = entry.batch.told * entry", "left = len(entry.batch.tasks) * entry"),
    ("eagle", "<= threshold", "< threshold"),
    ("yaq", "for other in front)", "for other in front[-1:])"),
    ("yaq", "left < least", "left <= least"),
    ("yaq", "entry.batch.told -= 1", "pass"),
    ("lwl", "max(1, start + estimate - self.world.slot)", "max(0, start + estimate - self.world.slot)"),
    ("lwl", "max(1, start + estimate - self.world.slot)", "start + estimate - self.world.slot"),
    ("lwl", "max(1, start + estimate - self.world.slot)", "estimate"),
    ("lwl", "left / worker.slots", "left"),
    ("lwl", "max(1, round(mean))", "max(1, int(mean))"),
    ("hawk", "mean > cutoff", "mean >= cutoff"),
    ("hawk", "message.arrive == self.stolen and", "False and"),
    ("hawk", "or under_way or not self.book.long", "or under_way"),
    ("hawk", "self.serve(worker)\n        self.steal(worker)\n\n", "self.serve(worker)\n\n"),
    ("hawk", '"L(s+)"', '"^s*L(s+)"'),  # behind one long task only, not behind several in a row
    ("hawk", '"L(s+)"', '"L(s+)L"'),
    ("hawk", '"L(s+)"', '"L(s)"'),
    ("hawk", '"L(s+)"', '"L+([sL]+)"'),
    ("hawk", '"L" * runs_long + ', "runs_long * '' + "),
    ("hawk", "thief.queue += probes", "thief.queue += probes[::-1]"),
    ("sparrow", "self.world.slot + self.delay", "self.world.slot + self.delay // 2"),
    ("sparrow", "(self.held + 1) * most", "most"),
    ("sparrow", "in world.vacated", "in world.vacated[::-1]"),
]


def broken(right: str, wrong: str) -> dict[str, Callable[..., Probing]]:
    """The policies with one expression of their source replaced."""
    made: dict[str, Any] = {}
    found = 0
    for module in (probing_jobs, probing_workers, probing):
        source = inspect.getsource(module)
        found += source.count(right)
        names: dict[str, Any] = {"__name__": module.__name__}
        exec(source.replace(right, wrong), names)
        names.update({name: made[name] for name in names if name in made and not name.startswith("__")})
        made |= names
    assert found == 1
    return made["PROBING"]


@pytest.mark.parametrize(("name", "right", "wrong"), BROKEN)
def test_a_broken_rule_shows(name: str, right: str, wrong: str) -> None:
    policies = broken(right, wrong)
    assert any(differs(name, seed, policies) for seed in range(200))


def differs(name: str, seed: int, policies: dict[str, Callable[..., Probing]]) -> bool:
    """Whether starts differ, or the model itself refuses one."""
    instance, options = random_case(name, seed)
    try:
        return run(instance, policies[name](**options)) != run(instance, PROBING[name](**options))
    except AssertionError:
        return True
