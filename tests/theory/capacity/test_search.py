"""The search itself: nested brackets, gaps and time limits, bad input."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

import packenv
from packenv import InputError, Workload
from packenv.workloads.laws import Constant, Discrete, Fixed, Geometric, Mixture, Uniform
from tests.theory.capacity.brute_force import setting


@pytest.mark.parametrize("sizes", [Uniform(0.2, 0.5), Mixture([Uniform(0.2, 0.35), Constant(0.55)], [0.6, 0.4])])
def test_brackets_are_nested_and_told(sizes: Any) -> None:
    told: list[tuple[float, float]] = []
    bracket = packenv.max_workload(setting(sizes), 0.01, progress=lambda lower, upper: told.append((lower, upper)))
    assert tuple(told) == bracket.history and len(told) >= 3
    for (lower, upper), (next_lower, next_upper) in pairwise(told):
        assert lower <= next_lower <= next_upper <= upper and (lower, upper) != (next_lower, next_upper)
    assert told[-1] == (bracket.lower, bracket.upper)
    assert bracket.reached and bracket.gap <= 0.01


def test_a_finer_gap_is_inside_a_coarser_one() -> None:
    coarse, fine = (packenv.max_workload(setting(Uniform(0.2, 0.5)), gap) for gap in (0.05, 0.005))
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert fine.gap <= 0.005 < coarse.gap <= 0.05


def test_out_of_time() -> None:
    workload = setting(Uniform(0.2, 0.5))
    packenv.max_workload(workload, 0.5)  # compiled
    began = time.monotonic()
    bracket = packenv.max_workload(workload, 1e-7, seconds=0.5)
    assert time.monotonic() - began < 15  # a busy machine
    assert not bracket.reached and bracket.gap > 1e-7
    bracket.verify(workload)
    assert bracket.lower <= bracket.upper


@pytest.mark.parametrize("gap", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_bad_gap(gap: float) -> None:
    with pytest.raises(InputError, match="gap must lie between 0 and 1"):
        packenv.max_workload(setting(Constant(0.5)), gap)


def test_bad_laws() -> None:
    with pytest.raises(InputError, match=r"weights sum to 0\.9"):
        setting(Discrete([0.4, 0.6], [0.4, 0.5]))
    with pytest.raises(InputError, match=r"weights sum to 1\.00000001"):
        setting(Discrete([0.4, 0.6], [0.5, 0.50000001]))
    setting(Discrete([0.4, 0.6], [0.5, 0.5 + 1e-10]))
    with pytest.raises(InputError, match=r"a demand of 1\.2 fits in no server"):
        setting(Uniform(0.1, 1.2))
    with pytest.raises(InputError, match="unbounded"):
        Workload(sizes=Geometric(2), service=Fixed(1), servers=1, rate=0.1)


def test_a_service_or_a_rate_does_not_matter() -> None:
    one = packenv.max_workload(Workload(sizes=Discrete([0.3, 0.5]), service=Geometric(7), servers=2, rate=0.1))
    other = packenv.max_workload(Workload(sizes=Discrete([0.3, 0.5]), service=Fixed(900), servers=2, load=0.5))
    assert (one.lower, one.upper) == (other.lower, other.upper)


@pytest.mark.parametrize(
    ("sizes", "servers"),
    [
        (Mixture([Constant(0.25), Uniform(0.44, 0.625)], [0.2, 0.8]), "3x1,1x0.5"),  # prices are flat where cells must be cut
        (Mixture([Constant(0.5), Uniform(0.2, 0.35)], [0.3, 0.7]), "1x1,2x0.7"),  # a capacity that the grid does not divide
        (Uniform(0.1, 0.3), "1x3.3"),
    ],
)
def test_hard_laws(sizes: Any, servers: str) -> None:
    workload = setting(sizes, servers)
    bracket = packenv.max_workload(workload, 0.01, seconds=20)
    bracket.verify(workload)
    assert bracket.reached
