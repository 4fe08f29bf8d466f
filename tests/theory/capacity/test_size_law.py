"""Laws of sizes: their probabilities are rounded outwards, and packings of them never promise too much."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packenv import InputError, Jobs, Workload
from packenv.theory.capacity.one_resource.packing import best_fit_decreasing, packing, quantiles
from packenv.theory.capacity.one_resource.size_law import FINEST, SizeLaw, atomic, size_law
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Fixed, Mixture, Uniform
from packenv.workloads.laws.joint import Conditional, Joint
from tests.theory.capacity.brute_force import exactly, kinds, law_of, max_workload_of, setting

SLACK = Fraction(2, 10**9)
masses = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(masses, st.booleans(), st.integers(1, 5))
def test_shares_and_spread_are_rounded_outwards(mass: list[float], exact: bool, groups: int) -> None:
    weights = np.array(mass) / (1.0 if exact else np.sum(mass))
    sizes = [3 + 7 * i for i in range(len(mass))]
    law = law_of(sizes, weights.tolist(), exact)
    truth = exactly(law)
    of = np.arange(len(sizes)) % groups
    shares, whole = law.shares(of, groups)
    for group in range(groups):
        own = sum((p for p, g in zip(truth, of.tolist(), strict=True) if g == group), Fraction(0))
        assert own <= Fraction(shares[group], whole) <= own + SLACK
    points = np.array([0, 10, 24, 31, 200])
    left, whole = law.spread(points)
    spread = [Fraction(0)] * len(points)
    for size, p in zip(sizes, truth, strict=True):
        above = int(np.searchsorted(points, size))
        share = Fraction(size - int(points[above - 1]), int(points[above] - points[above - 1]))
        spread[above] += p * share
        spread[above - 1] += p * (1 - share)
    for found, own in zip(left, spread, strict=True):
        assert own - SLACK <= Fraction(found, whole) <= own
    if exact:  # nothing is lost but the rounding of shares
        assert sum(shares) == law.shares(of, groups)[1]


def test_the_law_is_that_of_the_units() -> None:
    law = size_law(setting(Mixture([Uniform(0.25, 0.5), Discrete([0.3])], [0.5, 0.5])))
    at = int(np.searchsorted(law.low, int(0.3 * UNIT)))
    assert law.low[0] == UNIT // 4 and law.high[-1] == UNIT // 2
    assert law.mass[at] == pytest.approx(0.5, abs=1e-6) and law.mass.sum() == pytest.approx(1, abs=1e-12)
    assert not law.exact and (law.low == law.high).all()
    assert law.mean_low / UNIT == pytest.approx(0.3375, abs=1e-6)


def test_a_wide_law_is_held_as_ranges() -> None:
    law = size_law(setting(Uniform(1.0, 9.0), "1x10"))
    assert len(law.low) <= FINEST and (law.high > law.low).any()
    assert law.mean_low < 5 * UNIT < float(law.high @ law.mass)


def test_weights_by_time_in_service() -> None:
    joint = Workload(sizes=Joint([[0.4], [0.6], [0.4]]), service=Conditional([Fixed(1), Fixed(4), Fixed(3)]), servers=1, rate=0.1)
    assert size_law(joint).mass.tolist() == pytest.approx([4 / 3, 4 / 3])
    table = Jobs.of([0, 0, 0], [0.5, 0.25, 0.5], [2, 3, 5])
    law = size_law(Workload(jobs=table, servers=1))
    assert law.low.tolist() == [UNIT // 4, UNIT // 2] and law.mass.tolist() == [3, 7]


def test_sizes_without_mass_are_no_sizes() -> None:
    assert size_law(setting(Discrete([0.25, 0.5], [1.0, 0.0]))).low.tolist() == [UNIT // 4]
    assert atomic(np.array([5, 3, 5]), np.array([1.0, 2.0, 3.0])).mass.tolist() == [2.0, 4.0]


def test_several_resources_have_no_size() -> None:
    with pytest.raises(InputError, match="2 resources"):
        size_law(Workload(sizes=(Uniform(0.1, 0.2), Uniform(0.1, 0.2)), service=Fixed(1), servers=1, rate=0.1))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.integers(10, 100), min_size=1, max_size=5, unique=True), st.integers(1, 3), st.booleans())
def test_a_packing_attains_no_more_than_there_is(sizes: list[int], count: int, unequal: bool) -> None:
    sizes = sorted(sizes)
    servers = [(count, 100), *([(2, 61)] if unequal else [])]
    law = law_of(sizes, [1 / len(sizes)] * len(sizes))
    value = float(packing(law, kinds(*servers)).value(law, kinds(*servers)))
    truth = max_workload_of(sizes, [1 / len(sizes)] * len(sizes), servers)
    assert 0.6 * truth <= value <= truth * (1 + 1e-9)


def test_quantiles_are_upper_ends() -> None:
    law = law_of([1, 2, 5], [0.25, 0.5, 0.25])
    assert quantiles(law, 4).tolist() == [1, 2, 2, 5]
    assert quantiles(law, 3).tolist() == [2, 2, 5]
    assert quantiles(law, 1).tolist() == [5]
    ranges = SizeLaw(np.array([1, 11]), np.array([10, 20]), np.array([0.5, 0.5]), exact=False)
    assert quantiles(ranges, 2).tolist() == [10, 20]


def test_best_fit_decreasing() -> None:
    assert best_fit_decreasing([6, 5, 4, 3, 2], [10, 10]) == [[6, 4], [5, 3, 2]]
    assert best_fit_decreasing([4, 3], [7, 4]) == [[3], [4]]
    assert best_fit_decreasing([6, 6], [10, 5]) is None
