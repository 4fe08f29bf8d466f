"""What all pictures have in common beside their colours: plain numbers, a light grid, and their files."""

from __future__ import annotations

from typing import Any

PICTURES = (".png", ".pdf", ".svg")
IN_A_FILE = {"pdf.fonttype": 42, "svg.fonttype": "none"}
"""Letters as TrueType in PDF, which journals ask for, and as text in SVG, which editors and searches find."""


def plain_numbers(axis: Any) -> None:
    """Write the numbers of an axis as 10,000 rather than 1e4."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def light_grid(axes: Any) -> None:
    """Draw a light grid, and no box."""
    axes.set_axisbelow(True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
