"""Instances drawn by seed: the settings of PAPERS §3, and a function of the seed alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from packenv import UNIT, Jobs, workload
from packenv.workloads.named.instances import PhasedJobs

SETTINGS = {  # jobs, phases, largest demand, slots, values
    "price/fig2": (10, 3, 10, 4, 1),
    "price/fig3": (30, 5, 30, 9, 1),
    "price/fig5": (100, 5, 10, 4, 5),
    "price/fig8": (100, 5, 30, 4, 5),
}


def drawn(name: str, seed: int) -> Jobs:
    found = workload(name).at(seed).jobs
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "setting"), SETTINGS.items())
def test_settings_of_the_figures(name: str, setting: tuple[int, ...]) -> None:
    jobs, phases, demand, slots, values = setting
    assert workload(name).servers.capacity.tolist() == [[50, 50], [50, 50]]
    tables = [drawn(name, seed) for seed in range(40)]
    assert {len(set(table.job)) for table in tables} == {jobs}
    assert {int(count) for table in tables for count in np.bincount(table.job)} == set(range(1, phases + 1))
    assert {int(slot) for table in tables for slot in table.service} == set(range(1, slots + 1))
    assert {int(value) for table in tables for value in table.value} == set(range(1, values + 1))
    for r in range(2):
        assert {int(amount) for table in tables for amount in table.demand[:, r]} == {n * UNIT for n in range(1, demand + 1)}
    for table in tables:
        assert not table.arrival.any()
        for job in range(jobs):
            own = table.job == job
            assert table.phase[own].tolist() == list(range(own.sum()))
            assert len(set(table.value[own])) == 1


@pytest.mark.parametrize("name", [*SETTINGS, "price/abundant"])
def test_a_function_of_the_seed_alone(name: str) -> None:
    first, again, other = drawn(name, 3), drawn(name, 3), drawn(name, 4)
    assert np.array_equal(first.demand, again.demand) and np.array_equal(first.service, again.service)
    assert len(first) != len(other) or not np.array_equal(first.demand, other.demand)
    sent = pickle.loads(pickle.dumps(workload(name)))  # to another process
    assert sent == workload(name)
    assert np.array_equal(sent.at(3).jobs.demand, first.demand)


def test_demands_are_independent_of_each_other() -> None:
    table = PhasedJobs(4000, 1, (30, 10), 4)(0)
    assert abs(np.corrcoef(table.demand.T)[0, 1]) < 0.05
    assert abs(np.corrcoef(table.demand[:, 0], table.service)[0, 1]) < 0.05


def test_one_resource_is_abundant() -> None:
    """Whatever fits a machine by the scarce resource leaves the other one free, and two large phases never fit together."""
    table = drawn("price/abundant", 0)
    scarce, abundant = table.demand.T / UNIT
    large = scarce > 25
    assert 0.4 < large.mean() < 0.6
    assert not abundant[large].any()
    assert 2 * abundant.max() < 50 < 3 * scarce[~large].min() + 3
    assert scarce[large].max() + scarce[~large].max() <= 50


def test_flow_shop() -> None:
    table = workload("price/fig1").jobs
    assert table is not None
    assert (table.demand / UNIT).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert table.service.tolist() == [5, 2, 1, 3]
    assert (table.job.tolist(), table.phase.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 1])
