"""What the paper and the work on dynamic intervals claim of delay scheduling, against the rows and measures of `runs`."""

from __future__ import annotations

import numpy as np

from packenv.runs.statistics import certainly_below, ratio
from packenv.studies.delay.runs import DYNAMIC, FAIR, FIXED, GOAL, OTHERS, Measures, skips_for
from packenv.studies.finding import Claim, Row


def claims_on_locality(rows: list[Row]) -> list[Claim]:
    claims = []
    for servers in dict.fromkeys(row["servers"] for row in rows):
        here = [row for row in rows if row["servers"] == servers]
        papers = [row for row in here if row["variant"] == "paper"]
        paper, robust = (row for row in here if row["skips"] == skips_for(servers))
        low, high = (paper[f"locality_{end}"] for end in ("low", "high"))
        furthest = max(abs(row["locality"] - row["closed_form"]) for row in papers)
        told = f"{paper['locality']:.4f} [{low:.4f}, {high:.4f}] at D = {paper['skips']}, exact {paper['closed_form']:.4f}"
        claims += [
            Claim(
                "delay",
                f"M = {servers}: 95 % locality of jobs of 20 tasks at the closed form's D",
                high is not None and high >= GOAL,
                f"{told}; {papers[0]['locality']:.3f} at D = 0; robust, which does not wait anew, {robust['locality']:.4f}",
            ),
            Claim(
                "delay",
                f"M = {servers}: locality is what the closed form says, at every D",
                all(within(row) for row in papers),
                f"largest difference {furthest:.4f}",
            ),
        ]
    return claims


def within(row: Row) -> bool:
    """Whether the exact value lies in the measured interval, widened by a half: seven intervals are looked at."""
    if row["locality_low"] is None:
        return False
    half = 0.75 * (row["locality_high"] - row["locality_low"])
    return bool(abs(row["locality"] - row["closed_form"]) <= half)


def claims_on_intervals(found: dict[str, dict[str, list[Measures]]]) -> list[Claim]:
    changing = found["changing"]
    pairs = ((DYNAMIC, FIXED), ("delay-dynamic:paper", "delay:paper"), (DYNAMIC, FAIR), (FIXED, FAIR))
    shares = {
        (one, other): ratio([each.completion for each in changing[one]], [each.completion for each in changing[other]])
        for one, other in pairs
    }
    best = min((FIXED, *OTHERS), key=lambda name: mean_completion(changing[name]))
    constant = ratio(*([each.completion for each in found["constant"][name]] for name in pairs[0]))
    told = "; ".join(f"{one} {share} of {other}" for (one, other), share in shares.items())
    return [
        Claim(
            "delay",
            "where the overhead varies, dynamic intervals take no longer than fixed ones of 3 s in mean completion",
            certainly_below(shares[pairs[0]], 1.0),
            f"{told}; on a constant network {constant}",
        ),
        Claim(
            "delay",
            "and no longer than the best of the fixed ones",
            mean_completion(changing[DYNAMIC]) <= mean_completion(changing[best]),
            f"{mean_completion(changing[DYNAMIC]):.2f} s, {best} {mean_completion(changing[best]):.2f} s",
        ),
    ]


def mean_completion(found: list[Measures]) -> float:
    return float(np.mean([each.completion for each in found]))


def claim_on_sticky_slots(rows: list[Row]) -> Claim:
    """The locality of fair sharing alone, and of delay scheduling, for few and many jobs."""
    share = {(row["policy"], row["jobs"]): row["locality"] for row in rows}
    counts = sorted({row["jobs"] for row in rows})
    few, many = counts[0], counts[-1]
    told = "; ".join(f"{policy} " + ", ".join(f"{share[policy, jobs]:.2f}" for jobs in counts) for policy in (FAIR, FIXED))
    return Claim(
        "delay",
        "slots stick to jobs under fair sharing, which loses locality as jobs become more; a delay cures that",
        share[FAIR, many] < 0.5 * share[FAIR, few] and min(share[FIXED, jobs] for jobs in counts) > 0.9,
        f"{', '.join(map(str, counts))} jobs: {told}",
    )
