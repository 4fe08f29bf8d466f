"""What makes a claim of the study of delay scheduling shown or not: on numbers made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.delay import claims, runs
from experiments.delay.runs import COMPARED, DYNAMIC, FIXED, Measures
from experiments.finding import Claim, Row

EXACT = runs.closed_form(100, 24)


def verdicts(found: list[Claim]) -> list[str]:
    return [claim.verdict for claim in found]


def locality(at_goal: float, half: float = 0.004, elsewhere: float = 0.0) -> list[Row]:
    """Rows of 100 servers, right but for the one at the closed form's D, and `elsewhere` off at D = 10."""
    rows = []
    for variant in ("paper", "robust"):
        for skips in (0, 10, 24):
            exact = runs.closed_form(100, skips)
            mean = at_goal if skips == 24 else exact + (elsewhere if skips == 10 else 0.0)
            row = {"servers": 100, "variant": variant, "skips": skips, "closed_form": exact, "locality": mean}
            rows.append(row | {"locality_low": mean - half, "locality_high": mean + half})
    return rows


@pytest.mark.parametrize(
    "rows, expected",
    [
        (locality(EXACT), ["shown", "shown"]),
        (locality(EXACT - 0.003), ["shown", "shown"]),
        (locality(0.93), ["direction only", "not shown"]),  # too little
        (locality(0.985), ["direction only", "not shown"]),  # too much contradicts the closed form as well
        (locality(EXACT - 0.05, half=0.06), ["shown", "shown"]),
        (locality(EXACT, elsewhere=0.02), ["shown", "not shown"]),
        (locality(EXACT, elsewhere=-0.02), ["shown", "not shown"]),
        (locality(0.2, half=0.01), ["not shown", "not shown"]),  # hardly more than without delay
    ],
)
def test_locality(rows: list[Row], expected: list[str]) -> None:
    assert verdicts(claims.claims_on_locality(rows)) == expected


def test_an_exact_value_below_the_goal_is_not_shown() -> None:
    rows = [row | {"closed_form": 0.9, "locality": 0.9, "locality_low": 0.896, "locality_high": 0.904} for row in locality(EXACT)]
    assert claims.claims_on_locality(rows)[0].verdict != "shown"


def test_a_single_seed_shows_nothing_of_locality() -> None:
    rows = [row | {"locality_low": None, "locality_high": None} for row in locality(EXACT)]
    assert verdicts(claims.claims_on_locality(rows)) == ["direction only", "not shown"]


def measured(**means: float) -> dict[str, list[Measures]]:
    """Four seeds of every policy, 100 s but for those named, each 1 % up and down; what one policy has others share."""
    names = {"dynamic": DYNAMIC, "fixed": FIXED, "thirty": "delay:interval=30"}
    by_policy = {names[name]: mean for name, mean in means.items()}
    return {
        policy: [
            Measures(0.9, by_policy.get(policy, 100.0) * part, by_policy.get(policy, 100.0) * part, 1.0, 1.0, 0.0, 100.0)
            for part in (0.99, 1.0, 1.01, noise)
        ]
        for policy, noise in zip(COMPARED, [1.0 + 0.002 * n for n in range(len(COMPARED))], strict=True)
    }


@pytest.mark.parametrize(
    "found, expected",
    [
        (measured(dynamic=80.0), ["shown", "shown"]),
        (measured(dynamic=100.0), ["not shown", "not shown"]),  # a tie is not a gain
        (measured(dynamic=120.0), ["not shown", "not shown"]),
        (measured(dynamic=80.0, thirty=80.0), ["shown", "not shown"]),
        (measured(dynamic=80.0, thirty=60.0), ["shown", "not shown"]),
        (measured(dynamic=80.0, fixed=60.0), ["not shown", "not shown"]),
    ],
)
def test_dynamic_intervals(found: Any, expected: list[str]) -> None:
    assert verdicts(claims.claims_on_intervals({"hot blocks": found})) == expected * 2  # of tasks, and of jobs


def test_the_bound() -> None:
    found = {"constant": measured(), "changing": measured()}
    assert verdicts(claims.claims_on_the_bound(found)) == ["shown"]  # nothing is claimed of a network that changes
    found["constant"][DYNAMIC][2] = found["constant"][DYNAMIC][2]._replace(beyond_bound=1e-4)
    assert verdicts(claims.claims_on_the_bound(found)) == ["not shown"]


def sticky(few: float, many: float, delay: float, half: float = 0.01) -> list[Row]:
    share = {("fair", 1): few, ("fair", 50): many, ("delay", 1): 0.99, ("delay", 50): delay}
    return [
        {"policy": policy, "jobs": jobs, "locality": mean, "locality_low": mean - half, "locality_high": mean + half}
        for (policy, jobs), mean in share.items()
    ]


@pytest.mark.parametrize(
    "rows, expected",
    [
        (sticky(0.98, 0.15, 0.93), "shown"),
        (sticky(0.98, 0.60, 0.93), "not shown"),  # fair sharing keeps its locality
        (sticky(0.98, 0.15, 0.80), "not shown"),  # a delay does not cure it
        (sticky(0.98, 0.15, 0.905), "not shown"),  # not for certain
        (sticky(0.98, 0.48, 0.93, half=0.03), "not shown"),
    ],
)
def test_sticky_slots(rows: list[Row], expected: str) -> None:
    assert claims.claim_on_sticky_slots(rows).verdict == expected
