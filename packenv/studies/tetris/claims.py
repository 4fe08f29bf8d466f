"""What is claimed and published of Tetris, against the measures of `runs`."""

from __future__ import annotations

from itertools import pairwise

from packenv.runs.statistics import Interval, certainly_below, interval, ratio
from packenv.runs.text import number
from packenv.studies.finding import Claim
from packenv.studies.tetris.runs import COMPARED, FAIR, FRAGMENTED, KNOBS, PACKING, RESOURCES, TWO, Measures


def times_of(found: dict[str, list[Measures]], policy: str, other: str, what: str) -> Interval:
    """The policy's makespan or mean completion time as a share of the other's, on the same jobs."""
    return ratio(*([getattr(outcome, what) for outcome in found[name]] for name in (policy, other)))


def claims_on_times(found: dict[str, list[Measures]]) -> list[Claim]:
    named = {"makespan": "makespan", "mean": "mean completion time"}
    claims = []
    for what, name in named.items():
        for others, told, most in ((TWO, "cpu and memory only", 0.7), (FAIR, "every resource", 1.0)):
            shares = {other: times_of(found, "tetris", other, what) for other in others}
            packed = {other: times_of(found, PACKING, other, what) for other in others}
            less = "at least 30 % lower" if most < 1 else "lower"
            claims.append(
                Claim(
                    "tetris",
                    f"f = 0.25: {name} {less} than fair sharing that checks {told}",
                    all(certainly_below(each, most) for each in shares.values()),
                    f"{_told(shares)}; of packing alone (m = 0, f = 0) {_told(packed)}",
                )
            )
    over = {policy: max(outcome.most for outcome in found[policy]) for policy in COMPARED}
    checked = [policy for policy in COMPARED if policy not in TWO]
    claims.append(
        Claim(
            "tetris",
            "no policy that checks every resource ever over-allocates one; those that check two do",
            all(over[policy] <= 1 for policy in checked) and all(over[policy] > 1 for policy in TWO),
            f"at most {max(over[policy] for policy in checked):.3f}, and {', '.join(f'{p} {over[p]:.2f}' for p in TWO)}",
        )
    )
    return claims


def claims_on_fairness(found: dict[str, list[Measures]], knobs: list[str]) -> list[Claim]:
    slowed = interval(outcome.slowed for outcome in found["tetris"])
    curve = [interval(outcome.unfairness for outcome in found[policy]).mean or 0.0 for policy in knobs]
    cost = [interval(outcome.mean for outcome in found[policy]).mean or 0.0 for policy in knobs]
    return [
        Claim(
            "tetris",
            "f = 0.25 slows about 6 % of the jobs by more than a tenth against fair sharing (published)",
            slowed.mean is not None and slowed.mean <= 0.1,
            f"{slowed} of the jobs against DRF",
        ),
        Claim(
            "tetris",
            "a larger knob f is fairer and slower",
            all(a > b for a, b in pairwise(curve)) and cost[0] < cost[-1],
            "distance below the fair share "
            + ", ".join(f"{number(c)} at f = {f:g}" for f, c in zip(KNOBS, curve, strict=True))
            + f"; mean completion {number(cost[0])} to {number(cost[-1])} slots",
        ),
    ]


def claim_on_fragments(fragments: dict[int, dict[str, list[Measures]]]) -> Claim:
    """Independent demands of one to four resources."""
    means = {
        policy: [interval(outcome.fragmentation for outcome in fragments[D][policy]).mean or 0.0 for D in RESOURCES]
        for policy in FRAGMENTED
    }
    grows = all(a < b for each in means.values() for a, b in pairwise(each))
    told = "; ".join(f"{policy} {', '.join(number(share) for share in each)}" for policy, each in means.items())
    return Claim("tetris", "fragmentation grows with the number of resources, 1 to 4", grows, f"free while tasks wait: {told}")


def _told(shares: dict[str, Interval]) -> str:
    return ", ".join(f"{each} of {other}" for other, each in shares.items())
