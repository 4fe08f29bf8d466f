"""What makes a claim on Tetris shown, shown in its direction only, or not shown: on numbers made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from experiments.finding import Claim
from experiments.tetris import claims
from experiments.tetris.runs import COMPARED, FAIR, FRAGMENTED, KNOBS, OF_DEMANDS, PACKING, RESOURCES, TWO, Measures

Found = dict[str, list[Measures]]

MADE_UP = Measures(makespan=100.0, mean=50.0, p95=80.0, unfairness=0.1, fragmentation=0.1, most=1.0, slowed=0.0)


def runs_of(**values: float) -> list[Measures]:
    """Four seeds around the values, 2 % apart."""
    made = MADE_UP._replace(**values)
    return [made._replace(**{name: getattr(made, name) * (0.97 + 0.02 * seed) for name in values}) for seed in range(4)]


def verdicts(found: list[Claim]) -> list[str]:
    return [claim.verdict for claim in found]


def as_claimed() -> Found:
    """Half the time of those that check two resources, and less than that of those that check all."""
    times = {**dict.fromkeys(COMPARED, 1.0), **dict.fromkeys(TWO, 2.0), "tetris": 0.9, "tetris:m=0.25": 0.8}
    found = {policy: runs_of(makespan=100 * t, mean=50 * t, most=2.0 if policy in TWO else 1.0) for policy, t in times.items()}
    return found | {policy: [each._replace(most=1.0) for each in found[policy]] for policy in COMPARED if policy not in TWO}


def test_times() -> None:
    assert verdicts(claims.claims_on_times(as_claimed())) == ["shown"] * 5


@pytest.mark.parametrize(
    ("changed", "values", "wrong"),
    [
        (TWO, {"makespan": 110.0}, {0: "direction only"}),  # .82 of it: lower, but not by 30 %
        (TWO[:1], {"makespan": 110.0}, {0: "direction only"}),  # every comparator counts
        (TWO, {"makespan": 80.0}, {0: "not shown"}),
        (FAIR[1:], {"makespan": 91.0}, {1: "not shown"}),  # .99 is within the interval's reach of 1
        (TWO, {"mean": 40.0}, {2: "not shown"}),
        (FAIR, {"mean": 40.0}, {3: "not shown"}),
        (("bf-js",), {"most": 1.1}, {4: "not shown"}),  # one that checks every resource over-allocates one
        (TWO[1:], {"most": 0.9}, {4: "not shown"}),
    ],
    ids=str,
)
def test_false_claims_on_times(changed: tuple[str, ...], values: dict[str, float], wrong: dict[int, str]) -> None:
    found = as_claimed()
    noise = [1.05, 0.97, 1.02, 0.96]  # not that of the others, so that ratios have intervals
    for policy in changed:
        found[policy] = [
            each._replace(**{name: value * n for name, value in values.items()})
            for each, n in zip(found[policy], noise, strict=True)
        ]
    expected = dict.fromkeys(range(5), "shown") | wrong
    got = verdicts(claims.claims_on_times(found))
    assert {n: got[n] for n in wrong} == wrong
    assert [got[n] for n in range(5) if n not in wrong] == [expected[n] for n in range(5) if n not in wrong]


def test_demands() -> None:
    times = dict.fromkeys(OF_DEMANDS, 1.0) | dict.fromkeys(TWO, 2.0) | {"tetris:m=0.25": 0.9}
    good = {policy: runs_of(makespan=100 * t, mean=50 * t) for policy, t in times.items()}
    assert verdicts(claims.claims_on_demands({"correlated": good, "independent": good})) == ["shown"] * 3
    close = good | {policy: runs_of(makespan=104.0, mean=50.0) for policy in TWO}
    told = claims.claims_on_demands({"correlated": good, "independent": close})
    assert verdicts(told) == ["direction only", "not shown", "shown"]
    assert "0.962" in told[0].figures and PACKING not in told[0].claim
    no_shorter = good | {"tetris:m=0.25": good["tetris"]}
    for where in ("correlated", "independent"):
        assert (
            verdicts(claims.claims_on_demands({"correlated": good, "independent": good} | {where: no_shorter}))[2] == "not shown"
        )


def fair_runs(knobs: Callable[[float], float], slowed: float = 0.06, drf: float = 0.1, slower: float = 2.0) -> Found:
    found = {policy: runs_of(unfairness=knobs(f), mean=50 * (1 + (slower - 1) * f)) for f, policy in KNOBS.items()}
    return found | {"tetris": runs_of(slowed=slowed), "drf": runs_of(unfairness=drf)}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (fair_runs(lambda f: 0.11 - 0.1 * f), ["shown"] * 3),
        (fair_runs(lambda f: 0.11 - 0.1 * f, slowed=0.02), ["direction only", "shown", "shown"]),
        (fair_runs(lambda f: 0.11 - 0.1 * f, slowed=0.0), ["not shown", "shown", "shown"]),
        (fair_runs(lambda f: 0.5 - 0.4 * f), ["shown", "not shown", "shown"]),  # .4 below the fair share, DRF .1
        (fair_runs(lambda f: 0.1), ["shown", "shown", "not shown"]),  # no fairer
        (fair_runs(lambda f: 0.11 - 0.1 * f, slower=1.0), ["shown", "shown", "not shown"]),  # no slower
    ],
    ids=["as claimed", "too few slowed", "none slowed", "not nearly fair", "no fairer", "no slower"],
)
def test_fairness(found: Found, expected: list[str]) -> None:
    assert verdicts(claims.claims_on_fairness(found)) == expected


def test_fragmentation() -> None:
    def at(share: Callable[[int], float], policy: str = "") -> Any:
        flat = {D: {p: runs_of(fragmentation=0.1 * D) for p in FRAGMENTED} for D in RESOURCES}
        return {
            D: {p: runs_of(fragmentation=share(D)) if p == policy else each for p, each in flat[D].items()} for D in RESOURCES
        }

    assert claims.claim_on_fragments(at(lambda D: 0.1 * D)).shown
    for policy in FRAGMENTED:
        assert not claims.claim_on_fragments(at(lambda D: 0.2 if D > 2 else 0.1 * D, policy)).shown
        assert not claims.claim_on_fragments(at(lambda D: 0.0, policy)).shown
