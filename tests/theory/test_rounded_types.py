"""Distinct sizes and cells of equal probability, for every kind of law and for tables."""

from __future__ import annotations

import numpy as np
import pytest

from packenv import UNIT, Jobs, to_units
from packenv.theory.rounded_types import distinct_sizes, largest_of_cells
from packenv.workloads.demand import scalar_cdf
from packenv.workloads.laws import Constant, Discrete, Exponential, Mixture, Uniform
from packenv.workloads.laws.joint import Joint
from packenv.workloads.servers import parse_servers

ONE = parse_servers("1")
HALF = parse_servers("2x1:0.5")  # a demand of x of the second resource is a size of 2 x


def units(*sizes: float) -> list[int]:
    return to_units(sizes).tolist()


TABLE = Jobs.of([0, 1, 2, 3], [[0.1, 0.3], [0.6, 0.1], [0.2, 0.3], [0.1, 0.0]], [1, 1, 1, 1])


@pytest.mark.parametrize(
    "sizes, servers, values, below",
    [
        (Constant(0.3), ONE, (0.3,), (1.0,)),
        (Discrete([0.6, 0.4, 0.5], [0.25, 0.75, 0.0]), ONE, (0.4, 0.6), (0.75, 1.0)),
        (Joint([[0.1, 0.3], [0.6, 0.1], [0.2, 0.3]], [0.2, 0.3, 0.5]), HALF, (0.6,), (1.0,)),
        (Joint([[0.1, 0.2], [0.6, 0.1]], [0.2, 0.8]), HALF, (0.4, 0.6), (0.2, 1.0)),
        (TABLE, HALF, (0.1, 0.6), (0.25, 1.0)),
        # the larger of 0.1 or 0.5 and of 0.4 or 0.8: 0.1 never is
        ((Discrete([0.1, 0.5]), Discrete([0.2, 0.4], [0.75, 0.25])), HALF, (0.4, 0.5, 0.8), (0.375, 0.75, 1.0)),
        (Mixture([Constant(0.2), Discrete([0.1, 0.2])], [0.5, 0.5]), ONE, (0.1, 0.2), (0.25, 1.0)),
    ],
)
def test_distinct_sizes(sizes: object, servers: object, values: tuple[float, ...], below: tuple[float, ...]) -> None:
    found = distinct_sizes(sizes, servers)  # type: ignore[arg-type]
    assert found is not None
    assert abs(found[0] - units(*values)).max() <= 1  # twice a demand, rounded down, is not twice the amount
    assert found[1] == pytest.approx(below)
    assert largest_of_cells(sizes, servers, len(values)).tolist() == found[0][::-1].tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sizes", [Uniform(0.1, 0.9), Mixture([Constant(0.2), Uniform(0.1, 0.2)]), (Constant(0.1), Uniform(0, 0.1))]
)
def test_a_continuum_has_none(sizes: object) -> None:
    assert distinct_sizes(sizes, HALF if isinstance(sizes, tuple) else ONE) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("law", [Uniform(0.1, 0.9), Exponential(0.05), (Uniform(0.1, 0.9), Exponential(0.05, 0.5))])
@pytest.mark.parametrize("cells", [1, 2, 7, 32])
def test_cells_are_equal(law: object, cells: int) -> None:
    servers = HALF if isinstance(law, tuple) else ONE
    ends = largest_of_cells(law, servers, cells)  # type: ignore[arg-type]
    assert len(ends) == cells
    assert (np.diff(ends) < 0).all()
    below = [scalar_cdf(law, servers, int(end)) for end in ends[::-1]]  # type: ignore[arg-type]
    assert below == pytest.approx(np.arange(1, cells + 1) / cells, abs=1e-5)
    assert below[-1] == 1.0


def test_cells_of_atoms() -> None:
    """A cell ends at the first size that reaches its share: a share reached exactly is reached."""
    tenths = Discrete([n / 10 for n in range(1, 11)])
    assert largest_of_cells(tenths, ONE, 10).tolist() == units(*[n / 10 for n in range(10, 0, -1)])
    assert largest_of_cells(tenths, ONE, 5).tolist() == units(1.0, 0.8, 0.6, 0.4, 0.2)
    assert largest_of_cells(tenths, ONE, 3).tolist() == units(1.0, 0.7, 0.4)
    assert largest_of_cells(Discrete([0.1, 0.2, 0.9], [0.7, 0.2, 0.1]), ONE, 2).tolist() == units(0.9, 0.1)
    rows = Jobs.of([0] * 10, [n / 10 for n in range(1, 11)], [1] * 10)
    assert largest_of_cells(rows, ONE, 3).tolist() == units(1.0, 0.7, 0.4)


def test_the_largest_is_in() -> None:
    """However unlikely: a size above all types would never be served."""
    rare = Discrete([0.1, 0.2, 1.0], [0.5, 0.5 - 1e-12, 1e-12])
    assert largest_of_cells(rare, ONE, 2)[0] == UNIT
    assert largest_of_cells(rare, ONE, 1).tolist() == [UNIT]
