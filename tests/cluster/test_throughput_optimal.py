"""msr and kmw against the slow reference: start and server of every task; planted mistakes in the rules of a change."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Workload
from packenv.policies import MSR, KMaxWeight
from packenv.policies.throughput_optimal.kmw import MOST_STEPS
from packenv.policies.throughput_optimal.msr import candidates
from packenv.policy import Setting
from packenv.theory.capacity.one_resource.knapsack import MOST_STEPS as PROGRAM_STEPS
from packenv.theory.rounded_program import rounded_program
from tests.cluster import fast
from tests.reference import model, throughput_optimal
from tests.reference.case import rows, servers
from tests.reference.instances import SERVERS, SIZES, Instance, random_instance, to_jobs
from tests.reference.model import Scale, Server, World
from tests.reference.table import Task
from tests.seeds import seeds

SEEDS = seeds(1, 2)

KMW: list[dict[str, Any]] = [
    {"types": 3, "refresh": "empty"},
    {"types": 3, "refresh": "weight", "slack": 0.8},
    {"types": 5, "refresh": "weight", "slack": 0.0, "backfill": True},
    {"types": 4, "refresh": "timer", "every": 7},
    {"types": 4, "refresh": "timer", "every": 20, "backfill": True, "few": 2},
]

MSRS: list[dict[str, Any]] = [
    {"types": 3, "cycle": 30.0},
    {"types": 4, "cycle": 300.0, "backfill": True},
    {"types": 5, "cycle": 8.0, "backfill": True, "few": 1},
    {"types": 40, "cycle": 100.0},
]


def setting(instance: Instance) -> Setting:
    """As `fast.run` makes it."""
    capacity = np.array(instance.capacities, np.int64)
    scale = Scale(tuple(int(units) for units in capacity.max(axis=0)))
    workload = Workload(jobs=to_jobs(instance), servers=capacity / packenv.UNIT)
    return Setting(capacity, workload, 4, max(scale.size(task.demand) for task in instance.tasks))


def types(workload: Workload, own: KMaxWeight | MSR, most_steps: int = PROGRAM_STEPS) -> throughput_optimal.Types:
    program = rounded_program(workload, own.types or own.grid, 0.01, most_steps, own.grid > 0)
    return throughput_optimal.Types(program.sizes.tolist(), program.least.tolist())


def reference_kmw(own: KMaxWeight, instance: Instance, kind: type[Any] = throughput_optimal.KMaxWeight) -> Any:
    options = {key: value for key, value in own._asdict().items() if key not in ("types", "eps", "grid")}
    return kind(types(setting(instance).workload, own, MOST_STEPS), **options)


def reference_msr(own: MSR, instance: Instance, kind: type[Any] = throughput_optimal.MSR, seed: int = 0) -> Any:
    """The reference with the candidates of the fast one: what the program finds is tested in tests/theory."""
    workload = setting(instance).workload
    program = rounded_program(workload, own.types or own.grid, 0.01, grid=own.grid > 0)
    found, cycles = candidates(program, len(program.sizes))
    state = own.initial_state(setting(instance), seed)
    first = [int(row) - int(min(cycle)) for row in state.active for cycle in cycles if row in cycle]
    by_capacity = {}
    for units, cycle in zip(program.capacity.tolist(), cycles, strict=True):
        by_capacity[units] = [(counts(found, int(row), len(program.sizes)), float(found.share[row])) for row in cycle]
    rounds = throughput_optimal.Rounds(by_capacity, first, own.cycle, workload.rate, seed)
    return kind(types(workload, own), rounds, backfill=own.backfill, few=own.few)


def counts(found: Any, row: int, number: int) -> tuple[int, ...]:
    jobs = [0] * number
    for j, count in zip(found.type[row, : found.types[row]], found.number[row, : found.types[row]], strict=True):
        jobs[j] = int(count)
    return tuple(jobs)


def same(instance: Instance, own: Any, policy: Any, seed: int = 0) -> bool:
    """Whether every task starts in the same slot on the same server."""
    args = (instance.tasks, instance.capacities, policy, instance.slots, instance.slots is None, instance.initial)
    expected = model.simulate(*args, network=instance.network)
    outcome = fast.run(instance, own, seed)
    return (outcome.start, outcome.server, outcome.queue_sum) == (expected.start, expected.server, sum(expected.queue))


@pytest.mark.parametrize("options", KMW, ids=str)
@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_kmw(options: dict[str, Any], servers: str, seed: int) -> None:
    rng = random.Random(f"{options}{servers}{seed}")
    own = KMaxWeight(**options)
    for kind in SIZES:
        instance = random_instance(rng, servers=servers, kind=kind)
        assert same(instance, own, reference_kmw(own, instance))


@pytest.mark.parametrize("options", MSRS, ids=str)
@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_msr(options: dict[str, Any], servers: str, seed: int) -> None:
    rng = random.Random(f"{options}{servers}{seed}")
    own = MSR(**options)
    for kind in SIZES:
        instance = random_instance(rng, servers=servers, kind=kind)
        assert same(instance, own, reference_msr(own, instance, seed=seed), seed)


@pytest.mark.parametrize("resources", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_scalar_sizes_of_several_resources(resources: int, seed: int) -> None:
    rng = random.Random(f"{resources}{seed}")
    kmw, msr = KMaxWeight(grid=4, slack=0.5, backfill=True), MSR(grid=4, cycle=50.0, backfill=True)
    for shape in SERVERS:
        instance = random_instance(rng, resources=resources, servers=shape)
        assert same(instance, kmw, reference_kmw(kmw, instance))
        assert same(instance, msr, reference_msr(msr, instance))


def worked(own: KMaxWeight, *described: tuple[int, int, int]) -> dict[int, tuple[int, int]]:
    """Rows (arrival, twelfths, service) on one server: row -> (slot, server)."""
    outcome = fast.run(Instance(rows(*described), servers(12), [], None), own)
    return {row: (slot, outcome.server[row]) for row, slot in outcome.start.items()}


# Sizes 8 and 4 in 12: the maximal configurations are (1,1), (0,3), in this order.
FOURS = (0, 4, 10), (0, 4, 3), (0, 4, 5)


def test_a_change_by_hand() -> None:
    """Two of the three 4s leave in 3 and 5. In 5 there is room for an 8: Q = (2,0), so (1,1), and the third 4 stays."""
    own = KMaxWeight(types=2, slack=0.0)
    expected = {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (5, 0), 4: (6, 0)}
    assert worked(own, *FOURS, (1, 8, 1), (1, 8, 9)) == expected


def test_claimed_room_by_hand() -> None:
    """Slot 3: 4 are free, Q = (3,1), so (1,1), and one 4 is beyond it. A third 4 would keep the 8 out when that one leaves.

    Slot 5: row 2 leaves, an 8 starts. Slot 6: the next. Slot 7: Q = (1,1), so (0,3): row 6 starts. Slot 10: row 0 leaves.
    """
    own = KMaxWeight(types=2, slack=0.0, backfill=True)
    expected = {0: (0, 0), 1: (0, 0), 2: (0, 0), 3: (5, 0), 4: (6, 0), 5: (10, 0), 6: (7, 0)}
    assert worked(own, *FOURS, (1, 8, 1), (1, 8, 1), (1, 8, 1), (2, 4, 20)) == expected


class Preempts(throughput_optimal.KMaxWeight):
    """A job beyond the new configuration goes back to the queue."""

    def serve(self, world: World, server: Server) -> None:
        for job in list(server.running):
            j = self.type_of(world, job)
            if job.row is not None and j is not None and self.in_service(world, server, j) > (self.active[server.index] or ())[j]:
                server.running.remove(job)
                world.waiting.insert(0, world.tasks[job.row])
                del world.outcome.start[job.row], world.outcome.server[job.row]
        super().serve(world, server)


class OverItsCount(throughput_optimal.KMaxWeight):
    """Jobs of a type that were there before the change are not counted."""

    def in_service(self, world: World, server: Server, j: int) -> int:
        since = self.chosen[server.index]
        running = [job for job in server.running if job.row is not None and world.outcome.start[job.row] >= since]
        return sum(self.type_of(world, job) == j for job in running)


class WaitsForTheLast(throughput_optimal.KMaxWeight):
    """After a change nothing starts before all jobs beyond the new configuration have left."""

    def serve(self, world: World, server: Server) -> None:
        if not self.beyond(world, server):
            super().serve(world, server)


class FillsClaimedRoom(throughput_optimal.KMaxWeight):
    """Backfills room on which a waiting entitled job has a claim."""

    def spare(self, world: World, server: Server) -> int:
        return self.room(world, server)


class FillsNoClaimedRoom(throughput_optimal.KMaxWeight):
    """Backfills nothing while an entitled job waits for room."""

    def beyond(self, world: World, server: Server) -> list[int]:
        return []


class RealSizes(throughput_optimal.KMaxWeight):
    """Entitled jobs occupy their own size."""

    def room(self, world: World, server: Server) -> int:
        return self.capacity(world, server) - sum(world.scale.size(job.demand) for job in server.running)


class BackfillsRealSizes(throughput_optimal.KMaxWeight):
    """Backfilled jobs of the configuration's types occupy their own size."""

    def occupied(self, world: World, server: Server, task: Task) -> int:
        return world.size(task)


