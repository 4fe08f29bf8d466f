"""The verdict on a claim with a number, from an interval and what was published."""

from __future__ import annotations

import pytest

from experiments.finding import claim_with_number
from packenv.runs.statistics import UNKNOWN, Interval


@pytest.mark.parametrize(
    ("low", "high", "published", "verdict"),
    [
        (0.15, 0.25, 0.2, "shown"),
        (0.25, 0.35, 0.2, "direction only"),
        (0.05, 0.15, 0.2, "direction only"),
        (0.95, 1.05, 0.2, "not shown"),
        (1.1, 1.3, 0.2, "not shown"),
        (0.1, 1.05, 0.2, "not shown"),  # contains the number, and no effect at all as well
        (1.1, 1.4, 1.2, "shown"),
        (1.3, 1.4, 1.2, "direction only"),
        (0.7, 0.9, 1.2, "not shown"),
    ],
)
def test_a_number_is_shown_where_the_interval_contains_it(low: float, high: float, published: float, verdict: str) -> None:
    found = Interval((low + high) / 2, low, high)
    assert claim_with_number("fig", "as published", found, published, str(found)).verdict == verdict


def test_without_an_interval_at_most_the_direction() -> None:
    assert claim_with_number("fig", "half", Interval(0.5, None, None), 0.5, "0.5").verdict == "direction only"
    assert claim_with_number("fig", "half", UNKNOWN, 0.5, "–").verdict == "not shown"


def test_no_effect_may_be_another_value() -> None:
    found = Interval(12.0, 10.0, 14.0)
    assert claim_with_number("fig", "12 % more", found, 12.0, "", none=0.0).shown
    assert claim_with_number("fig", "12 % more", found, 16.0, "", none=0.0).record()["verdict"] == "direction only"
