"""Numbers with as many digits as they are worth."""

from __future__ import annotations

import pytest

from packenv.content.text import about, counted_by_reason, estimate, lasting, number
from packenv.inputs.numbers import read_seconds


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0"), (0.01234, "0.0123"), (12.34, "12.3"), (999.4, "999"), (999.7, "1,000"), (25538.2, "25,538")],
)
def test_a_number(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_fewer_digits_keep_what_stands_before_the_point() -> None:
    assert [number(value, 2) for value in (0.567, 5.67, 99.7, 567.8)] == ["0.57", "5.7", "100", "568"]


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (None, None, "–"),
        (42.34, None, "42.3"),
        (25538, 120_000, "26,000 ± 120,000"),
        (25916.3, 612.4, "25,920 ± 610"),
        (213.4, 25.2, "213 ± 25"),
        (8347.0, 1234.0, "8,300 ± 1,200"),
        (14.384, 0.7149, "14.38 ± 0.71"),
        (14.384, 9.96, "14 ± 10"),
        (0.04512, 0.00123, "0.0451 ± 0.0012"),
        (3e-7, 1e-8, "3e-07 ± 1e-08"),
        (5.0, 0.0, "5"),
        (5.0, 1e-15, "5"),
        (0.0, 0.0, "0"),
        (0.0, 0.1, "0 ± 0.1"),
        (-3.2, 0.51, "-3.20 ± 0.51"),
    ],
)
def test_a_mean_with_its_interval(mean: float | None, half: float | None, shown: str) -> None:
    assert estimate(mean, half) == shown


def test_about_two_digits() -> None:
    assert [about(value) for value in (1_218_186.0, 99_600.0, 0.5678)] == ["1,200,000", "100,000", "0.57"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"), (0.0, "0 s"), (12.34, "12.3 s"), (59.6, "1 min"), (425.0, "7 min 5 s"), (3599.9, "1 h"),
        (7523.0, "2 h 5 min"), (86_390.0, "1 d"), (273_600.0, "3 d 4 h"), (1e8, "1157 d 10 h"),
    ],
)  # fmt: skip
def test_how_long(seconds: float | None, shown: str) -> None:
    assert lasting(seconds) == shown
    assert seconds is None or abs(float(read_seconds(shown) or 0) - seconds) <= max(0.5, seconds / 48)  # as it is read again


def test_reasons_of_one_thing() -> None:
    """The noun and its verb; what counts nothing, and nouns further on, stay."""
    reasons = {
        "waiting pods that fit on no node": 1,
        "nodes that take no jobs: n2 (down*)": 1,
        "not finished": 1,
        "pods that have ended": 0,
    }
    assert (
        counted_by_reason(reasons) == "1 waiting pod that fits on no node, 1 node that takes no jobs: n2 (down*), 1 not finished"
    )
    assert (
        counted_by_reason({"pods that have ended": 1, "links to a dropped task": 1})
        == "1 pod that has ended, 1 link to a dropped task"
    )
    assert counted_by_reason({"machines without a GPU": 1200}) == "1,200 machines without a GPU"