class AllFromOneQueue(throughput_optimal.KMaxWeight):
    """Every server chooses from the queues at the start of the slot."""

    def place(self, world: World) -> None:
        roomy = [server for server in world.servers if self.has_room(world, server)]
        for server in roomy:
            if self.due(world, server):
                self.active[server.index], self.chosen[server.index] = self.heaviest(world, server), world.slot
        for server in roomy:
            self.serve(world, server)
        if self.backfill:
            self.fill_idle(world)


@pytest.mark.parametrize(
    "bug",
    [
        None,
        Preempts,
        OverItsCount,
        WaitsForTheLast,
        FillsClaimedRoom,
        FillsNoClaimedRoom,
        RealSizes,
        BackfillsRealSizes,
        AllFromOneQueue,
    ],
)
def test_planted_bug(bug: type[throughput_optimal.KMaxWeight] | None) -> None:
    """The comparison with the reference notices each mistake in the rules of a change."""
    own, noticed = KMaxWeight(types=5, refresh="weight", slack=0.0, backfill=True), 0
    for seed in range(12):
        if noticed and bug is not None:
            break
        instance = random_instance(random.Random(seed), servers="equal", kind="mixed", tasks=60, initial=False, drain=False)
        try:
            noticed += not same(instance, own, reference_kmw(own, instance, bug or throughput_optimal.KMaxWeight))
        except AssertionError:  # the model itself refuses what the mistake does
            noticed += 1
    assert (noticed > 0) == (bug is not None)


