"""The knapsack against plain recursion, and the maximum over sizes between points against all integer sizes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packenv.theory.capacity.one_resource.certificate import Bounded
from packenv.theory.capacity.one_resource.knapsack import Knapsack, PointPricing, reachable

sizes_and_values = st.dictionaries(st.integers(1, 40), st.integers(0, 50), min_size=1, max_size=6)


def plain(sizes: list[int], values: list[int], capacity: int) -> int:
    @cache
    def best(room: int) -> int:
        return max((value + best(room - size) for size, value in zip(sizes, values, strict=True) if size <= room), default=0)

    return best(capacity)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(sizes_and_values, st.integers(1, 120), st.booleans())
def test_knapsack(items: dict[int, int], capacity: int, whole: bool) -> None:
    sizes, values = (list(column) for column in zip(*sorted(items.items()), strict=True))
    prices = np.array(values, np.int64 if whole else np.float64)
    solution = Knapsack(np.array(sizes), capacity).solve(prices)
    rooms = np.arange(capacity + 1)
    assert solution.worth(rooms).tolist() == [plain(sizes, values, room) for room in rooms.tolist()]
    held = solution.items(solution.states(rooms))
    assert (held @ prices == solution.worth(rooms)).all()
    assert (held @ np.array(sizes) <= rooms).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 150))
def test_reachable(sizes: list[int], capacity: int) -> None:
    found = {0}
    for total in range(1, capacity + 1):
        if any(total - size in found for size in sizes):
            found.add(total)
    assert reachable(np.array(sizes), capacity, 10**6).tolist() == sorted(found)


def test_too_many_sums() -> None:
    with pytest.raises(OverflowError):
        reachable(np.array([2, 3]), 1000, 900)
    with pytest.raises(OverflowError):
        Knapsack(np.array([2, 3]), 1000, most_steps=1900)
    assert len(Knapsack(np.array([200, 300]), 100_000, most_steps=2000).sums) == 1000


@st.composite
def priced_points(draw: st.DrawFn) -> tuple[list[int], list[int], list[bool], list[int]]:
    points = sorted(draw(st.lists(st.integers(1, 30), min_size=1, max_size=6, unique=True)))
    prices = [draw(st.integers(0, 40)) for _ in points]
    split = [draw(st.booleans()) for _ in points]
    rooms = sorted(draw(st.lists(st.integers(1, 45), min_size=1, max_size=3, unique=True)), reverse=True)
    return points, prices, split, rooms


@settings(max_examples=200, deadline=None, derandomize=True)
@given(priced_points())
def test_at_most_one_size_inside_its_cell(case: tuple[list[int], list[int], list[bool], list[int]]) -> None:
    """The worth of the best configuration of all integer sizes: those at points, and all inside cells that are split.

    Prices are linear between points, so real-valued sizes would be worth no more than the vertices that are tried.
    """
    points, prices, split, rooms = case
    every = np.arange(1, points[-1] + 1)
    cell = np.searchsorted(points, every)
    possible = np.isin(every, points) | np.array(split)[cell]
    worth_of = np.interp(every, [0, *points], [0, *prices])
    truth = Knapsack(every[possible], rooms[0]).solve(worth_of[possible]).worth(np.array(rooms))
    pricing = PointPricing(np.array(points), np.array(rooms), np.array(split))
    worth, columns = pricing(np.array(prices, np.float64))
    assert worth == pytest.approx(truth, abs=1e-9)
    proof = Bounded(tuple(points), tuple(prices), tuple(split))
    assert proof.most(np.array(rooms)) == [int(np.ceil(one - 1e-9)) for one in truth]
    # the columns offered are configurations: they fit, and the best of each kind is among them
    assert (columns.counts @ np.array(points) <= np.array(rooms)[columns.kind] + 1e-9).all()
    for kind in range(len(rooms)):
        own = columns.counts[columns.kind == kind] @ np.array(prices, np.float64)
        assert own.max(initial=0.0) == pytest.approx(worth[kind], abs=1e-9)
