"""What figure 3.2 of seed 003 claims, and what is published of Hawk, against the rows of `rows`."""

from __future__ import annotations

import math

from packenv.runs.statistics import Interval, certainly_above, certainly_below
from packenv.runs.text import number
from packenv.studies.finding import Claim, Row

ALIKE = 1.1  # a ratio within this factor of 1 is about 1
HIGH_LOAD = "google, the smallest cluster"
HAWK_PUBLISHED = {("short", 50): 80, ("short", 90): 90, ("long", 50): 35, ("long", 90): 10}  # % better than Sparrow


def claims_on(panels: list[Row], compared: list[Row], parts: list[Row]) -> list[Claim]:
    traces = list(dict.fromkeys(row["trace"] for row in panels))
    return [
        *(claim for trace in traces for claim in claims_on_panels(trace, [row for row in panels if row["trace"] == trace])),
        *claims_on_hawk(compared),
        *claims_on_mechanisms(parts),
    ]


def claims_on_panels(trace: str, rows: list[Row]) -> list[Claim]:
    """Eagle over Hawk by the size of the cluster."""
    levels = list(dict.fromkeys(row["percentile"] for row in rows))
    curves = {kind: {p: _curve(rows, kind, p) for p in levels} for kind in ("short", "long")}
    sizes = list(dict.fromkeys(row["servers"] for row in rows))
    by_size = f"{trace}, {sizes[0]:,} to {sizes[-1]:,} servers"
    claims = [
        Claim(
            "eagle",
            f"{by_size}: short jobs' {level}th percentile below Hawk's",
            all(certainly_below(over, 1) for over in curve),
            ", ".join(map(str, curve)),
        )
        for level, curve in curves["short"].items()
    ]
    alike = all(1 / ALIKE <= (over.mean or 0) <= ALIKE for curve in curves["long"].values() for over in curve)
    claims.append(Claim("eagle", f"{by_size}: long jobs' percentiles about Hawk's, within 10 %", alike, _means(curves["long"])))
    ends = [(abs(math.log(curve[0].mean or 1)), abs(math.log(curve[-1].mean or 1))) for curve in curves["short"].values()]
    nearer = all(smallest > largest for smallest, largest in ends)
    claims.append(Claim("eagle", f"{by_size}: short jobs' nearer to 1 in the largest cluster", nearer, _means(curves["short"])))
    return claims


def claims_on_hawk(rows: list[Row]) -> list[Claim]:
    """Hawk over Sparrow, in the direction published."""
    found = {(row["jobs"], row["percentile"]): row for row in rows if row["policy"] == "hawk"}
    claims = []
    for (kind, level), percent in HAWK_PUBLISHED.items():
        over = _interval(found[kind, level], "over_sparrow", "over_sparrow_low", "over_sparrow_high")
        claim = f"{HIGH_LOAD}: {kind} jobs' {level}th percentile of Hawk below Sparrow's (published: by {percent} %)"
        claims.append(Claim("eagle", claim, certainly_below(over, 1), f"{over} of Sparrow's"))
    return claims


def claims_on_mechanisms(rows: list[Row]) -> list[Claim]:
    """What each mechanism does for short jobs."""
    claims = []
    for mechanism in dict.fromkeys(row["mechanism"] for row in rows):
        own = {row["percentile"]: row for row in rows if row["mechanism"] == mechanism and row["jobs"] == "short"}
        factors = {level: _interval(row, "factor", "low", "high") for level, row in own.items()}
        told = "; ".join(f"{level}th: by {factors[level]}, {_percent(row['share'])} of the gain" for level, row in own.items())
        shown = all(certainly_above(factor, 1) for factor in factors.values())
        claims.append(Claim("eagle", f"{HIGH_LOAD}: {mechanism} divides short jobs' times", shown, told))
    return claims


def _curve(rows: list[Row], kind: str, level: int) -> list[Interval]:
    return [_interval(row, "eagle_over_hawk", "low", "high") for row in rows if (row["jobs"], row["percentile"]) == (kind, level)]


def _interval(row: Row, mean: str, low: str, high: str) -> Interval:
    return Interval(row[mean], row[low], row[high])


def _means(curves: dict[int, list[Interval]]) -> str:
    return "; ".join(f"{level}th {', '.join(number(over.mean) for over in curve)}" for level, curve in curves.items())


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