class StaysInOne(throughput_optimal.MSR):
    """The timer is ignored."""

    def enter(self, world: World, server: Server, queue: int) -> None:
        super().enter(world, server, queue)
        self.until[server.index] = 10**9


class InStep(throughput_optimal.MSR):
    """All servers begin at the same place of the round."""

    def begin(self, world: World) -> None:
        self.rounds.first = [0] * len(world.servers)
        super().begin(world)


class FixedRounds(throughput_optimal.MSR):
    """A round lasts as long with a long queue as with a short one."""

    def enter(self, world: World, server: Server, queue: int) -> None:
        super().enter(world, server, 0)


class LargestFirst(throughput_optimal.MSR):
    """Of the types that are missing the largest starts first."""

    def serve(self, world: World, server: Server) -> None:
        for j in range(len(self.types.sizes)):
            while j in self.missing(world, server) and self.types.sizes[j] <= self.room(world, server):
                world.start(self.queue(world, server, j)[0], server, self.types.sizes[j])


@pytest.mark.parametrize("bug", [None, StaysInOne, InStep, FixedRounds, LargestFirst])
def test_planted_bug_of_the_round(bug: type[throughput_optimal.MSR] | None) -> None:
    own, noticed = MSR(types=3, cycle=12.0), 0
    for seed, kind in itertools.product(range(12), ("mixed", "tiny")):
        if noticed and bug is not None:
            break
        instance = random_instance(random.Random(seed), servers="equal", kind=kind, tasks=60, initial=False, drain=False)
        noticed += not same(instance, own, reference_msr(own, instance, bug or throughput_optimal.MSR))
    assert (noticed > 0) == (bug is not None)
