"""Pictures: charts below each other in a matplotlib figure, or as SVG."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from packenv.content.charts import COLOURS, DESKTOP_WIDTH, GREY, INK, LINE, PAPER, PHONE_WIDTH, Chart, Key
from packenv.content.page import Charts, Figure
from packenv.files import atomic_path, check_ending
from packenv.report import schedule_drawing  # noqa: F401  # adds to `draw`
from packenv.report.drawing import draw, mark_style
from packenv.report.plot_style import CAPTION, IN_A_FILE, PICTURES, folded, remove_titles

DPI = 120
INCH = 96  # pixels of a page
SCHEDULE_WIDE = 1056  # pixels
BESIDE = 3  # small charts in a row
KEY_LETTERS, BESIDE_KEY = 14, 4  # letters of a legend in an inch; of its mark and the space behind
COLUMN = 5.0  # inches: narrower pictures are drawn as for a phone, with legends below
TITLE, HEADING = 11.0, 10.8  # points; in narrow pictures both are as small as a caption
BESIDE_ROWS, BESIDE_AXIS = 2.6, 0.6  # inches at the left of a chart: names of rows, numbers of an axis
LINE_OF_HEADING = 17  # pixels
STYLE = {"text.parse_math": False, "font.size": 9.0, "lines.linewidth": 1.5}
IN_A_PAGE = {**STYLE, "svg.fonttype": "none"}
NAMES = {colour: f"c{n}" for n, colour in enumerate(COLOURS)} | {GREY: "muted", INK: "ink", PAPER: "page", LINE: "line"}
"""Names in the page's style sheet, with light and dark colours."""

TAG = re.compile(r"<[^<>]+>")  # in texts these signs are escaped
COLOUR = re.compile("|".join(NAMES))
NEEDLESS = re.compile(r' font-family: [^"]*sans-serif;?| transform="rotate\(-0 [^"]*"| id="(?!C\d+_)[A-Za-z][\w.]*_\d+"')
"""Parts of an SVG to remove: fonts, and ids that other charts share."""

OPENING = re.compile(r'^.*?<svg [^>]*?(viewBox="[^"]*")[^>]*>(?:\s*<defs>\s*<style.*?</defs>)?', re.DOTALL)


class Picture(Canvas):
    """A figure that a notebook shows without `pyplot`."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=DPI)
        return content.getvalue()

    def savefig(self, *args: Any, **options: Any) -> None:
        with rc_context(IN_A_FILE):
            super().savefig(*args, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as PNG, PDF or SVG, whole or not at all.

        Raises InputError for another ending.
        """
        check_ending(path, PICTURES, "a plot is one of")
        with atomic_path(path) as temporary:
            self.savefig(temporary, dpi=DPI)


def picture_of(charts: Charts, width: float | None = None, titled: bool = True) -> Picture:
    """Draw the charts below each other, small ones side by side.

    A schedule fills the picture.
    width   inches. None: as on a page. Below COLUMN charts are drawn as for a phone
    titled  show the title. Without it headings are small, and a single chart has none
    """
    narrow = width is not None and width < COLUMN
    with rc_context(STYLE):
        if len(charts.figures) == 1 and (alone := charts.figures[0].chart).alone:
            picture = Picture(figsize=(width or SCHEDULE_WIDE / INCH, alone.height(narrow) / INCH), layout="constrained")
            draw(alone, picture, narrow)
        else:
            picture = _stacked(charts, width or DESKTOP_WIDTH / INCH, narrow, titled)
        if charts.title and titled:
            size = CAPTION if narrow else TITLE
            picture.suptitle(folded(charts.title, picture.get_figwidth(), size), fontsize=size)
        if not titled:
            remove_titles(picture)
    return picture


