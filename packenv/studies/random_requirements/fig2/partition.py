"""The universal partition I (eq. 6) and its reduced configurations K_RED (eq. 7) in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from packenv.theory import partition as theory

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
    rows = theory.reduced_configurations(levels).tolist()
    return [{kind: count for kind, count in enumerate(row) if count > 0} for row in rows]


def room(configuration: dict[int, int], cells: list[Cell]) -> Fraction:
    """Capacity that a configuration takes with sizes rounded up to the ends of their cells."""
    return sum((count * cells[kind].high for kind, count in configuration.items()), Fraction(0))


def in_words(configuration: dict[int, int]) -> str:
    """`e1 + 2 e4`."""
    return " + ".join(f"e{kind}" if count == 1 else f"{count} e{kind}" for kind, count in configuration.items())
