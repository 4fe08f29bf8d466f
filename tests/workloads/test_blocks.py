"""Workloads of blocks: where copies lie, and that a table is a function of its seed."""

from __future__ import annotations

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Workload
from packenv.workloads.named.blocks import SWINGS, Placed, Readers, replicas


def draw(blocks: int, servers: int, rack: int = 0) -> np.ndarray:
    return replicas(np.random.default_rng(1), blocks, servers, rack)


@pytest.mark.parametrize("servers, rack", [(100, 0), (4, 0), (100, 20), (105, 20), (40, 20), (7, 2), (20, 20)])
def test_copies_lie_on_three_servers(servers: int, rack: int) -> None:
    place = draw(3000, servers, rack)
    assert place.shape == (3000, 3)
    assert place.min() >= 0
    assert place.max() < servers
    assert (np.diff(np.sort(place, axis=1), axis=1) > 0).all()
    used = np.bincount(place[:, 0], minlength=servers)
    assert used.min() > 0
    if rack and servers > rack:  # the second and third in one rack, which is not the first one's
        assert (place[:, 1] // rack == place[:, 2] // rack).all()
        assert (place[:, 0] // rack != place[:, 1] // rack).all()


def test_every_choice_is_as_likely() -> None:
    """Four servers, three copies: each of the four sets, and each order."""
    place = draw(24_000, 4)
    _, counts = np.unique(place, axis=0, return_counts=True)
    assert len(counts) == 24
    assert abs(counts - 1000).max() < 6 * np.sqrt(1000)


def test_fewer_servers_than_copies() -> None:
    assert sorted(draw(1, 2)[0]) == [0, 1]
    assert draw(1, 1).tolist() == [[0]]


@pytest.mark.parametrize("name", ["delay/facebook", "delay/racks", "delay/changing"])
def test_a_table_is_a_function_of_its_seed(name: str) -> None:
    workload = packenv.workload(name)
    assert workload.draw is not None
    first, again, other = workload.draw(3), workload.draw(3), workload.draw(4)
    assert first.home is not None and again.home is not None and other.home is not None
    assert np.array_equal(first.home.values, again.home.values)
    assert np.array_equal(first.service, again.service)
    assert not np.array_equal(first.home.values[:100], other.home.values[:100])
    assert workload.intensity == pytest.approx(0.8, rel=0.05)


def test_the_same_block_lies_on_the_same_servers() -> None:
    jobs = Jobs.of([0, 0, 1, 2], [1.0] * 4, [1] * 4)
    placed = Placed(jobs, np.array([1, -1, 0, 1]), servers=10)
    homes = [placed(5).home.row(row).tolist() for row in range(4)]  # type: ignore[union-attr]
    assert homes[1] == []
    assert homes[0] == homes[3] != homes[2]
    assert Workload(jobs=placed, servers=10).at(6).jobs is not None


def test_hot_blocks() -> None:
    """The k-th of 2,000 blocks is read in proportion to k^-0.9, the first by 8.4 %; all who read it have the same servers."""
    workload = packenv.workload("delay/hot")
    home = workload.at(1).jobs.home  # type: ignore[union-attr]
    assert home is not None
    places, count = np.unique(home.values.reshape(-1, 3), axis=0, return_counts=True)
    assert len(places) <= 2000
    share = np.arange(1, 2001) ** -0.9
    assert count.max() / count.sum() == pytest.approx(share[0] / share.sum(), abs=0.01)
    assert workload.network == packenv.Network() and packenv.workload("delay/hot-changing").network == packenv.Network(
        factor=SWINGS
    )


def test_copies() -> None:
    table = Readers(5, servers=10, intensity=0.8, copies=1)(0)
    assert table.home is not None and len(table.home.values) == len(table)
    racked = Readers(5, servers=10, intensity=0.8, copies=2, rack=5)(0)
    assert racked.home is not None and len(racked.home.values) == 2 * len(racked)
    for wrong in ({"copies": 0}, {"blocks": -1}, {"skew": -0.5}):
        with pytest.raises(InputError, match="needs copies >= 1, blocks >= 0 and skew >= 0"):
            Readers(5, servers=10, intensity=0.8, **wrong)  # type: ignore[arg-type]
