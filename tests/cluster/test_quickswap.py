"""Quickswap: fast = reference, planted mistakes, what its theorem says, and bad parameters."""

from __future__ import annotations

import random
from typing import Any

import pytest

import packenv
from packenv.errors import InputError
from packenv.policies import Quickswap
from packenv.policy import guarantee_of
from packenv.simulation import setting_of
from packenv.workloads.laws import Discrete, Geometric, LogNormal
from packenv.workloads.workload import Workload
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.reference import model, quickswap
from tests.reference.instances import SERVERS, SIZES, random_instance
from tests.reference.model import Server, World
from tests.seeds import seeds

OPTIONS: list[dict[str, Any]] = [{}, {"threshold": 0}, {"threshold": 1}, {"types": 2}, {"threshold": 2, "types": 3}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_against_reference(options: dict[str, Any], servers: str, seed: int) -> None:
    rng = random.Random(f"{options}{servers}{seed}")
    for kind in SIZES:
        compare(random_instance(rng, servers=servers, kind=kind), "quickswap", options)
    compare(random_instance(rng, resources=2, servers=servers), "quickswap", options)


class NeverDrains(quickswap.Quickswap):
    def left(self, world: World, server: Server) -> int:
        return 0


class StartsWhileItDrains(quickswap.Quickswap):
    def serve(self, world: World, server: Server) -> None:
        super().serve(world, server)
        self.work(world, server)


class LargestFirst(quickswap.Quickswap):
    def in_turn(self, server: Server) -> list[int]:
        return [j for j in range(len(self.rounded)) if j != self.serves[server.index]]


@pytest.mark.parametrize("mistaken", [NeverDrains, StartsWhileItDrains, LargestFirst])
def test_planted_mistakes_are_noticed(mistaken: type[quickswap.Quickswap]) -> None:
    rng = random.Random(1)
    differ = 0
    for _ in range(40):
        instance = random_instance(rng, kind="ties", tasks=40, drain=True, placed=False)
        wrong = model.simulate(instance.tasks, instance.capacities, mistaken(), drain=True)
        differ += fast.run(instance, fast.make("quickswap")).start != wrong.start
    assert differ > 5


def one_or_all(load: float, small: float = 0.1, share: float = 0.9, servers: str = "1x1") -> Workload:
    return Workload(sizes=Discrete([small, 1.0], [share, 1 - share]), service=Geometric(20), servers=servers, load=load)


def test_sooner_than_most_servers_first() -> None:
    """Section 1 of the source: changing early shortens the queue, and FIFO is unstable where both are stable."""
    workload = one_or_all(0.8)
    runs = {name: packenv.simulate(workload, name, slots=1_000_000, seed=1) for name in ("quickswap", "quickswap:threshold=0")}
    queue = {name: run.mean_queue or 0.0 for name, run in runs.items()}
    assert queue["quickswap"] < 0.8 * queue["quickswap:threshold=0"]
    assert str(runs["quickswap"].verdict) == "stable"
    assert str(packenv.simulate(workload, "fifo-ff", slots=1_000_000, seed=1).verdict) == "unstable"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quickswap", pytest.param("quickswap:threshold=0", marks=pytest.mark.minutes)])
def test_supports_nearly_all(name: str) -> None:
    judged = packenv.judge(one_or_all(0.5), name, seeds=2, width=0.05)
    assert judged.high > 0.97


def test_the_theorem_is_claimed_for_one_or_all_only() -> None:
    assert guarantee_of(Quickswap(), setting_of(one_or_all(0.5))) == 1
    for other in (
        one_or_all(0.5, servers="2x1"),
        Workload(sizes=Discrete([0.4, 0.6], [0.5, 0.5]), service=Geometric(20), servers="1x1", load=0.5),
        Workload(sizes=Discrete([0.1, 1.0], [0.5, 0.5]), service=LogNormal(20, 2), servers="1x1", load=0.5),
        packenv.workload("paper/fig4b"),
    ):
        assert guarantee_of(Quickswap(), setting_of(other)) == 0


@pytest.mark.parametrize(
    "policy, message",
    [
        ("quickswap:threshold=-2", "threshold must be a number of jobs, or -1, not -2"),
        ("quickswap:types=0", "types must lie between 1 and 32"),
    ],
)
def test_bad_parameters(policy: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packenv.simulate(one_or_all(0.5), policy, slots=10)
