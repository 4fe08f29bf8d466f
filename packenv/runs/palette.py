"""The looks that all pictures share: a colour for each policy, and how numbers are written."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FuncFormatter

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # told apart by the colour-blind too
USUAL = ("bf-js", "vqs", "vqs-bf", "fifo-ff")
"""Policies that have the same colour in every picture."""

MARKERS = {"bf-js": "o", "vqs": "s", "vqs-bf": "D", "fifo-ff": "^"}
GREY = "#555555"


def colours_for(policies: list[str]) -> list[str]:
    """A colour for each: the usual ones' own, the others' from what is left."""
    taken = [name for name in USUAL if name in policies]
    free = [colour for n, colour in enumerate(COLOURS) if n >= len(USUAL) or USUAL[n] not in taken] or list(COLOURS)
    others = [name for name in policies if name not in USUAL]
    return [COLOURS[USUAL.index(name)] if name in USUAL else free[others.index(name) % len(free)] for name in policies]


def plain(axis: Any) -> None:
    """10,000 rather than 1e4."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def tidy(axes: Any) -> None:
    """A light grid, and no box."""
    axes.set_axisbelow(True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
