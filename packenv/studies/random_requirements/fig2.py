"""Figure 2: the universal partition I (eq. 6), and the reduced configurations that go with it (eq. 7)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from packenv.studies.finding import Claim, Finding, Row, Settings

LEVELS = 4
TWO_THIRDS = Fraction(2, 3)


class Cell(NamedTuple):
    """Type `number`: sizes in (low, high]."""

    number: int
    low: Fraction
    high: Fraction


def partition(levels: int) -> list[Cell]:
    """The 2J types on (2^−J, 1], largest sizes first (PAPERS §1.3)."""
    cells = []
    for m in range(levels):
        top = Fraction(1, 2**m)
        cells += [Cell(2 * m, TWO_THIRDS * top, top), Cell(2 * m + 1, top / 2, TWO_THIRDS * top)]
    return cells


def reduced_configurations(levels: int) -> list[dict[int, int]]:
    """K_RED in the order of PAPERS §1.4: jobs by type."""
    first = [{2 * m: 2**m} for m in range(levels)]
    second = [{2 * m + 1: 3 * 2 ** (m - 1)} for m in range(1, levels)]
    third = [{1: 1, 2 * m: 2**m // 3} for m in range(2, levels)]
    fourth = [{1: 1, 2 * m + 1: 2 ** (m - 1)} for m in range(1, levels)]
    return [*first, *second, *third, *fourth]


def room(configuration: dict[int, int], cells: list[Cell]) -> Fraction:
    """Capacity that a configuration takes with sizes rounded up to the ends of their cells."""
    return sum((count * cells[kind].high for kind, count in configuration.items()), Fraction(0))


def spoken(configuration: dict[int, int]) -> str:
    """`e1 + 2 e4`."""
    return " + ".join(f"e{kind}" if count == 1 else f"{count} e{kind}" for kind, count in configuration.items())


def reproduce(settings: Settings, levels: int = LEVELS) -> Finding:
    """Nothing is simulated; the two claims are checked in exact fractions."""
    cells, configurations = partition(levels), reduced_configurations(levels)
    rows: list[Row] = [
        {"type": f"I_{cell.number}", "low": str(cell.low), "high": str(cell.high)}
        | {"low_decimal": float(cell.low), "high_decimal": float(cell.high)}
        for cell in cells
    ]
    listed: list[Row] = [
        {"configuration": spoken(k), "room": str(room(k, cells)), "room_decimal": float(room(k, cells))} for k in configurations
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
        from packenv.studies.random_requirements.fig2_plot import draw_partition

        draw_partition(cells, [spoken(k) for k in configurations], path)

    return Finding("fig2", f"Figure 2: the partition I for J = {levels}", claims, {"": rows, "_configurations": listed}, draw)
