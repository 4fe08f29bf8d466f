"""What makes a claim of figures 1 to 5 shown or not: on numbers made by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import packenv
from experiments.finding import Claim, Settings
from experiments.random_requirements import fig1, fig2, fig3, fig4, fig5
from experiments.random_requirements.fig2 import partition, reduced_configurations
from experiments.random_requirements.verdicts import joint_verdict, queue_growth, verdicts_in_words
from packenv.results.result import Result, Trajectory
from packenv.results.stability import Verdict
from packenv.runs.statistics import Interval, interval, ratio
from packenv.workloads.traces.trace import Trace

POLICIES = ("bf-js", "vqs", "vqs-bf")


@pytest.fixture(scope="module")
def some_result() -> Result:
    return packenv.simulate(packenv.workload("paper/fig3a"), "bf-js", 2000)


SHOWN = {"stable": (0.05, 1e-5, 1.0), "unstable": (4.0, 1.0, 1e-6), "undecided": (0.45, 0.3, 0.7)}
"""Levels, and their chances below and above, by verdict."""


def like(result: Result, kind: str, queue: list[float], **changes: object) -> Result:
    path = Trajectory(1000, np.array(queue, np.float64), np.array(queue, np.float64))
    verdict = Verdict(kind, 0.0, *SHOWN[kind])
    return replace(result, verdict=verdict, trajectory=path, slots=1000 * len(queue), **changes)  # type: ignore[arg-type]


def test_verdict_of_many_seeds(some_result: Result) -> None:
    def of(*kinds: str) -> list[Result]:
        return [like(some_result, kind, [1.0]) for kind in kinds]

    assert joint_verdict(of(*["stable"] * 6, "undecided", "undecided")) == "stable"
    assert joint_verdict(of(*["undecided"] * 3)) == "undecided"
    assert joint_verdict(of(*["stable"] * 7, "unstable")) == "unstable"  # one that locks up
    counts = {"stable": 1, "unstable": 5, "undecided": 2}
    assert verdicts_in_words(counts) == "unstable with 5 of 8 seeds, undecided with 2, stable with 1"


def test_intervals() -> None:
    assert interval([4.0]) == Interval(4.0, None, None)
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2 - 2.484138, 2 + 2.484138), abs=1e-5)
    assert ratio([2.0, 8.0], [1.0, 4.0])[:2] == pytest.approx((2.0, 2.0))
    assert ratio([4.0], [2.0]) == Interval(pytest.approx(2.0), None, None)  # type: ignore[arg-type]
    assert ratio([1.0, 0.0], [1.0, 1.0]) == Interval(None, None, None)


def shown(claims: list[Claim]) -> list[bool]:
    return [claim.shown for claim in claims]


def test_claims_of_fig3a(some_result: Result) -> None:
    flat, steep = [1.0] * 100, list(range(100))

    def curves(vqs: str, hybrid: str) -> dict[str, list[Result]]:
        kinds = {"bf-js": "stable", "vqs": vqs, "vqs-bf": hybrid}
        return {p: [like(some_result, kind, steep if kind == "unstable" else flat)] * 4 for p, kind in kinds.items()}

    assert shown(fig3.claims_a(curves("unstable", "stable"), 0.014)) == [True, True, True]
    assert shown(fig3.claims_a(curves("undecided", "unstable"), 0.014)) == [False, True, False]
    assert queue_growth(like(some_result, "unstable", steep)) == pytest.approx(1e-3)


def test_claims_of_fig3b(some_result: Result) -> None:
    away = [1.0] * 20 + [100.0 + n for n in range(80)]
    back = [60.0] * 99 + [3.0]
    locked = like(some_result, "unstable", away, started=3000)
    free = like(some_result, "stable", back, started=3060)
    assert fig3.locked_from(locked) == 20_000
    assert fig3.locked_from(free) is None
    assert fig3.locked_from(like(some_result, "undecided", [1.0] * 90 + [90.0] * 10)) is None  # too short a time to say
    some = {"bf-js": [locked] * 2, "vqs": [free] * 2, "vqs-bf": [free, locked], fig3.LOCKED_START: [locked] * 2}
    assert shown(fig3.claims_b(some, 0.0306)) == [True] * 5
    none = some | {"bf-js": [free] * 2, "vqs-bf": [free] * 2, fig3.LOCKED_START: [free] * 2}
    assert shown(fig3.claims_b(none, 0.0306)) == [True, False, False, False, False]


def queues(*by_policy: tuple[float, ...], alphas: tuple[float, ...] = (0.85, 0.9, 0.95)) -> fig4.Queues:
    """Two seeds that agree to 1 %."""
    return {
        (alpha, policy): [0.995 * value, 1.005 * value if alpha < 2 else value]
        for policy, values in zip(POLICIES, by_policy, strict=True)
        for alpha, value in zip(alphas, values, strict=True)
    }


def test_claims_of_fig4a() -> None:
    claims = fig4.claims_a(queues((2, 4, 10), (100, 100, 100), (2.1, 4.9, 20)))
    assert shown(claims) == [True, True, True]
    assert "up to α = 0.9;" in claims[1].figures and "2 [2, 2] at 0.95" in claims[2].figures
    never_apart = fig4.claims_a(queues((2, 4, 10), (100, 100, 100), (2.1, 4.2, 10.5)))
    assert shown(never_apart) == [True, True, False]
    apart = fig4.claims_a(queues((2, 4, 10), (100, 4, 100), (4, 8, 9)))  # VQS as good at .9, VQS-BF better at .95
    assert shown(apart) == [False, False, False]
    assert "not so at α = 0.9" in apart[0].figures


def test_claims_of_fig4b() -> None:
    assert shown(fig4.claims_b(queues((2, 4, 10), (9, 9, 90), (3, 8, 80)))) == [True, True]
    assert shown(fig4.claims_b(queues((2, 4, 10), (9, 9, 70), (3, 8, 80)))) == [True, False]
    assert shown(fig4.claims_b(queues((2, 9, 10), (9, 9, 90), (3, 8, 80)))) == [False, True]


def test_claims_across_figure_4() -> None:
    rates = dict.fromkeys((0.85, 0.9, 0.95), 0.5)
    small, large = queues((1, 1, 1), (5, 5, 5), (2, 2, 2)), queues((1, 1, 1), (9, 9, 9), (3, 1.5, 3))
    assert shown(fig4.claims_across((small, rates), (large, rates))) == [True, False]
    slower = dict.fromkeys(rates, 0.05)  # fewer jobs: the same queue is a longer delay
    assert shown(fig4.claims_across((small, rates), (large, slower))) == [True, True]


def test_claims_of_fig5() -> None:
    def at(high: tuple[float, float, float, float]) -> fig5.Queues:
        return {(beta, policy): [q, 1.01 * q] for beta in fig5.HIGH for policy, q in zip(fig5.POLICIES, high, strict=True)}

    assert shown(fig5.claims_of("x", at((10, 9, 20, 30)))) == [True, True]
    assert shown(fig5.claims_of("x", at((10, 11, 20, 30)))) == [True, False]
    assert shown(fig5.claims_of("x", at((10, 9, 11, 30)))) == [False, True]  # below, but not clearly
    assert shown(fig5.claims_of("x", at((0, 0, 0, 0)))) == [False, False]


def test_claims_of_fig1() -> None:
    """Many levels are not enough: the paper speaks of a day."""

    def tasks(levels: int, hours: float) -> Trace:
        n = 2 * levels
        submit = np.linspace(0, hours * 3.6e9, n).astype(np.int64)
        demand = np.tile((1 + np.arange(n) % levels) / levels, (2, 1)).T
        flags = np.ones(n, np.bool_)
        return Trace(submit, submit, submit + 10**6, demand, ("cpu", "memory"), flags, ~flags)

    assert shown(fig1.found_in(tasks(800, 24), "x").claims) == [True, True]
    assert shown(fig1.found_in(tasks(500, 24), "x").claims) == [True, False]
    assert shown(fig1.found_in(tasks(800, 3), "x").claims) == [False, False]


def test_a_day_of_the_fitted_workload() -> None:
    day = fig1.a_day(None)
    assert 0.95 * 864_000 < day.table.arrival[-1] < 864_000
    assert day.resources == ("cpu", "memory")


@pytest.mark.parametrize("levels", [2, 3, 4, 5])
def test_partition(levels: int) -> None:
    cells = partition(levels)
    assert sum((cell.high - cell.low for cell in cells), Fraction(0)) == 1 - Fraction(1, 2**levels)
    found = reduced_configurations(levels)
    assert len(found) == 4 * levels - 4
    assert shown(fig2.reproduce(Settings(), levels).claims) == [True, True]
