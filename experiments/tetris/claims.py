"""What is claimed and published of Tetris, against the measures of `runs`."""

from __future__ import annotations

from itertools import pairwise

from experiments.finding import Claim, claim_with_number
from experiments.tetris.runs import COMPARED, FAIR, FRAGMENTED, KNOBS, PACKING, RESOURCES, TWO, Measures
from packenv.runs.statistics import Interval, certainly_below, interval, ratio

NAMED = {"makespan": "makespan", "mean": "mean completion time"}
GAIN = 0.7  # "over 30 %", as a share of the time of another policy
SLOWED = 0.06  # of the jobs, by more than a tenth
NEARLY = 1.1  # "nearly perfect fairness" has no number: at most a tenth more below the fair share than DRF


def share_of(by_policy: dict[str, list[Measures]], policy: str, other: str, what: str) -> Interval:
    """A measure of a policy as a share of another's, on the same jobs."""
    return ratio(*([getattr(outcome, what) for outcome in by_policy[name]] for name in (policy, other)))


def claim_on_time(
    by_policy: dict[str, list[Measures]], what: str, others: tuple[str, ...], comparators: str, most: float
) -> Claim:
    """Tetris' times below a share `most` of those of all `others`; direction only if they are below all of them by less."""
    shares = {other: share_of(by_policy, "tetris", other, what) for other in others}
    packed = {other: share_of(by_policy, PACKING, other, what) for other in others}
    less = "over 30 % lower" if most < 1 else "lower"
    return Claim(
        "tetris",
        f"f = 0.25: {NAMED[what]} {less} than {comparators}",
        all(certainly_below(share, most) for share in shares.values()),
        f"{_listed(shares)}; of packing alone (m = 0) {_listed(packed)}",
        direction=all(certainly_below(share, 1.0) for share in shares.values()),
    )


def claims_on_times(by_policy: dict[str, list[Measures]]) -> list[Claim]:
    claims = []
    for what in NAMED:
        claims.append(claim_on_time(by_policy, what, TWO, "fair sharing that checks cpu and memory only", GAIN))
        claims.append(claim_on_time(by_policy, what, FAIR, "fair sharing that checks every resource", 1.0))
    over = {policy: max(outcome.most for outcome in by_policy[policy]) for policy in COMPARED}
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


def claims_on_demands(by_demands: dict[str, dict[str, list[Measures]]]) -> list[Claim]:
    """Whether the gains rest on demands that are correlated, and what the weight m of the remaining work costs."""
    comparators = "fair sharing that checks cpu and memory only, with independent demands"
    claims = [claim_on_time(by_demands["independent"], what, TWO, comparators, GAIN) for what in NAMED]
    shares = {demands: share_of(by_policy, "tetris:m=0.25", "tetris", "makespan") for demands, by_policy in by_demands.items()}
    longer = {demands: share_of(by_policy, "tetris:m=0.25", "tetris", "mean") for demands, by_policy in by_demands.items()}
    claims.append(
        Claim(
            "tetris",
            "m = 0.25 has a shorter makespan than m = 1, with both kinds of demands",
            all(certainly_below(share, 1.0) for share in shares.values()),
            f"{_listed(shares, 'with')} demands; its mean completion time {_listed(longer, 'with')} ones",
        )
    )
    return claims


def claims_on_fairness(by_policy: dict[str, list[Measures]]) -> list[Claim]:
    slowed = interval(outcome.slowed for outcome in by_policy["tetris"])
    missing = {policy: interval(outcome.unfairness for outcome in by_policy[policy]) for policy in ("drf", *KNOBS.values())}
    steps = list(pairwise(KNOBS.values()))
    slower = share_of(by_policy, steps[-1][1], steps[0][0], "mean")
    return [
        claim_with_number(
            "tetris",
            "f = 0.25 slows about 6 % of the jobs by more than a tenth against fair sharing (published)",
            slowed,
            SLOWED,
            f"{slowed} of the jobs against DRF",
            none=0.0,
        ),
        Claim(
            "tetris",
            "f = 0.25 is nearly perfectly fair (published without a number; here: as near to the fair share as DRF, or nearly)",
            certainly_below(share_of(by_policy, KNOBS[0.25], "drf", "unfairness"), NEARLY),
            f"{missing[KNOBS[0.25]]} below the fair share, DRF {missing['drf']}, f = 0 {missing[KNOBS[0.0]]}",
        ),
        Claim(
            "tetris",
            "a larger knob f is fairer and slower",
            all(certainly_below(share_of(by_policy, more, less, "unfairness"), 1.0) for less, more in steps)
            and certainly_below(share_of(by_policy, steps[0][0], steps[-1][1], "mean"), 1.0),
            "below the fair share by "
            + ", ".join(f"{missing[policy]} at f = {f:g}" for f, policy in KNOBS.items())
            + f"; mean completion time at the last {slower} of that at the first",
        ),
    ]


def claim_on_fragments(fragments: dict[int, dict[str, list[Measures]]]) -> Claim:
    """Independent demands of one to four resources."""
    free = {policy: [[each.fragmentation for each in fragments[D][policy]] for D in RESOURCES] for policy in FRAGMENTED}
    grows = all(certainly_below(ratio(less, more), 1.0) for each in free.values() for less, more in pairwise(each))
    figures = "; ".join(f"{policy} {', '.join(str(interval(share)) for share in each)}" for policy, each in free.items())
    return Claim("tetris", "fragmentation grows with the number of resources, 1 to 4", grows, f"free while tasks wait: {figures}")


def _listed(shares: dict[str, Interval], of: str = "of") -> str:
    return ", ".join(f"{share} {of} {other}" for other, share in shares.items())
