"""What makes a claim of Zhang and Yao shown or not: on numbers made by hand, where it is true and where it is false."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from experiments.finding import Claim
from experiments.price import curves, gain, makespans, runs, solving_times

Values = dict[str, dict[str, list[float | None]]]


def values(price: float, other: float) -> Values:
    """Two seeds: `price` at both rates, `other` for all others, in every measure."""
    scale = {name: price if name in runs.PRICES else other for name in runs.POLICIES}
    measures = (*curves.BEST, "completion")
    return {name: {measure: [scale[name], 1.01 * scale[name]] for measure in measures} for name in runs.POLICIES}


def shown(claims: list[Claim]) -> list[bool]:
    return [claim.shown for claim in claims]


def test_best_claims() -> None:
    for claims_of, others in ((curves.best_claims, runs.COMPARED), (curves.best_of_all, runs.NOT_COMPARED)):
        assert shown(claims_of("x", values(1.0, 2.0))) == [measure in curves.LESS for measure in curves.BEST] * 2
        assert shown(claims_of("x", values(2.0, 1.0))) == [measure not in curves.LESS for measure in curves.BEST] * 2
        for other in others:
            mixed = values(2.0, 1.0)
            mixed[other]["efficiency"] = [2.0, 2.02]  # no better than one of them
            assert not claims_of("x", mixed)[list(curves.BEST).index("efficiency")].shown


@pytest.mark.parametrize(
    ("price", "verdict"), [(1.12, "shown"), (1.3, "direction only"), (1.05, "direction only"), (0.9, "not shown")]
)
def test_twelve_percent_over_capacity(price: float, verdict: str) -> None:
    found = values(price, 1.0)
    found["price"]["efficiency"] = [0.999 * price, 1.011 * price]
    assert curves.over_capacity("x", found).verdict == verdict


def took(by_policy: dict[str, list[int]]) -> Any:
    """Runs of which only the makespans are known."""
    return {
        policy: [SimpleNamespace(jobs=SimpleNamespace(makespan=slots)) for slots in all_slots]
        for policy, all_slots in by_policy.items()
    }


@pytest.mark.parametrize(
    ("sat", "verdict"),
    [([70, 69, 71], "shown"), ([60, 61, 62], "direction only"), ([90, 89, 91], "direction only"), ([100, 99, 101], "not shown")],
)
def test_thirty_percent_shorter_than_fifo(sat: list[int], verdict: str) -> None:
    found = took({runs.SAT: sat, "fifo": [100] * 3, "fifo:blocking=false": [80] * 3})
    assert makespans.shorter_than_fifo("price-fig3", found, runs.SAT, "").verdict == verdict


def test_where_the_gain_comes_from() -> None:
    blocks = took({"fifo": [178, 180], "fifo:blocking=false": [143, 144], "price:blocking": [172, 175], "price": [139, 140]})
    rows = gain.gain_rows(blocks)
    assert [row["slots"] for row in rows] == [35.5, 4.0, 5.5, 34.0, 39.5]
    assert gain.part(blocks, gain.ORDER) == [5.0, 4.5] and gain.part(blocks, gain.UNBLOCKED) == [34.0, 35.5]
    assert not gain.gain_claim("x", blocks).shown
    orders = took({"fifo": [178, 180], "fifo:blocking=false": [174, 175], "price:blocking": [143, 144], "price": [139, 140]})
    assert gain.gain_claim("x", orders).shown
    neither = took({"fifo": [178, 178], "fifo:blocking=false": [168, 148], "price:blocking": [168, 148], "price": [158, 118]})
    assert not gain.gain_claim("x", neither).shown


SIZE = np.repeat([6.0, 10, 14, 18, 22, 26, 30, 36, 44, 60], 8)


def measured(seconds: Any, cap: float, seed: int = 0) -> list[dict[str, Any]]:
    """Runs of these sizes, with noise, stopped at `cap` seconds."""
    noisy = seconds * np.exp(0.3 * np.random.default_rng(seed).standard_normal(len(SIZE)))
    rows = zip(SIZE, noisy, strict=True)
    return [
        {"servers": "free", "jobs": int(x) // 3, "phases": x, "seconds": min(t, cap), "proven": bool(t < cap)} for x, t in rows
    ]


@pytest.mark.parametrize("seed", [0, 1])
def test_exponential_times_are_shown_although_some_runs_were_stopped(seed: int) -> None:
    claim = solving_times.claim_of(measured(1e-3 * np.exp(0.3 * SIZE), 60, seed), "free")
    assert claim.shown, claim
    assert "doubles with every 2." in claim.figures  # ln 2 / 0.3 = 2.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds",
    [1e-4 * SIZE**3, 1e-2 * SIZE**3, 0.3 + 1e-4 * SIZE**3, 1e-7 * SIZE**6, 1 + 0 * SIZE, 1e3 + 0 * SIZE, 1e3 / SIZE],
    ids=["cubic", "cubic, most stopped", "cubic above a constant", "sixth power", "constant", "all stopped", "falling"],
)
def test_times_that_are_not_exponential_are_not_shown(seconds: Any) -> None:
    claim = solving_times.claim_of(measured(seconds, 60), "free")
    assert not claim.shown, claim


@pytest.mark.slow
def test_stopped_runs_are_no_times() -> None:
    """The cap itself does not bend the curve: with half the runs stopped the fit is that of the runs before they were."""
    whole, stopped = (measured(1e-2 * SIZE**3, cap) for cap in (1e9, 60))
    fits = [
        solving_times.compare(SIZE, np.array([row["seconds"] for row in rows]), np.array([row["proven"] for row in rows])).fits[
            "a power"
        ]
        for rows in (whole, stopped)
    ]
    assert sum(not row["proven"] for row in stopped) > 30
    assert fits[0].b == pytest.approx(3, abs=0.3) and fits[1].b == pytest.approx(3, abs=0.6)


def test_proofs_by_size() -> None:
    rows = [{"jobs": 2, "seconds": s, "proven": p} for s, p in ((1.0, True), (9.0, True), (10.0, False))] + [
        {"jobs": 4, "seconds": s, "proven": p} for s, p in ((1.0, True), (10.0, False), (10.0, False))
    ]
    assert solving_times.by_size(rows) == "2 jobs 2 of 3 proven, median 9 s; 4 jobs 1 of 3 proven, median not reached"


def test_cp_sat_alone_records_its_proof() -> None:
    pytest.importorskip("ortools")
    proven = solving_times.solve("free", 2, 0)
    assert proven["proven"] and proven["makespan"] == proven["bound"] > 0 and proven["seconds"] > 0
    stopped = solving_times.solve("free", 30, 0, limit=0.3)
    assert not stopped["proven"] and stopped["bound"] < stopped["makespan"]
