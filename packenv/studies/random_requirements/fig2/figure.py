"""Figure 2: the universal partition I, and the reduced configurations that go with it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.studies.random_requirements.fig2.partition import in_words, partition, reduced_configurations, room

LEVELS = 4


def reproduce(settings: Settings, levels: int = LEVELS) -> Finding:
    """Nothing is simulated; the two claims are checked in exact fractions."""
    cells, configurations = partition(levels), reduced_configurations(levels)
    rows: list[Row] = [
        {"type": f"I_{cell.number}", "low": str(cell.low), "high": str(cell.high)}
        | {"low_decimal": float(cell.low), "high_decimal": float(cell.high)}
        for cell in cells
    ]
    listed: list[Row] = [
        {"configuration": in_words(k), "room": str(room(k, cells)), "room_decimal": float(room(k, cells))} for k in configurations
    ]
    meet = all(above.low == below.high for above, below in pairwise(cells))
    covers = meet and cells[0].high == 1 and cells[-1].low == Fraction(1, 2**levels)
    fullest = max(room(k, cells) for k in configurations)
    claims = [
        Claim(
            "fig2",
            "the 2J types cover (2^-J, 1] without gap or overlap",
            covers and len(cells) == 2 * levels,
            f"J = {levels}: {len(cells)} cells from {cells[-1].low} to {cells[0].high}",
        ),
        Claim(
            "fig2",
            "K_RED has 4J - 4 configurations, all feasible with sizes rounded up",
            len(configurations) == 4 * levels - 4 and fullest <= 1,
            f"J = {levels}: {len(configurations)} configurations, the fullest takes {fullest} of a server",
        ),
    ]

    def draw(path: Path) -> None:
        from packenv.studies.random_requirements.fig2.plot import draw_partition

        draw_partition(cells, [in_words(k) for k in configurations], path)

    return Finding("fig2", f"Figure 2: the partition I for J = {levels}", claims, {"": rows, "_configurations": listed}, draw)
