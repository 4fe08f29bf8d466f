"""Ratios of two policies on the same jobs, worked by hand, and how often their intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from packenv.runs.statistics import ratio_of_means

STUDENT_1 = 12.706204736  # 0.975 quantile, one degree of freedom


def test_ratio_by_hand() -> None:
    """R = 3/2; e = (1/2, -1/2), s² = 1/2, s / (√2 · 3) = 1/6."""
    found = ratio_of_means([2, 4], [1, 3])
    assert found.mean == 1.5
    assert found.low == pytest.approx(1.5 * math.exp(-STUDENT_1 / 6)) and found.high == pytest.approx(
        1.5 * math.exp(STUDENT_1 / 6)
    )


def test_ratio_of_multiples_is_certain_and_the_reciprocal_fits() -> None:
    assert ratio_of_means([2, 4, 9], [1, 2, 4.5]) == pytest.approx((2, 2, 2))
    one, other = ratio_of_means([3, 5, 9], [4, 5, 6]), ratio_of_means([4, 5, 6], [3, 5, 9])
    assert [1 / end for end in (other.mean, other.high, other.low) if end] == pytest.approx([*one])


@pytest.mark.parametrize(
    "above, below, mean",
    [
        ([3], [2], 1.5),
        ([0, 3, 0], [0, 2, 0], 1.5),
        ([0, 0], [1, 2], 0),
        ([1, 2], [0, 0], None),
        ([1, None], [1, 2], None),
        ([1], [None], None),
        ([], [], None),
    ],
)
def test_ratio_without_interval(above: list[float | None], below: list[float | None], mean: float | None) -> None:
    assert ratio_of_means(above, below) == (mean, None, None)


def test_intervals_cover() -> None:
    """Pairs with a common part, 16 seeds: 95 % of the intervals contain the ratio of the expectations."""
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(2000):
        common, own, other = random.gamma(4, 1, (3, 16))
        found = ratio_of_means([*(0.6 * common + 0.3 * own)], [*(common + 0.2 * other)])
        hits += found.low <= 0.9 * 4 / (1.2 * 4) <= found.high  # type: ignore[operator]
    assert 0.93 <= hits / 2000 <= 0.97
