"""The universal partition I and its reduced configurations: Propositions 1 and 2, counts, and what they guarantee."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import packenv
from packenv import InputError
from packenv.cluster.virtual_queues import reduced_configuration
from packenv.theory.capacity.configuration_bounds import halving_bound, served_by, type_shares, vqs_bound
from packenv.theory.capacity.one_resource.size_law import size_law
from packenv.theory.configurations import halving_bounds, halving_configurations, reduced_bounds, reduced_configurations
from packenv.units import UNIT
from packenv.workloads.laws import Discrete, Uniform
from tests.theory.capacity.brute_force import configurations, setting


def upper_ends(levels: int) -> list[int]:
    """Of the types of I, in units of 1 / (3 · 2^J)."""
    return [end for m in range(levels) for end in (3 * 2 ** (levels - m), 2 * 2 ** (levels - m))]


def lower_ends(levels: int) -> list[int]:
    """Real sizes are larger than these."""
    return [*upper_ends(levels)[1:], 3 * 2**levels // 2**levels]


def maximal(found: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    known = set(found)
    return [k for k in found if not any((*k[:j], k[j] + 1, *k[j + 1 :]) in known for j in range(len(k)))]


@pytest.mark.parametrize(("levels", "count"), [(2, 10), (3, 50), (4, 476)])
def test_feasible_configurations(levels: int, count: int) -> None:
    """Of sizes rounded up, the empty one too (PAPERS §1.4)."""
    assert len(list(configurations(upper_ends(levels), 3 * 2**levels))) == count


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_proposition_1(levels: int) -> None:
    """Whatever a server can hold, K_RED covers two thirds of it, and no more of the worst."""
    real = maximal(list(configurations(lower_ends(levels), 3 * 2**levels - 1)))
    covers = [served_by(reduced_configurations(levels), np.array(k, float), 1) for k in real]
    assert min(covers) == pytest.approx(2 / 3, abs=1e-9)
    assert max(covers) <= 1 + 1e-9


@pytest.mark.parametrize(("levels", "cover"), [(1, 1), (2, 2 / 3), (3, 4 / 7), (4, 8 / 15), (5, 16 / 31)])
def test_cuts_at_powers_of_two_alone(levels: int, cover: float) -> None:
    lower = [2 ** (levels - 1 - m) for m in range(levels)]  # in units of 2^-J; real sizes are larger
    real = maximal(list(configurations(lower, 2**levels - 1)))
    covers = [served_by(halving_configurations(levels), np.array(k, float), 1) for k in real]
    assert min(covers) == pytest.approx(cover, abs=1e-9)


@pytest.mark.parametrize("levels", range(2, 9))
def test_reduced_configurations(levels: int) -> None:
    """4J - 4 of them, each fits, and they are those of PAPERS §1.4 in its order, compiled too."""
    found = reduced_configurations(levels)
    assert found.shape == (4 * levels - 4, 2 * levels)
    assert (found @ upper_ends(levels) <= 3 * 2**levels).all()
    e = np.eye(2 * levels, dtype=np.int64)
    listed = [2**m * e[2 * m] for m in range(levels)]
    listed += [3 * 2 ** (m - 1) * e[2 * m + 1] for m in range(1, levels)]
    listed += [e[1] + 2**m // 3 * e[2 * m] for m in range(2, levels)]
    listed += [e[1] + 2 ** (m - 1) * e[2 * m + 1] for m in range(1, levels)]
    assert found.tolist() == np.array(listed).tolist()
    for n, row in enumerate(found):
        one, j, count = reduced_configuration(levels, n)
        assert (row == one * e[1] + count * e[j]).all()


def test_types() -> None:
    ends = reduced_bounds(3, UNIT)
    assert ends.tolist() == [UNIT // part for part in (1,)] + [2 * UNIT // 3, UNIT // 2, UNIT // 3, UNIT // 4, UNIT // 6]
    assert halving_bounds(3, UNIT).tolist() == [UNIT, UNIT // 2, UNIT // 4]
    law = size_law(setting(Discrete([1.0, 2 / 3, 0.5, 0.51, 1 / 6, 0.01], [0.3, 0.2, 0.2, 0.1, 0.1, 0.1])))
    assert type_shares(law, ends).tolist() == pytest.approx([0.3, 0.3, 0.2, 0.0, 0.0, 0.2])
    assert all(a > b for a, b in pairwise(ends.tolist()))


def test_proposition_2_and_the_paper_examples() -> None:
    assert vqs_bound(packenv.workload("paper/fig3a")) == pytest.approx(4 / 3, abs=1e-9)
    for J in (3, 4, 5):
        assert vqs_bound(packenv.workload("paper/fig3b"), J) == pytest.approx(0.9 * 10 / 3, abs=1e-9)
    for e in (0.001, 0.1, 0.16):
        assert vqs_bound(setting(Discrete([0.5 - e, 0.5 + e]))) == pytest.approx(4 / 3, abs=1e-9)


@pytest.mark.parametrize(("name", "J"), [("paper/fig4a", 7), ("paper/fig4b", 4)])
def test_what_is_guaranteed(name: str, J: int) -> None:
    """Two thirds and one half of ρ*, but for the share of sizes below 2^-J."""
    workload = packenv.workload(name)
    bracket = packenv.max_workload(workload, 0.01)
    assert 2 / 3 * 0.99 * bracket.lower <= vqs_bound(workload) <= bracket.upper
    assert vqs_bound(workload) == vqs_bound(workload, J)
    assert 0.5 * 0.99 * bracket.lower <= halving_bound(workload) <= vqs_bound(workload)


def test_equal_servers_only() -> None:
    with pytest.raises(InputError, match="equal capacity"):
        vqs_bound(setting(Uniform(0.1, 0.4), "1x1,1x0.5"))
