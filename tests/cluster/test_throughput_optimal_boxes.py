"""msr and kmw for several resources against the slow reference: start and server of every task; planted mistakes."""

from __future__ import annotations

import random
from typing import Any, ClassVar

import numpy as np
import pytest

import packenv
from packenv import Workload
from packenv.policies import MSR, KMaxWeight
from packenv.policies.throughput_optimal.msr import candidates
from packenv.theory.rounded_boxes import RoundedProgram
from packenv.theory.rounded_program import rounded_program
from packenv.workloads.laws import Geometric
from packenv.workloads.laws.joint import Joint
from tests.cluster import test_throughput_optimal as bugs
from tests.cluster.test_throughput_optimal import counts, same, setting
from tests.reference import throughput_optimal
from tests.reference.instances import SERVERS, Instance, random_instance
from tests.reference.model import Server, World
from tests.reference.throughput_optimal import Rounds, Types
from tests.reference.throughput_optimal_boxes import BoxedKMaxWeight, BoxedMSR

UNEQUAL = [(12, 12), (6, 9), (9, 6), (12, 12)]  # (6, 9) and (9, 6) have the same scalar capacity

KMW: list[dict[str, Any]] = [
    {"types": 3, "refresh": "empty"},
    {"types": 4, "slack": 0.5},
    {"types": 4, "slack": 0.0, "backfill": True},
    {"types": 4, "refresh": "timer", "every": 9, "backfill": True, "few": 2},
]

MSRS: list[dict[str, Any]] = [
    {"types": 3, "cycle": 30.0},
    {"types": 5, "cycle": 50.0, "backfill": True},
    {"types": 8, "cycle": 8.0, "backfill": True, "few": 1},
]


