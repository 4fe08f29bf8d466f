"""The common style of all pictures: numbers, grid, and files."""

from __future__ import annotations

import textwrap
from typing import Any

CAPTION = 9.0  # points: of the letters of a caption
LETTER = 0.58  # of its size is the width of a letter, about
POINTS = 72  # in an inch
PICTURES = (".png", ".pdf", ".svg")
IN_A_FILE = {"pdf.fonttype": 42, "svg.fonttype": "none"}
"""Letters as TrueType in PDF, for journals, and as text in SVG, for editors and searches."""


def folded(text: str, width: float, size: float) -> str:
    """Break the text into lines of `width` inches at `size` points.

    Only words longer than a line are broken.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, letters = FontProperties(size=size), max(8, int(POINTS * width / (LETTER * size)))
    lines: list[str] = []
    for line in text.split("\n"):
        fits = text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] <= POINTS * width
        parts = [] if fits else textwrap.wrap(line, letters, break_long_words=False)
        lines += [line] if fits else [piece for part in parts for piece in textwrap.wrap(part, letters)]
    return "\n".join(lines)


def remove_titles(figure: Any) -> None:
    """Remove the title, and the heading of a single chart.

    For pictures with a separate caption. Several headings stay, as small as a caption.
    """
    headings = [
        heading for axes in figure.axes for heading in (axes.title, axes._left_title, axes._right_title) if heading.get_text()
    ]
    removed = headings if len(headings) == 1 else []
    if figure.get_suptitle():
        removed = [figure.suptitle(figure.get_suptitle()), *removed]
    for heading in headings:
        heading.set_fontsize(min(heading.get_fontsize(), CAPTION))
    for text in removed:
        text.set_text("")
        text.set_in_layout(False)


def plain_numbers(axis: Any) -> None:
    """Write the numbers of an axis as 10,000 rather than 1e4."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def light_grid(axes: Any) -> None:
    """Draw a light grid, without a box."""
    axes.set_axisbelow(True)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
