"""What figure 3.2 of Delgado et al. claims, and what is published of Hawk, against the rows of `rows`."""

from __future__ import annotations

from experiments.eagle.runs import SWEEP, SWEPT
from experiments.eagle.tables import HAWK_PUBLISHED
from experiments.finding import Claim, Row, claim_with_number
from packenv.content.text import number
from packenv.runs.statistics import Interval, certainly_above, certainly_below
from packenv.workloads.named.eagle import UTILISATION

ALIKE = 1.1  # a ratio within this factor of 1 is about 1
HIGH_LOAD = (UTILISATION, 1)  # of SWEEP: the smallest cluster, jobs one by one


def claims_on(panels: list[Row], sweep: list[Row], parts: list[Row]) -> list[Claim]:
    traces = list(dict.fromkeys(row["trace"] for row in panels))
    return [
        *(claim for trace in traces for claim in claims_on_panels(trace, [row for row in panels if row["trace"] == trace])),
        *claims_on_hawk(sweep),
        *claims_on_mechanisms(parts),
    ]


def claims_on_panels(trace: str, rows: list[Row]) -> list[Claim]:
    """Eagle over Hawk by the size of the cluster."""
    levels = list(dict.fromkeys(row["percentile"] for row in rows))
    short, long = (
        {level: [row for row in rows if (row["jobs"], row["percentile"]) == (kind, level)] for level in levels}
        for kind in ("short", "long")
    )
    sizes = list(dict.fromkeys(row["servers"] for row in rows))
    by_size = f"{trace}, {sizes[0]:,} to {sizes[-1]:,} servers"
    claims = []
    for level, curve in short.items():
        ratios = [interval_of(row, "eagle_over_hawk") for row in curve]
        below = all(certainly_below(over, 1) for over in ratios)
        claims.append(Claim("eagle", f"{by_size}: short jobs' {level}th percentile below Hawk's", below, joined(ratios)))
    ratios = [interval_of(row, "eagle_over_hawk") for curve in long.values() for row in curve]
    alike = all(certainly_above(over, 1 / ALIKE) and certainly_below(over, ALIKE) for over in ratios)
    ends = [end for over in ratios for end in over if end is not None]
    figures = f"all intervals within [{number(min(ends))}, {number(max(ends))}]"
    claims.append(Claim("eagle", f"{by_size}: long jobs' percentiles about Hawk's, within 10 %", alike, figures))
    nearer = {level: interval_of(curve[-1], "nearer") for level, curve in short.items()}
    shown = all(certainly_above(by, 0) for by in nearer.values())
    figures = "; ".join(f"{level}th: |ln| smaller by {by}" for level, by in nearer.items())
    claims.append(Claim("eagle", f"{by_size}: short jobs' nearer to 1 in the largest cluster", shown, figures))
    return claims


def claims_on_hawk(rows: list[Row]) -> list[Claim]:
    """Hawk over Sparrow by as much as published, and where in the sweep that is so."""
    claims = []
    for (kind, level), percent in HAWK_PUBLISHED.items():
        by_point = {
            (row["load"], row["burst"]): claim_with_number(
                "eagle",
                f"{SWEPT}, load {UTILISATION}: {kind} jobs' {level}th percentile of Hawk {percent} % below Sparrow's",
                interval_of(row, "hawk_over_sparrow"),
                row["published"],
                str(interval_of(row, "hawk_over_sparrow")),
            )
            for row in rows
            if (row["jobs"], row["percentile"]) == (kind, level)
        }
        elsewhere = [f"{place(*point)} {by_point[point].figures}" for point in SWEEP if point != HIGH_LOAD]
        claims.append(
            by_point[HIGH_LOAD]._replace(figures="; ".join([f"{by_point[HIGH_LOAD].figures} of Sparrow's", *elsewhere]))
        )
    return claims


def place(load: float, burst: int) -> str:
    """A point of the sweep, in words."""
    return f"load {load}" + (f", {burst} at a time" if burst > 1 else "")


def claims_on_mechanisms(rows: list[Row]) -> list[Claim]:
    """What each mechanism does for short jobs on the smallest cluster of each trace."""
    claims = []
    for trace, mechanism in dict.fromkeys((row["trace"], row["mechanism"]) for row in rows):
        by_level = {
            row["percentile"]: row for row in rows if (row["trace"], row["mechanism"], row["jobs"]) == (trace, mechanism, "short")
        }
        factors = {level: interval_of(row, "factor") for level, row in by_level.items()}
        figures = "; ".join(
            f"{level}th: by {factors[level]}, {percent(row['share'])} of the gain" for level, row in by_level.items()
        )
        shown = all(certainly_above(factor, 1) for factor in factors.values())
        claims.append(Claim("eagle", f"{trace}, the smallest cluster: {mechanism} divides short jobs' times", shown, figures))
    return claims


def interval_of(row: Row, name: str) -> Interval:
    """What `columns` wrote."""
    return Interval(row[name], row[f"{name}_low"], row[f"{name}_high"])


def joined(intervals: list[Interval]) -> str:
    return ", ".join(map(str, intervals))


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