def unequal(rng: random.Random, **options: Any) -> Instance:
    """On four servers of two resources."""
    return random_instance(rng, resources=2, servers=[tuple(packenv.UNIT * n // 12 for n in one) for one in UNEQUAL], **options)


def instances(seed: str) -> list[Instance]:
    rng = random.Random(seed)
    several = [random_instance(rng, resources=2, servers=shape, kind="mixed") for shape in SERVERS]
    return [*several, random_instance(rng, resources=3, kind="mixed"), unequal(rng, kind="ties"), unequal(rng, kind="mixed")]


def types_of(program: RoundedProgram) -> Types:
    return Types([tuple(box) for box in program.sizes.tolist()], [tuple(least) for least in program.least.tolist()])


def program_for(own: KMaxWeight | MSR, instance: Instance) -> RoundedProgram:
    return rounded_program(setting(instance).workload, own.types, own.eps)


def reference_kmw(own: KMaxWeight, instance: Instance, kind: type[BoxedKMaxWeight] = BoxedKMaxWeight) -> BoxedKMaxWeight:
    """With the list of the fast one: what it holds is tested in tests/theory."""
    program = program_for(own, instance)
    assert program.listed is not None
    choices: dict[Any, Any] = {}
    for number, capacity in enumerate(program.capacity.tolist()):
        held = program.listed.counts[program.listed.kind == number].astype(int).tolist()
        choices[tuple(capacity)] = list(map(tuple, held)) or [(0,) * len(program.sizes)]
    options = {key: value for key, value in own._asdict().items() if key not in ("types", "eps", "grid")}
    return kind(types_of(program), choices, **options)


def reference_msr(own: MSR, instance: Instance, kind: type[BoxedMSR] = BoxedMSR, seed: int = 0) -> BoxedMSR:
    """With the candidates of the fast one."""
    program = program_for(own, instance)
    found, cycles = candidates(program, len(program.sizes))
    state = own.initial_state(setting(instance), seed)
    first = [int(row) - int(min(cycle)) for row in state.active for cycle in cycles if row in cycle]
    by_capacity: dict[Any, Any] = {}
    for units, cycle in zip(program.capacity.tolist(), cycles, strict=True):
        by_capacity[tuple(units)] = [(counts(found, int(row), len(program.sizes)), float(found.share[row])) for row in cycle]
    rounds = Rounds(by_capacity, first, own.cycle, setting(instance).workload.rate, seed)
    return kind(types_of(program), rounds, backfill=own.backfill, few=own.few)


@pytest.mark.parametrize("options", KMW, ids=str)
def test_kmw(options: dict[str, Any]) -> None:
    own = KMaxWeight(**options)
    for instance in instances(str(options)):
        assert same(instance, own, reference_kmw(own, instance))


@pytest.mark.parametrize("options", MSRS, ids=str)
def test_msr(options: dict[str, Any]) -> None:
    own = MSR(**options)
    for seed, instance in enumerate(instances(str(options))):
        assert same(instance, own, reference_msr(own, instance, seed=seed), seed)


class FromList(throughput_optimal.KMaxWeight):
    """Scalar sizes, configurations of the list."""

    choices: ClassVar[list[Any]] = []

    def configurations_of(self, world: World) -> dict[Any, Any]:
        return {self.capacity(world, server): self.choices for server in world.servers}


def test_listed_sizes() -> None:
    """Sizes of one resource that have too many sums: the same rule, over a list."""
    own = KMaxWeight(slack=0.5, backfill=True)
    instance = random_instance(random.Random(1), servers="equal", kind="mixed", tasks=26, initial=False, drain=False)
    program = program_for(own, instance)
    assert program.listed is not None and program.sizes.ndim == 1
    FromList.choices = list(map(tuple, program.listed.counts.astype(int).tolist()))
    types = Types(program.sizes.tolist(), program.least.tolist())
    assert same(instance, own, FromList(types, refresh="weight", slack=0.5, backfill=True))


class Preempts(bugs.Preempts, BoxedKMaxWeight):
    pass


class OverItsCount(bugs.OverItsCount, BoxedKMaxWeight):
    pass


class FillsClaimedRoom(bugs.FillsClaimedRoom, BoxedKMaxWeight):
    pass


class RealDemands(BoxedKMaxWeight):
    """Entitled jobs take their own demands."""

    def start(self, world: World, task: Any, server: Server, takes: Any) -> None:
        super().start(world, task, server, task.demand)


class ByScalarSize(BoxedKMaxWeight):
    """A job is of the type of its scalar size, as if the type were an interval."""

    def type_of(self, world: World, job: Any) -> int | None:
        size = world.scale.size(job.demand)
        return max((j for j, box in enumerate(self.types.sizes) if size <= max(box)), default=None)


class BackfillsRealDemands(BoxedKMaxWeight):
    """Backfilled jobs of the configuration's types take their own demands."""

    def occupied(self, world: World, server: Server, task: Any) -> Any:
        return task.demand


BUGS = [Preempts, OverItsCount, RealDemands, ByScalarSize, FillsClaimedRoom, BackfillsRealDemands]


@pytest.mark.parametrize("bug", [None, *BUGS])
def test_planted_bug(bug: type[BoxedKMaxWeight] | None) -> None:
    """The comparison with the reference notices each mistake."""
    assert any(notices(bug or BoxedKMaxWeight, seed) for seed in range(10)) == (bug is not None)


def notices(bug: type[BoxedKMaxWeight], seed: int) -> bool:
    own = KMaxWeight(types=5, slack=0.0, backfill=True)
    instance = unequal(random.Random(seed), kind="mixed", tasks=60, initial=False, drain=False)
    try:
        return not same(instance, own, reference_kmw(own, instance, bug))
    except AssertionError:  # the model itself refuses what the mistake does
        return True


def test_stable_near_the_guarantee() -> None:
    """0.95 of ρ_K on unequal servers, where the pairs (.6, .2) and (.4, .8) fill a server together and scalar sizes would not."""
    pairs = Joint([[0.6, 0.2], [0.4, 0.8], [0.3, 0.3]], [0.4, 0.4, 0.2])
    workload = Workload(sizes=pairs, service=Geometric(20), servers="2x1:1,1x0.6:0.9", load=0.95)
    for policy in (KMaxWeight(backfill=True, few=2), MSR(backfill=True, few=2)):
        result = packenv.simulate(workload, policy, 1_000_000, seed=0)
        assert np.asarray(result.utilisation).max() <= 1
        assert result.verdict.kind == "stable"
