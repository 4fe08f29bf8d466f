"""Drawing of charts with matplotlib, for wide and narrow screens."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from packenv.content.charts import (
    COLOURS,
    COLUMN_LETTERS,
    DESKTOP_WIDTH,
    GREY,
    INK,
    LINE,
    NEAR,
    PAPER,
    PHONE_WIDTH,
    BinChart,
    Chart,
    ChartRow,
    GridChart,
    Line,
    LineChart,
    RowChart,
)
from packenv.report.plot_style import plain_numbers

LONGEST = 34  # letters of a text in a chart; longer ones are cut
ACROSS = 38  # letters of a name and its numbers, across a phone's screen
LEAST_POINTS = 7.6  # of letters: ten pixels, which can be read
LATE = 0.6  # share of the width from which on a text stands at the left of its line
STRONGEST = 0.65  # opacity of the whole colour of a cell: the number on it is read


@singledispatch
def draw(chart: Chart, axes: Any, narrow: bool) -> None:
    """Draw a chart on axes of matplotlib, for a narrow screen or a wide one."""
    raise NotImplementedError(type(chart).__name__)


@draw.register
def _lines(chart: LineChart, axes: Any, narrow: bool) -> None:
    first, last = chart.ends()
    # Curves with bands and marks, then rules, then triangles of leaving lines.
    for line in chart.lines:
        style = {"color": line.colour, "linestyle": "--" if line.dashed else "-"}
        if line.low is not None and line.high is not None:
            step, alpha = "post" if chart.steps else None, 0.7 if chart.layers else 0.16
            axes.fill_between(line.x, line.low, line.high, step=step, color=line.colour, alpha=alpha, linewidth=0)
        width = {"linewidth": 0.5} if chart.layers else {}
        axes.plot(line.x, line.y, drawstyle="steps-post" if chart.steps else "default", label=line.label, **style, **width)
        for point in line.points:
            if point.y <= chart.top:
                _mark(axes, point.x, point.y, point.shape or line.marker, line.colour, point.filled)
    for rule in chart.across:
        axes.axhline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
    for rule in chart.up:
        axes.axvline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
    for line in filter(chart.leaves, chart.lines):
        _mark(axes, _leaves_at(chart, line), chart.top, "^", line.colour, True)
    axes.set_xlim(first, last)
    axes.set_ylim(chart.bottom, chart.top)
    few = chart.whole and last - first <= 8
    axes.xaxis.set_major_locator(_ticks(9 if few else 4 if narrow else 8, chart.whole))
    if chart.bottom:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if chart.top < 100 * chart.bottom else (1,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.yaxis.set_major_locator(_ticks(5))
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    if chart.percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    _finish(axes, "y", chart.x_title, chart.y_title)
    if not narrow:
        _name_lines(chart, axes, first, last)


def _leaves_at(chart: LineChart, line: Line) -> float:
    """Return the first place of a line above the chart's top."""
    return float(line.x[int(np.argmax(np.asarray(line.y) > chart.top))])


def _name_lines(chart: LineChart, axes: Any, first: float, last: float) -> None:
    """Write names next to ends, rules and leaving lines."""
    for n, rule in enumerate(chart.up):
        late = rule.at - first > LATE * (last - first)
        side = ((-6, 0), "right") if late else ((6, 0), "left")
        _write(axes, rule.label, (rule.at, chart.top * (1 - n * NEAR)), side[0], ha=side[1], va="top", color=GREY)
    for height, line in chart.names():
        _write(axes, line.label, (last, height), (8, 0), ha="left", va="center", color=line.colour)
    leaving = [(_leaves_at(chart, line), line) for line in chart.lines if chart.leaves(line)]
    for n, (where, line) in enumerate(sorted(leaving, key=lambda pair: pair[0])):
        side = ((-8, 0), "right") if where - first > LATE * (last - first) else ((8, 0), "left")
        at = where, chart.top * (0.97 - n * NEAR)
        _write(axes, line.leaving, at, side[0], 2 * LONGEST, ha=side[1], va="top", color=line.colour)


