"""Laws and servers for which ρ* is known in closed form: the bracket holds it, and its proofs check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Jobs, Workload
from packenv.units import UNIT
from packenv.workloads.laws import Beta, Constant, Discrete, Empirical, Fixed, Geometric, Histogram, Mixture, Uniform
from packenv.workloads.laws.joint import Conditional, Joint
from packenv.workloads.laws.law import Law
from tests.theory.capacity.brute_force import setting

TINY = 1 / UNIT


def bracketed(workload: Workload, value: float, gap: float = 1e-6, within: float = 1e-9) -> None:
    """`value` lies in a proved bracket that is as narrow as `gap`."""
    bracket = packenv.max_workload(workload, gap, seconds=30)
    bracket.verify(workload)
    assert bracket.reached and bracket.gap <= gap
    assert bracket.lower <= value * (1 + within) and bracket.upper >= value * (1 - within)
    assert bracket.upper <= bracket.area_bound
    assert bracket.area_bound == pytest.approx(workload.area_bound, rel=2e-4)


@pytest.mark.parametrize("size", [1.0, 0.5, 0.3, 1 / 3, 0.2, 0.07, 0.5 + TINY])
@pytest.mark.parametrize("servers", [1, 4])
def test_equal_sizes(size: float, servers: int) -> None:
    whole = int(UNIT // int(size * UNIT + 1e-3))
    bracketed(setting(Constant(size), servers), servers * whole)


@pytest.mark.parametrize(
    ("sizes", "servers", "value"),
    [
        (Discrete([0.4, 0.6]), 1, 2),
        (Discrete([0.4, 0.6]), 3, 6),
        (Discrete([0.4, 0.6], [0.25, 0.75]), 1, 4 / 3),  # every 0.6 needs a server of its own
        (Discrete([0.4, 0.6], [0.75, 0.25]), 1, 2),
        (Discrete([2.0, 5.0], [2 / 3, 1 / 3]), "1x10", 10 / 3),
        (Discrete([0.5 - 0.1, 0.5 + 0.1]), 1, 2),  # Proposition 2: sizes ½ ± e
        (Discrete([0.5 - 0.01, 0.5 + 0.01]), 1, 2),
        (Discrete([0.5, 0.5 + TINY]), 1, 4 / 3),  # alone, or two of ½
        (Discrete([1 / 3, 1 / 3 + TINY]), 1, 12 / 5),  # 3 of ⅓, or 2 of both
        (Discrete([0.5 + TINY, 0.5 - TINY]), 1, 2),
    ],
)
def test_few_sizes(sizes: Law, servers: Any, value: float) -> None:
    bracketed(setting(sizes, servers), value)


@pytest.mark.parametrize(
    ("sizes", "servers", "value"),
    [
        (Constant(0.5), "3x1,2x0.5", 8),
        (Constant(0.5 + TINY), "3x1,2x0.5", 3),  # too large for the small servers, alone on the large ones
        (Constant(0.4), "3x1,2x0.5", 8),
        (Discrete([0.5, 1.0]), "3x1,2x0.5", 16 / 3),  # n of size 1 leave 2 + 2 (3 - n) places: n = 8/3
        (Discrete([0.3, 0.7]), "2x1,4x0.3", 4),  # 0.7 on the large ones only, one each
        (Constant(0.25), "1x2,1x1,1x0.5", 14),
    ],
)
def test_unequal_servers(sizes: Law, servers: str, value: float) -> None:
    bracketed(setting(sizes, servers), value)


@pytest.mark.parametrize(
    ("sizes", "servers", "area"),
    [
        (Uniform(0.1, 0.9), 5, 10.0),
        (Uniform(0.01, 0.19), 5, 50.0),
        (Uniform(0.3, 0.7), 2, 4.0),
        (Beta(0.5, 0.5, 0.2, 0.8), 1, 2.0),
        (Histogram([0.2, 0.3, 0.7, 0.8], [0.4, 0.2, 0.4]), 1, 2.0),
        (Mixture([Uniform(0.1, 0.3), Uniform(0.7, 0.9)], [0.5, 0.5]), 3, 6.0),
        (Mixture([Uniform(0.05, 0.15), Constant(0.1)], [0.5, 0.5]), 1, 10.0),
    ],
)
def test_symmetric_laws_attain_the_area_bound(sizes: Law, servers: int, area: float) -> None:
    """Symmetric about ½ or 1/10: x beside 1 - x, or its mixture, fills a server. Sizes are rounded down to units."""
    bracketed(setting(sizes, servers), area, gap=0.006, within=1e-5)


@pytest.mark.parametrize(
    ("sizes", "value"),
    [
        (Mixture([Constant(0.5 + TINY), Uniform(0.4, 0.5)], [0.8, 0.2]), 1 / 0.8),  # one of ½+ on every server
        (Mixture([Constant(1 / 3 + TINY), Uniform(0.34, 0.4)], [0.5, 0.5]), 2.0),  # two of any on a server
        (Uniform(0.5 + TINY, 0.9), 1.0),
        (Uniform(1 / 3 + TINY, 0.5), 2.0),
    ],
)
def test_just_above_a_half_or_a_third(sizes: Law, value: float) -> None:
    bracketed(setting(sizes), value, gap=0.002)


def test_sizes_far_below_the_grid() -> None:
    bracketed(setting(Uniform(0.001, 0.002)), 2000 / 3, gap=0.02, within=2e-4)


def test_service_that_depends_on_the_demand() -> None:
    """0.6 serves three times as long as 0.4: in service, three of four are of size 0.6, and pairs are rare."""
    law = Joint([[0.4], [0.6]], [0.5, 0.5])
    dependent = Workload(sizes=law, service=Conditional([Fixed(100), Fixed(300)]), servers=1, rate=0.001)
    bracketed(dependent, 4 / 3)
    bracketed(Workload(sizes=law, service=Geometric(100), servers=1, rate=0.001), 2)
    assert dependent.rate_for(4 / 3) == pytest.approx(1 / 150)


def test_a_table_counts_by_service() -> None:
    table = Jobs.of([0, 0, 1, 2], [0.6, 0.4, 0.6, 0.4], [10, 5, 20, 5])
    bracketed(Workload(jobs=table, servers=1), 4 / 3)


def test_a_sample_is_a_law() -> None:
    drawn = np.random.default_rng(5).choice([0.4, 0.6], 500)
    share = float(np.mean(drawn == 0.6))
    bracketed(setting(Empirical(drawn)), min(2.0, 1 / share))
