"""Running away from home: worked by hand, the same for every policy, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Network, Ragged, Workload
from packenv.workloads.laws import Geometric, Uniform
from packenv.workloads.network import parse_network


def table(home: list[list[int]], overhead: int = 10, **columns: Any) -> Jobs:
    """Tasks of a whole server each, one after the other."""
    n = len(home)
    places = {"home": Ragged.of(home), "remote_overhead": np.full(n, overhead)}
    return Jobs.of(np.arange(n) * 100, np.ones(n), np.full(n, 5), **places, **columns)


def stays(workload: Workload, policy: str) -> list[int]:
    result = packenv.simulate(workload, policy, drain=True, schedule=True)
    assert result.schedule is not None
    return (result.schedule.end - result.schedule.start).tolist()


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff", "tetris", "capacity", "vqs"])
def test_whoever_places_it(policy: str) -> None:
    """All start on server 0: at home, in the rack, elsewhere, without data."""
    jobs = table([[0], [1, 3], [2], []])
    assert stays(Workload(jobs=jobs, servers=4), policy) == [5, 15, 15, 5]
    assert stays(Workload(jobs=jobs, servers=4, network=Network(racks=2, same_rack=0.25)), policy) == [5, 7, 15, 5]
    assert stays(Workload(jobs=jobs, servers=4, network=Network(racks=(7, 1, 7, 1), same_rack=0.0)), policy) == [5, 15, 5, 5]


def test_the_network_changes() -> None:
    """From 100 s on four times as slow, from 299.5 s on perfect; a slot of half a second: slots 200 and 599."""
    jobs = table([[1]] * 7)
    made = Workload(jobs=jobs, servers=2, slot_seconds=0.5, network=Network(factor=((100, 4.0), (299.5, 0.0))))
    assert stays(made, "fifo-ff") == [15, 15, 45, 45, 45, 45, 5]


def test_halves_go_to_the_even_number() -> None:
    made = Workload(jobs=table([[1], [1]], overhead=3), servers=2, network=Network(racks=2, same_rack=0.5, factor=((100, 3.0),)))
    assert stays(made, "fifo-ff") == [5 + 2, 5 + 4]  # 1.5 and 4.5


@pytest.mark.parametrize(
    "network, problem",
    [
        ({"racks": -1}, "racks must not be negative, not -1"),
        ({"racks": (0, -2)}, "racks must not be negative, not -2"),
        ({"same_rack": 1.5}, "same_rack must lie between 0 and 1, not 1.5"),
        ({"same_rack": float("nan")}, "same_rack must lie between 0 and 1"),
        ({"factor": ((0, -1.0),)}, "times and factors >= 0, not 0:-1"),
        ({"factor": ((-1, 1.0),)}, "times and factors >= 0, not -1:1"),
        ({"factor": ((5, 1.0), (5, 2.0))}, "5 s does not come after 5 s"),
    ],
)
def test_bad_networks(network: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Network(**network)


def test_what_does_not_exist() -> None:
    with pytest.raises(InputError, match="row 2: home server 3 does not exist, there are 3"):
        Workload(jobs=table([[0], [], [1, 3]]), servers=3)
    with pytest.raises(InputError, match="racks of 2 servers, and there are 3"):
        Workload(jobs=table([[0]]), servers=3, network=Network(racks=(0, 1)))
    with pytest.raises(InputError, match="is a stream"):
        Workload(sizes=Uniform(0.1, 0.9), service=Geometric(9), servers=3, rate=0.1, network=Network())
    with pytest.raises(InputError, match="row 0: remote_overhead is negative"):
        table([[0]], overhead=-1)


def test_words_of_the_command_line() -> None:
    assert parse_network(None, None) is None
    assert parse_network(20, None) == Network(racks=20)
    assert parse_network(None, "0:1,600:4") == Network(factor=((0, 1), (600, 4)))
    with pytest.raises(InputError, match="seconds:factor, such as 0:1,600:4, not '600'"):
        parse_network(5, "0:1,600")
