"""MaxWeight's types and refusals, what it holds of a server, and that it carries what it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import UNIT, InputError, Jobs, Workload, to_units
from packenv.cluster import build
from packenv.cluster.loop import runner_for
from packenv.cluster.slots import PAUSED
from packenv.policies import MaxWeight
from packenv.policy import initial_state_of, needs_of
from packenv.results.stability import combine
from packenv.simulation import setting_of
from packenv.workloads.laws import Discrete, Geometric, Uniform
from tests.cluster.test_planted_bugs import noticed
from tests.reference import max_weight


def types(policy: MaxWeight, workload: Workload) -> tuple[list[float], int]:
    """Sizes of its types, and how many configurations it has."""
    state = policy.initial_state(setting_of(workload), 0)
    return (state.size / UNIT).round(5).tolist(), len(state.jobs)


def test_default_types() -> None:
    assert types(MaxWeight(), packenv.workload("paper/fig3a")) == ([0.6, 0.4], 2)  # (1,1), (0,2)
    assert types(MaxWeight(), packenv.workload("paper/fig3b")) == ([5.0, 2.0], 3)
    sizes, number = types(MaxWeight(), packenv.workload("paper/fig4b"))
    assert sizes == pytest.approx(np.linspace(0.9, 0.125, 32), abs=1e-5)
    assert 1000 < number <= 2000
    sizes, number = types(MaxWeight(), packenv.workload("paper/fig4a"))  # more cells would have more than 2,000
    assert sizes == pytest.approx(np.linspace(0.19, 0.04, 6), abs=1e-5)
    assert types(MaxWeight(types=7), packenv.workload("paper/fig4a"))[1] > 2000 >= number


def test_default_types_of_many_small_sizes() -> None:
    """Exact within the limit, however many configurations that are; beyond it the grid that is never refused."""
    workload = Workload(sizes=Discrete([n / 32 for n in range(1, 9)]), service=Geometric(9), servers=1, intensity=0.5)
    sizes, number = types(MaxWeight(), workload)
    assert (len(sizes), number > 2000) == (8, True)
    sizes, number = types(MaxWeight(limit=number - 1), workload)
    assert (len(sizes) < 8, number <= 2000) == (True, True)


def test_table() -> None:
    jobs = packenv.workload("paper/fig4b").jobs_table(0, 1000)
    sizes, _ = types(MaxWeight(types=4), Workload(jobs=jobs, servers=2))
    ordered = np.sort(jobs.demand[:, 0])
    assert sizes == (ordered[[999, 749, 499, 249]] / UNIT).round(5).tolist()
    few = Workload(jobs=Jobs.of([0, 0, 1], [0.5, 0.2, 0.5], [1, 1, 1]), servers=2)
    assert types(MaxWeight(), few) == ([0.5, 0.2], 3)


def test_unequal_servers() -> None:
    state = MaxWeight().initial_state(setting_of(packenv.workload("paper/fig3a", servers="2x1,1x0.5,1x0.2,1x1")), 0)
    assert state.jobs.tolist() == [[1, 1], [0, 2], [0, 1], [0, 0]]
    assert state.first.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize(
    "policy, message",
    [
        (MaxWeight(types=16), "16 types have more than 50000 maximal configurations; give fewer, such as types=8"),
        (MaxWeight(J=6), "12 types have more than 50000 maximal configurations; give fewer, such as types=6"),
        (MaxWeight(types=4, limit=50), "4 types have more than 50 maximal"),
        (MaxWeight(types=4, J=2), "types or J, not both"),
        (MaxWeight(J=1), "J between 2 and 16"),
        (MaxWeight(J=17), "J between 2 and 16"),
        (MaxWeight(types=-1), "types must lie between 1 and 10,000"),
    ],
)
def test_refused(policy: MaxWeight, message: str) -> None:
    with pytest.raises(InputError, match=message):
        packenv.simulate(packenv.workload("paper/fig4a"), policy, 10)


@pytest.mark.parametrize("servers", ["2", "1x1,2x0.5,1x0.3"])
def test_jobs_hold_their_rounded_sizes(servers: str) -> None:
    """In the middle of a run: a server's room is what its jobs, each at the size of its type, leave of it."""
    workload = Workload(sizes=Uniform(0.05, 0.6), service=Geometric(20), servers=servers, intensity=0.8)
    policy: Any = MaxWeight(types=4)
    setting = setting_of(workload)
    c = build(workload.source([3]), setting.capacity, needs_of(policy, setting), places=4000)
    state = initial_state_of(policy, setting, 0)
    ends = np.sort(to_units([0.05 + 0.55 * n / 4 for n in (1, 2, 3, 4)]))
    assert abs(state.size[::-1] - ends).max() <= 1
    seen = 0
    for _ in range(60):
        assert runner_for(policy)(policy, c, state, 10**6, 10) == PAUSED
        for server, record in enumerate(c.server[0]):
            here = c.task[0][(c.task[0]["server"] == server) & (c.task[0]["kind"] == 0)]
            held = state.size[::-1][np.searchsorted(state.size[::-1], here["size"])]
            assert record["room"] == record["capacity"] - held.sum() >= 0
            seen += (held > here["size"]).sum()
    assert seen > 100