def _stacked(charts: Charts, width: float, narrow: bool, titled: bool) -> Picture:
    """Draw charts below each other, up to BESIDE small ones in a row."""
    figures, size = charts.figures, HEADING if titled and not narrow else CAPTION
    # Arrange the charts in rows.
    rows: list[list[Figure]] = []
    for figure in figures:
        if rows and not narrow and figure.small and rows[-1][0].small and len(rows[-1]) < BESIDE:
            rows[-1].append(figure)
        else:
            rows.append([figure])
    # Legends below rows. Equal ones of neighbours are shown once.
    keyed = [row[0].chart.keys() if narrow or row[0].small else [] for row in rows]  # in a legend below
    for n in range(len(rows) - 1):
        if keyed[n] == keyed[n + 1]:
            keyed[n] = []
    keyed = [[key._replace(label=folded(key.label, width - BESIDE_AXIS, CAPTION)) for key in keys] for keys in keyed]
    lines_in = [max((key.label.count("\n") + 1 for key in keys), default=1) for keys in keyed]
    legends = [18 * lines * math.ceil(len(keys) / _columns(keys, width)) for keys, lines in zip(keyed, lines_in, strict=True)]
    # Height of each row: its chart, heading and legend.
    headings = [[folded(figure.heading, _room(figure, width / len(row), narrow), size) for figure in row] for row in rows]
    folds = [LINE_OF_HEADING * max(heading.count("\n") for heading in of_row) for of_row in headings]
    heights = [
        max(figure.chart.height(figure.small or narrow) for figure in row) + 30 + lines + legend
        for row, lines, legend in zip(rows, folds, legends, strict=True)
    ]
    title = folded(charts.title, width, CAPTION if narrow else TITLE)
    higher = LINE_OF_HEADING * max(title.count("\n") - 1, 0) if titled else 0
    picture = Picture(figsize=(width, (40 + higher + sum(heights)) / INCH), layout="constrained")
    parts: Any = picture.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0] if rows else []
    # Draw the rows.
    for part, row, of_row, keys in zip(parts, rows, headings, keyed, strict=True):
        panels = part.subplots(1, len(row), squeeze=False)[0]
        for axes, figure, heading in zip(panels, row, of_row, strict=True):
            draw(figure.chart, axes, figure.small or narrow)
            axes.set_title(heading, loc="left", pad=20, fontsize=size)
        if keys:
            _draw_keys(part, keys, loc="outside lower left", ncols=_columns(keys, width))
        elif not narrow and not row[0].small and not row[0].chart.direct and (above := row[0].chart.keys()):
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.03), "borderaxespad": 0}
            _draw_keys(panels[0], above, ncols=len(above), **place)
    return picture


def _room(figure: Figure, width: float, narrow: bool) -> float:
    """Return the inches above a chart for its heading."""
    return width - (BESIDE_AXIS if narrow or figure.small or figure.chart.direct else BESIDE_ROWS)


def _columns(keys: Sequence[Key], width: float) -> int:
    """Return the columns of a legend of this width in inches."""
    longest = max((len(line) for key in keys for line in key.label.split("\n")), default=0)
    return max(1, int(KEY_LETTERS * width) // (longest + BESIDE_KEY))


def _draw_keys(where: Any, keys: Sequence[Key], **place: Any) -> None:
    """Draw a legend of axes, or of the charts of a row."""
    handles = [
        Line2D([], [], **mark_style(key.colour, key.filled), linestyle="", marker=key.mark, label=key.label) for key in keys
    ]
    where.legend(handles=handles, frameon=False, handletextpad=0.1, **place)


def svg_of(chart: Chart, narrow: bool, name: str) -> str:
    """Return the chart as an `svg` element for a page.

    The page's style sheet has its colours and font. `name`: unique in a page, used for ids. Equal charts give equal text.
    Texts are escaped.
    """
    width, height = PHONE_WIDTH if narrow else DESKTOP_WIDTH, chart.height(narrow)
    with rc_context({**IN_A_PAGE, "svg.hashsalt": name}):
        canvas = Canvas(figsize=(width / INCH, height / INCH), layout="constrained")
        canvas.patch.set_visible(False)
        axes = canvas.subplots()
        axes.patch.set_visible(False)
        draw(chart, axes, narrow)
        content = io.StringIO()
        canvas.savefig(content, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = OPENING.sub(rf'<svg aria-hidden="true" width="{width}" \1>', content.getvalue(), count=1).strip()
    return TAG.sub(lambda tag: colour_of_the_page(NEEDLESS.sub("", tag[0])), text)


def colour_of_the_page(text: str) -> str:
    """Replace colours in the text by names of the style sheet."""
    return COLOUR.sub(lambda colour: f"var(--{NAMES[colour[0]]})", text)