@draw.register
def _rows(chart: RowChart, axes: Any, narrow: bool) -> None:
    start, end = chart.ends
    if chart.log and start > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if end < (30 if narrow else 1000) * start else (1,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif chart.log:
        axes.set_xscale("symlog", linthresh=end / 100, linscale=0.5)
    else:
        axes.xaxis.set_major_locator(_ticks(4 if narrow else 8))
    plain_numbers(axes.xaxis)
    axes.set_xlim(start, end)
    axes.set_ylim(len(chart.entries) - 0.5, -0.6)
    for rule in chart.rules:
        axes.axvline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
        top = axes.get_xaxis_transform()
        _write(axes, rule.label, (rule.at, 1), (0, 3), ha="center", va="bottom", color=GREY, xycoords=top)
    for row, entry in enumerate(chart.entries):
        if entry.low is not None and entry.high is not None:
            low, high = chart.within(entry.low), chart.within(entry.high)
            if chart.bars:
                height = 0.2 if narrow else 0.45  # names stand above narrow ones
                axes.barh(row, low - start, height, start, color=entry.colour, linewidth=0)
                axes.barh(row, high - low, height, low, color=entry.colour, alpha=0.3, linewidth=0)
            else:
                axes.hlines(row, low, high, color=entry.colour, linewidth=2.2, alpha=0.55)
        for mark in chart.placed(entry):
            _mark(axes, mark.value, row, mark.shape, entry.colour, mark.filled)
        _name_row(axes, row, entry, narrow)
    axes.set_yticks([])
    _finish(axes, "x", chart.x_title, "")


def _name_row(axes: Any, row: int, entry: ChartRow, narrow: bool) -> None:
    """Write the name left and the number right, or above on a phone."""
    where = {"xycoords": axes.get_yaxis_transform(), "va": "center"}
    above = 0 if entry.is_heading else 12
    weight = "bold" if entry.is_heading else "normal"
    left, right = (((0, above), "left"), ((0, above), "right")) if narrow else (((-8, 0), "right"), ((8, 0), "left"))
    of_text = min(len(entry.text), LONGEST * 3 // 4)  # on a phone's screen the numbers are whole, and the name takes the rest
    most = ACROSS - of_text if narrow and entry.text else LONGEST
    _write(axes, entry.label, (0, row), left[0], ha=left[1], color=INK, fontweight=weight, most=most, opaque=True, **where)
    if entry.text:
        most = of_text if narrow else LONGEST
        _write(axes, entry.text, (1, row), right[0], ha=right[1], color=GREY, most=most, opaque=True, **where)


@draw.register
def _grid(chart: GridChart, axes: Any, narrow: bool) -> None:
    """Draw the squares, with names below columns and next to rows."""
    below = {"xycoords": axes.get_xaxis_transform(), "va": "top", "color": GREY, "rotation_mode": "anchor"}
    turn = {"rotation": 90, "ha": "right", "va": "center"} if narrow else {"rotation": 25, "ha": "right"}
    for column, name in enumerate(chart.columns):
        _write(axes, name, (column, 0), (0, -6), COLUMN_LETTERS, **below | turn)
    beside = {"xycoords": axes.get_yaxis_transform(), "color": INK}
    beside |= {"ha": "left", "va": "bottom"} if narrow else {"ha": "right", "va": "center"}
    pixels = (0.9 * PHONE_WIDTH if narrow else 0.75 * DESKTOP_WIDTH) / max(len(chart.columns), 1)  # the width of a square
    for row, (name, squares) in enumerate(zip(chart.rows, chart.squares, strict=True)):
        _write(axes, name, (0, row - 0.4) if narrow else (0, row), (0, 0) if narrow else (-8, 0), **beside)
        for column, square in enumerate(squares):
            colour, share = square.shade
            height = 0.6 if narrow else 0.92
            axes.barh(row, 0.95, height, column - 0.475, color=colour, alpha=STRONGEST * share, linewidth=0)
            letters = max(map(len, square.text.splitlines()), default=1)
            fontsize = min(max(1.4 * pixels / letters, LEAST_POINTS), 9.0)
            style = {"ha": "center", "va": "center", "color": INK, "fontsize": fontsize, "linespacing": 1.0}
            axes.text(column, row, square.text, **style).set_in_layout(False)  # a long one takes no room from the squares
    axes.set_xlim(-0.5, len(chart.columns) - 0.5)
    axes.set_ylim(len(chart.rows) - 0.5, -0.8 if narrow else -0.5)
    axes.set_axis_off()


@draw.register
def _bins(chart: BinChart, axes: Any, narrow: bool) -> None:
    axes.stairs(chart.heights, chart.edges, fill=True, color=COLOURS[0], alpha=0.8, linewidth=0)
    if chart.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=5 if narrow else 9))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(_ticks(4 if narrow else 8))
    axes.yaxis.set_major_locator(_ticks(4))
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    axes.set_xlim(chart.edges[0], chart.edges[-1])
    axes.set_ylim(0, float(chart.heights.max()) or 1.0)
    _finish(axes, "y", chart.x_title, chart.y_title)


def mark_style(colour: str, filled: bool) -> dict[str, Any]:
    """Return the style of filled or hollow markers."""
    return {"color": colour, "markerfacecolor": colour if filled else PAPER, "markeredgewidth": 1.5, "markersize": 6}


def _mark(axes: Any, x: float, y: float, shape: str, colour: str, filled: bool) -> None:
    axes.plot(x, y, shape, clip_on=False, zorder=3, **mark_style(colour, filled))


def _write(
    axes: Any,
    text: str,
    where: tuple[float, float],
    offset: tuple[int, int],
    most: int = LONGEST,
    opaque: bool = False,
    **style: Any,
) -> None:
    """Write a text at an offset in points from a place."""
    behind = {"facecolor": PAPER, "alpha": 1.0 if opaque else 0.7, "edgecolor": "none", "pad": 0.5}
    axes.annotate(
        _short(text, most), where, offset, textcoords="offset points", annotation_clip=False, bbox=behind, zorder=2.5, **style
    )


def _ticks(most: int, integer: bool = False) -> Any:
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], integer=integer)


def _finish(axes: Any, grid: str, x_title: str, y_title: str) -> None:
    """Add titles and a light grid along one axis, without a box."""
    axes.set_xlabel(_short(x_title, 48), color=GREY)
    if y_title:
        where = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(_short(y_title, 48), (0, 1), (0, 8), color=GREY, **where)
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=LINE)
    axes.tick_params(colors=GREY, labelcolor=GREY)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(which="minor", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(GREY)


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
