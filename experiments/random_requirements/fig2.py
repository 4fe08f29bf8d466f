"""Figure 2: the universal partition I (eq. 6) and its reduced configurations K_RED (eq. 7), in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.finding import Claim, Finding, Row, Settings
from packenv.content.charts import COLOURS
from packenv.theory import configurations as theory

TWO_THIRDS = Fraction(2, 3)
HEIGHT = 0.5
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

    def draw() -> Figure:
        return draw_partition(cells, [in_words(k) for k in configurations])

    return Finding("fig2", f"Figure 2: the partition I for J = {levels}", claims, {"": rows, "_configurations": listed}, draw)


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


def draw_partition(cells: Sequence[Cell], configurations: Sequence[str]) -> Figure:
    """Sizes from 0 to 1 on a line; even types in one colour, odd ones in another."""
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    axes = figure.add_subplot()
    for cell in cells:
        low, high = float(cell.low), float(cell.high)
        axes.barh(0, high - low, left=low, height=HEIGHT, color=COLOURS[cell.number % 2], alpha=0.35, edgecolor="black")
        small = high - low < 0.05
        axes.annotate(
            f"$I_{{{cell.number}}}$", ((low + high) / 2, HEIGHT / 2 if small else 0), xytext=(0, 3 if small else 0),
            ha="center", va="bottom" if small else "center", fontsize=11 if small else 14, textcoords="offset points",
        )  # fmt: skip
    last = float(cells[-1].low)
    axes.barh(0, last, height=HEIGHT, color="white", edgecolor="black", hatch="///", linewidth=0.6)
    ends = [cell.high for cell in cells if cell.high * 24 >= 1] + [cells[-1].low]
    axes.set_xticks([0, *map(float, ends)], ["0", *(f"{end.numerator}/{end.denominator}" if end < 1 else "1" for end in ends)])
    axes.tick_params(axis="x", labelsize=9, rotation=0)
    for label, end in zip(axes.get_xticklabels()[1:], ends, strict=True):
        label.set_fontsize(10 if end * 4 >= 1 else 7)
        label.set_rotation(0 if end * 4 >= 1 else 60)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.3, 0.4)
    axes.set_yticks([])
    axes.spines[["left", "top", "right"]].set_visible(False)
    levels = len(cells) // 2
    axes.set_title(f"The partition I for J = {levels}; hatched: smaller sizes, which join the last type", fontsize=11, loc="left")
    half = (len(configurations) + 1) // 2
    listed = "\n".join(",   ".join(part) for part in (configurations[:half], configurations[half:]))
    axes.set_xlabel(f"size (share of a server)\n\nReduced configurations, jobs of each type:\n{listed}", fontsize=10)
    return figure
