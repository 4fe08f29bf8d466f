"""A search ends when no number of servers will do, and says why: after how many trials, and by which line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

import packenv
from packenv import Jobs, Workload
from packenv.planning.goals import parse_goal
from packenv.planning.kinds import parse_kinds
from packenv.planning.lower_bounds.cost_bound import least_cost
from packenv.planning.mixes import MixSearch
from packenv.planning.search import NoneMeets, Search, most_used, with_servers
from packenv.planning.trials import RunValues
from packenv.results.stability import NOTHING
from packenv.runs.run import Run
from packenv.simulation import simulate
from packenv.workloads.laws import Constant, Geometric
from tests.planning.test_plans import planned


@dataclass
class Told:
    """Runs that are not made: what each gives is told, by its number of servers and its seed."""

    give: Callable[[int, int], RunValues]

    def __post_init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, runs: Sequence[Run], extract: object) -> list[RunValues]:
        servers = [len(run.workload.servers) for run in runs if isinstance(run.workload, Workload)]
        self.asked += dict.fromkeys(servers)
        return [self.give(count, run.seed) for count, run in zip(servers, runs, strict=True)]


STREAM = Workload(sizes=Constant(0.7), service=Geometric(10), rate=0.5, servers=1)


def search(*goals: str, workload: Workload = STREAM) -> Search:
    return Search(workload, "bf-js", [parse_goal(goal, None) for goal in goals], 2, 1000, {})


def test_the_queue_of_half_as_many_servers() -> None:
    """From 32 servers on the same tasks wait as long as they do, so that 64 are tried and no more."""
    told = Told(lambda servers, seed: RunValues([9.0], NOTHING, None, 3, 5.0 + seed + 100 * max(0, 32 - servers)))
    with pytest.raises(NoneMeets) as raised:
        search("mean wait <= 3").run(4, told)
    assert 64 <= max(told.asked) < 256 and len(told.asked) < 9
    line = f"With {max(told.asked)} servers the mean wait is 9 slots. The queue is the same with"
    assert line in str(raised.value)


def test_the_same_queue_by_less_than_half_is_not_enough_to_give_up() -> None:
    """Steps of equal waits, each of half as many more servers, down to none."""

    def give(servers: int, seed: int) -> RunValues:
        step = min(range(40), key=lambda n: abs(1.5**n - servers) if 1.5**n <= servers else 1e9)
        return RunValues([200.0 - 10 * step], NOTHING, None, 3, 200.0 - step)

    assert search("mean wait <= 50").run(1, Told(give)).servers > 400


def test_fresh_seeds_that_are_never_enough() -> None:
    """The search's own seeds are content with 8 servers; with the others the same tasks wait on any number."""
    told = Told(
        lambda servers, seed: RunValues([1.0 if servers >= 8 and seed < 2 else 9.0], NOTHING, None, 3, 7.0 + servers * (seed < 2))
    )
    with pytest.raises(NoneMeets, match="The queue is the same with 8 servers"):
        search("mean wait <= 3").run(4, told)
    assert max(told.asked) <= 24


def test_a_utilisation_that_more_servers_only_lower() -> None:
    told = Told(lambda servers, seed: RunValues([9.0, 3 / servers], NOTHING, None, 3, float(servers)))
    with pytest.raises(NoneMeets, match=r"With 4 servers the mean wait is 9 slots. More servers would be used too little"):
        search("mean wait <= 3", "utilisation >= 90%").run(4, told)
    assert told.asked == [4]


def test_fresh_seeds_that_use_too_little() -> None:
    """30 numbers were tried before: at the first one the other seeds break both goals."""
    told = Told(
        lambda servers, seed: RunValues([9.0 if seed >= 2 else 1.0, 0.95 if seed < 2 else 0.5], NOTHING, None, 3, float(servers))
    )
    with pytest.raises(NoneMeets, match="used too little"):
        search("mean wait <= 3", "utilisation >= 90%").run(4, told)
    assert told.asked == [4, 4]


def table() -> Workload:
    """Work 2 · 0.6 · 10 + 3 · 0.5 · 4 = 18 in 25 slots at the soonest: one server is used by 72 % at the most, two by 36 %."""
    return Workload(jobs=Jobs.of([0, 0, 1, 1, 21], [0.6, 0.6, 0.5, 0.5, 0.5], [10, 10, 4, 4, 4]), servers=1)


def test_how_many_servers_a_table_uses() -> None:
    for share, most in ((0.73, 0), (0.71, 1), (0.37, 1), (0.35, 2), (0.17, 4)):
        goal = parse_goal(f"utilisation >= {share}", None)
        assert most_used(table(), [goal]) == most
        for servers in range(most + 1, 7):
            used = goal.value(simulate(with_servers(table(), servers), "bf-js", drain=True))
            assert used is not None and used < share
    assert most_used(STREAM, [parse_goal("utilisation >= 0.9", None)]) == most_used(table(), []) == 1_000_000


def test_goals_that_contradict_each_other() -> None:
    """Two servers at least for no wait, of which at most 36 % are used: no run is made."""
    told = Told(lambda servers, seed: RunValues([9.0], NOTHING, None, 3, 1.0))
    with pytest.raises(NoneMeets, match=r"At least 2 are needed. More than 1 are used too little under every policy"):
        search("max wait <= 0", "utilisation >= 50%", workload=table()).run(2, told)
    assert not told.asked
    with pytest.raises(NoneMeets, match=r"With 1 server the max queue is 3. More than 1 are used too little"):
        planned(table(), "bf-js", "max queue <= 0", "utilisation >= 50%")


def test_mixes_end_too() -> None:
    kinds = parse_kinds("2=1.8,1=1")
    workload = packenv.Workload(sizes=Constant(0.7), service=Geometric(10), rate=0.5, servers=kinds.one_of_each)
    told = Told(lambda servers, seed: RunValues([9.0], NOTHING, None, 3, 5.0))
    goals = [parse_goal("mean wait <= 3", None)]
    mixes = MixSearch(search("mean wait <= 3", workload=workload), kinds, least_cost(workload, goals, kinds, 0.01, 2.0), told)
    with pytest.raises(NoneMeets, match="The queue is the same with"):
        mixes.run()
    assert max(told.asked) < 64
