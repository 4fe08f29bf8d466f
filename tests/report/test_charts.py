"""What charts are made from: means over time, bins, places of names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from packenv.content.charts import (
    COLOURS,
    MOST_BINS,
    NEAR,
    ChartRow,
    Guide,
    Line,
    LineChart,
    Mark,
    RowChart,
    counts_over_time,
    shares_in_bins,
)
from packenv.runs.run_charts import means_between


def test_means_between_by_hand() -> None:
    """0 up to slot 2, then 1 up to 4, 3 up to 5, and 0 again."""
    found = means_between(np.array([2, 4, 5]), np.array([1.0, 3.0]), np.array([0.0, 3.0, 6.0, 8.0]))
    assert found == pytest.approx([1 / 3, 4 / 3, 0])


def test_means_between_slot_by_slot() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        slot = np.unique(rng.integers(0, 50, 8))
        value = rng.random(len(slot) - 1)
        by_slot = np.zeros(60)
        for start, end, each in zip(slot, slot[1:], value, strict=False):
            by_slot[start:end] = each
        edges = np.array([0, 7, 20, 21, 60])
        wanted = [by_slot[start:end].mean() for start, end in pairwise(edges)]
        assert means_between(slot, value, edges.astype(float)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "values",
    [[3.0], [0.5, 0.5], [0, 0, 0], [0.1, 0.2, 0.7], range(5, 46), [1, 2, 4], np.geomspace(1e-3, 1e5, 99), [0.0, 1e9]],
    ids=str,
)
def test_shares_in_bins(values: object) -> None:
    """No value is lost; edges ascend, and hold all values."""
    x = np.asarray(values, float)
    chart = shares_in_bins(x, "x", "values")
    assert chart.heights.sum() == pytest.approx(1) and len(chart.heights) <= MOST_BINS + 1
    assert (np.diff(chart.edges) > 0).all()
    assert chart.edges[0] <= x.min() * (1 + 1e-9) and chart.edges[-1] >= x.max() * (1 - 1e-9)
    assert chart.log == (x.min() > 0 and x.max() >= 30 * x.min())


def test_whole_numbers_share_bins_evenly() -> None:
    chart = shares_in_bins([5, 6, 7, 7], "slots", "tasks")
    assert chart.edges.tolist() == [4.5, 5.5, 6.5, 7.5] and chart.heights.tolist() == [0.25, 0.25, 0.5]
    even = shares_in_bins(np.arange(60), "slots", "tasks")
    assert set(even.heights.tolist()) == {2 / 60}


def test_counts_over_time() -> None:
    chart = counts_over_time([0, 0, 29.9, 30], "s", "tasks")
    assert chart.heights.tolist() == [2, *[0] * 28, 2]
    assert counts_over_time([0, 0], "s", "tasks").heights.sum() == 2


@pytest.mark.parametrize("ends", [[0, 0, 0, 0], [9, 9, 9, 9], [1, 1.01, 8.9, 30], [5]])
def test_names_keep_apart(ends: list[float]) -> None:
    """And within the picture, in the order of the lines' ends."""
    lines = [Line(f"line {n}", COLOURS[0], [0, 1], [0.0, end]) for n, end in enumerate(ends)]
    names = LineChart(lines, "x", "y", 9.0).names()
    heights = [height for height, _ in names]
    assert [line.label for _, line in names] == [f"line {n}" for n in np.argsort(ends, kind="stable")]
    assert (np.diff(heights) >= 0.999 * NEAR * 9).all() and max(heights) <= 9 + 1e-9


def test_rules_are_named_beside_the_lines_and_in_the_legend() -> None:
    """Nothing is written over curves: names at the right keep apart, and a narrow chart has all of them in its legend."""
    lines = [Line("low", COLOURS[0], [0, 1], [0.0, 0.1]), Line("high", COLOURS[1], [0, 1], [0.0, 90.0], leaving="high: leaves")]
    chart = LineChart(lines, "x", "y", 9.0, [Guide(0.2, "bound")], [Guide(0.5, "half")])
    assert [line.label for _, line in chart.names()] == ["low", "bound"]
    keys = chart.keys()
    assert [key.label for key in keys] == ["low", "high: leaves (▲: off the chart)", "bound", "half"]


def test_what_lies_beyond_is_at_the_end() -> None:
    entry = ChartRow("a", low=0.2, high=50, marks=[Mark(0.3), Mark(2.0), Mark(50)])
    chart = RowChart([entry], "x", (1.0, 10.0))
    assert [(mark.value, mark.shape) for mark in chart.placed(entry)] == [(1.0, "<"), (2.0, "o"), (10.0, ">")]
    assert chart.note and not RowChart([entry], "x", (0.1, 60.0)).note
