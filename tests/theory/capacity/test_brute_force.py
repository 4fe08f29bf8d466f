"""Random small instances against one linear program over every configuration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packenv
from packenv.theory.capacity.one_resource.search import OneResourceSearch
from packenv.theory.capacity.one_resource.size_law import kinds_of
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Mixture, Uniform
from packenv.workloads.laws.law import Law
from tests.theory.capacity.brute_force import law_of, max_workload_of, setting, units_law

GRID = UNIT // 60
weights = st.integers(1, 20)


@st.composite
def instances(draw: st.DrawFn, step: int) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Sizes from a twelfth of the largest server on, their weights, and 1 to 3 kinds of servers (how many, units)."""
    rooms = draw(st.lists(st.integers(30, 60), min_size=1, max_size=3, unique=True))
    sizes = draw(st.lists(st.integers(5, max(rooms)), min_size=2, max_size=5, unique=True))
    jitter = draw(st.integers(-step // 3, step // 3))
    servers = [(draw(st.integers(1, 4)), room * step) for room in rooms]
    largest = max(rooms) * step
    found = [min(max(size * step + jitter * (i % 2), 1), largest) for i, size in enumerate(sizes)]
    return found, [draw(weights) for _ in sizes], servers


def text_of(servers: list[tuple[int, int]]) -> list[float]:
    return [units / UNIT for count, units in servers for _ in range(count)]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(instances(GRID))
def test_exact_types(instance: tuple[list[int], list[int], list[tuple[int, int]]]) -> None:
    sizes, mass, servers = instance
    workload = setting(units_law(sizes, mass), text_of(servers))
    truth = max_workload_of(sizes, (np.array(mass) / sum(mass)).tolist(), servers)
    bracket = packenv.max_workload(workload)
    bracket.verify(workload)
    assert bracket.lower <= truth * (1 + 1e-9)
    assert bracket.upper >= truth * (1 - 1e-9)
    assert bracket.gap <= 1e-6


@settings(max_examples=8, deadline=None, derandomize=True)
@given(instances(GRID), st.booleans())
def test_cells(instance: tuple[list[int], list[int], list[tuple[int, int]]], exact: bool) -> None:
    """The same laws, but found as laws of many sizes are: by cells and points."""
    sizes, mass, servers = instance
    order = np.argsort(sizes)
    law = law_of(np.array(sizes)[order].tolist(), (np.array(mass)[order] / sum(mass)).tolist(), exact)
    truth = max_workload_of(sizes, (np.array(mass) / sum(mass)).tolist(), servers)
    search = OneResourceSearch(law, kinds_of(setting(units_law([1], [1]), text_of(servers))), 0.02, 5, lambda lower, upper: None)
    search.refine()
    for lower, upper in search.history:
        assert lower <= truth * (1 + 1e-9) and upper >= truth * (1 - 1e-9)
    assert search.upper - search.lower <= 0.1 * search.upper


@pytest.mark.parametrize(
    ("law", "atoms"),
    [
        (Uniform(0.2, 0.5), 400),
        (Mixture([Uniform(0.15, 0.3), Uniform(0.5, 0.8)], [0.7, 0.3]), 400),
    ],
)
def test_a_continuous_law_between_discrete_ones(law: Law, atoms: int) -> None:
    """Quantiles rounded up and down are laws whose ρ* lies on either side; theirs are found by other means (atoms)."""
    gap = 0.01
    bracket = packenv.max_workload(setting(law), gap, seconds=30)
    at = np.arange(atoms + 1) / atoms
    ends = np.interp(at, *_inverse(law))
    rounded_up = packenv.max_workload(setting(Discrete(ends[1:].tolist())), gap, seconds=30)
    rounded_down = packenv.max_workload(setting(Discrete(ends[:-1].tolist())), gap, seconds=30)
    assert rounded_up.lower <= bracket.upper and bracket.lower <= rounded_down.upper
    assert bracket.reached and rounded_up.reached and rounded_down.reached
    assert rounded_up.lower >= 0.95 * rounded_down.upper


def _inverse(law: Law) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(*law.support(), 100_001)
    return law.cdf(x), x