@pytest.mark.parametrize("stall", [False, True])
@pytest.mark.parametrize("name, rate, at_most", [("paper/fig3a", 0.019, 60), ("paper/fig3b", 0.0317, 30)])
def test_carries_95_percent(name: str, rate: float, at_most: float, stall: bool) -> None:
    """Of λ* = 0.02 and 1/30, with exact types; K_RED supports two thirds of the first (VQS), best fit 0.9 of the second."""
    runs = [packenv.simulate(packenv.workload(name, rate=rate), MaxWeight(stall=stall), 1_000_000, seed) for seed in range(6)]
    assert combine(run.verdict for run in runs).kind == "stable"
    assert np.mean([run.mean_queue for run in runs]) < at_most
    other = packenv.simulate(packenv.workload(name, rate=rate), "vqs" if name == "paper/fig3a" else "bf-js", 1_000_000)
    assert other.mean_queue > 10 * at_most


def test_a_coarse_grid_carries_less() -> None:
    """One type of 0.6: one job at a time, 0.01 a slot. Both sizes in the cell of two: as exact types."""
    workload = packenv.workload("paper/fig3a", rate=0.014)
    assert packenv.simulate(workload, MaxWeight(types=1), 500_000).verdict.kind == "unstable"
    assert packenv.simulate(workload, MaxWeight(types=2), 500_000).verdict.kind == "stable"


class LastOfEqual(max_weight.MaxWeight):
    def heaviest(self, world: Any, server: Any) -> Any:
        lengths = self.lengths(world, server)
        return max(self.configurations[server.index][::-1], key=lambda each: max_weight.weight(each, lengths))


class SmallestTypeFirstInTheList(max_weight.MaxWeight):
    def configurations_in(self, capacity: int, limit: int) -> Any:
        return sorted(super().configurations_in(capacity, limit), key=lambda k: k[::-1], reverse=True)


class RenewedBeforeThePass(max_weight.MaxWeight):
    """All empty servers see the same queues."""

    def place(self, world: Any) -> None:
        for server in world.servers:
            if server.empty:
                self.active[server.index] = self.heaviest(world, server)
        for server in world.servers:
            self.fill(world, server)


class RenewedWhenItLikes(max_weight.MaxWeight):
    """Not only while empty: whenever the new configuration covers the jobs that are there."""

    def place(self, world: Any) -> None:
        for server in world.servers:
            best = self.heaviest(world, server)
            if all(self.in_service(world, server, j) <= k for j, k in enumerate(best)) and self.known(world, server):
                self.active[server.index] = best
            self.fill(world, server)

    def known(self, world: Any, server: Any) -> bool:
        return all(job.row is not None for job in server.running)


@pytest.mark.parametrize(
    "bug, servers",
    [(LastOfEqual, "equal"), (SmallestTypeFirstInTheList, "equal"), (RenewedBeforeThePass, "equal"), (RenewedWhenItLikes, "one")],
)
def test_planted_bug(bug: type[max_weight.MaxWeight], servers: str) -> None:
    """The comparison with the reference notices each."""
    kind: dict[str, Any] = {"kind": "ties", "servers": servers, "initial": False, "tasks": 40}
    assert noticed("maxweight", max_weight.MaxWeight(types=3), range(12), {"types": 3}, **kind) == 0
    assert noticed("maxweight", bug(types=3), range(12), {"types": 3}, **kind) > 0
