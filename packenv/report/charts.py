"""Charts: values that say what is to be seen, which matplotlib draws: for a desk's screen or a picture, and for a phone's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from packenv.report.plot_style import COLOURS, GREY, INK, LINE, PAPER, plain_numbers

WIDE, NARROW = 840, 350  # pixels: of a desk's screen, and of a phone's
LONGEST = 34  # letters of a text in a chart; longer ones end in dots there
LEAST_POINTS = 7.6  # of letters: ten pixels, which can be read
COLUMN_LETTERS = 44  # of the name of a column, which is aslant or upright
NEAR = 0.075
"""Least distance of two names, as a share of the height of a chart."""

LATE = 0.6  # share of the width from which on a text stands at the left of its line
FULL = 2.0  # a cell with a ratio of FULL, or of 1 / FULL, has the whole colour
STRONGEST = 0.65  # opacity of that colour: the number on it is read
MOST_BINS = 30
SPREAD = 30.0  # of the largest to the least value, from which an axis of bins is logarithmic


class Key(NamedTuple):
    """An entry of a legend: what a colour, or a mark, stands for."""

    colour: str
    label: str
    mark: str = "s"  # a marker of matplotlib's
    filled: bool = True


class Rule(NamedTuple):
    """A line across a chart at a value of one axis, and the text beside it."""

    at: float
    label: str


class Chart(Protocol):
    """What can be drawn. `direct`: where there is room, names stand where they belong, and there is no legend."""

    direct: ClassVar[bool]

    def draw(self, axes: Any, narrow: bool) -> None: ...

    def height(self, narrow: bool) -> int:
        """Pixels."""
        ...

    def keys(self) -> list[Key]: ...


class Point(NamedTuple):
    """A mark on a line, filled or hollow."""

    x: float
    y: float
    filled: bool


class Line(NamedTuple):
    """A curve; `low` and `high` bound a band around it. `leaving`: its name where it leaves the chart at the top."""

    label: str
    colour: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    points: Sequence[Point] = ()
    marker: str = "o"
    leaving: str = ""


@dataclass(frozen=True)
class LineChart:
    """Curves over one axis. Above `top`, the end of the other axis, they leave the chart.

    across, up  rules at values of the vertical and of the horizontal axis
    steps       each value holds until the next one
    whole       the horizontal axis counts
    percent     the vertical axis has shares
    """

    direct: ClassVar[bool] = True

    lines: Sequence[Line]
    x_title: str
    y_title: str
    top: float
    across: Sequence[Rule] = ()
    up: Sequence[Rule] = ()
    steps: bool = False
    whole: bool = False
    percent: bool = False
    tall: int = 300  # pixels

    def height(self, narrow: bool) -> int:
        return 260 if narrow else self.tall

    def keys(self) -> list[Key]:
        return [Key(line.colour, line.label) for line in self.lines]

    def draw(self, axes: Any, narrow: bool) -> None:
        first, last = self._ends()
        for line in self.lines:
            style = {"color": line.colour, "linestyle": "--" if line.dashed else "-"}
            if line.low is not None and line.high is not None:
                step = "post" if self.steps else None
                axes.fill_between(line.x, line.low, line.high, step=step, color=line.colour, alpha=0.16, linewidth=0)
            axes.plot(line.x, line.y, drawstyle="steps-post" if self.steps else "default", label=line.label, **style)
            for point in line.points:
                if point.y <= self.top:
                    _mark(axes, point.x, point.y, line.marker, line.colour, point.filled)
        for rule in self.across:
            axes.axhline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
            _write(axes, rule.label, (first, rule.at), (6, 3), ha="left", va="bottom", color=GREY)
        for n, rule in enumerate(self.up):
            axes.axvline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
            late = rule.at - first > LATE * (last - first)
            side = ((-6, 0), "right") if late else ((6, 0), "left")
            _write(axes, rule.label, (rule.at, self.top * (1 - n * NEAR)), side[0], ha=side[1], va="top", color=GREY)
        axes.set_xlim(first, last)
        axes.set_ylim(0, self.top)
        few = self.whole and last - first <= 8
        axes.xaxis.set_major_locator(_ticks(9 if few else 4 if narrow else 8, self.whole))
        axes.yaxis.set_major_locator(_ticks(5))
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        if self.percent:
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        _finish(axes, "y", self.x_title, self.y_title)
        if not narrow:
            self._name_lines(axes, first, last)

    def names(self) -> list[tuple[float, Line]]:
        """The lines that end within the chart by the heights of their names at the right: near their ends, and apart."""
        staying = [line for line in self.lines if len(line.y) and not self._leaves(line)]
        ends = sorted(((min(float(line.y[-1]), self.top), line) for line in staying), key=lambda end: end[0])
        heights: list[float] = []
        for end, _ in ends:
            heights.append(max(heights[-1] + NEAR * self.top, end) if heights else end)
        for n, height in enumerate(reversed(heights)):  # those that were pushed out at the top move down, and push others
            if heights[-1 - n] > (most := self.top * (1 - n * NEAR)):
                heights[-1 - n] = min(height, most)
        return [(height, line) for height, (_, line) in zip(heights, ends, strict=True)]

    def _name_lines(self, axes: Any, first: float, last: float) -> None:
        for height, line in self.names():
            _write(axes, line.label, (last, height), (8, 0), ha="left", va="center", color=line.colour)
        leaving = [(line.x[int(np.argmax(np.asarray(line.y) > self.top))], line) for line in self.lines if self._leaves(line)]
        for n, (where, line) in enumerate(sorted(leaving, key=lambda pair: pair[0])):
            side = ((-8, 0), "right") if where - first > LATE * (last - first) else ((8, 0), "left")
            at = where, self.top * (0.97 - n * NEAR)
            _write(axes, line.leaving, at, side[0], 2 * LONGEST, ha=side[1], va="top", color=line.colour)

    def _leaves(self, line: Line) -> bool:
        return bool(line.leaving) and len(line.y) > 0 and line.y[-1] > self.top

    def _ends(self) -> tuple[float, float]:
        every = [*(x for line in self.lines for x in line.x), *(rule.at for rule in self.up)]
        first, last = float(min(every, default=0.0)), float(max(every, default=1.0))
        return (first - 0.5, last + 0.5) if first == last else (first, last)


class Mark(NamedTuple):
    """A value in a row, as a marker of matplotlib's."""

    value: float
    shape: str = "o"
    filled: bool = True


class Entry(NamedTuple):
    """A row: an interval from `low` to `high` with marks on it; a heading, where it has neither interval nor marks."""

    label: str
    colour: str = GREY
    low: float | None = None
    high: float | None = None
    marks: Sequence[Mark] = ()
    text: str = ""  # at the right

    @property
    def is_heading(self) -> bool:
        return self.low is None and not self.marks and not self.text


@dataclass(frozen=True)
class RowChart:
    """Rows from top to bottom over one axis, whose ends are `ends`. What lies beyond is drawn at the end, as a triangle.

    log   a logarithmic axis; linear near 0, if it begins there
    bars  solid from the left end of the axis to `low`, pale from there to `high`
    """

    direct: ClassVar[bool] = False

    entries: Sequence[Entry]
    x_title: str
    ends: tuple[float, float]
    rules: Sequence[Rule] = ()
    log: bool = False
    bars: bool = False
    marks: Sequence[Key] = ()  # what the shapes mean

    def height(self, narrow: bool) -> int:
        return 60 + (46 if narrow else 30) * len(self.entries)

    def keys(self) -> list[Key]:
        return [*self.marks]

    @property
    def note(self) -> str:
        """A sentence on marks that are drawn at the end of the axis, if there are any."""
        beyond = any(self._within(mark.value) != mark.value for entry in self.entries for mark in entry.marks)
        return " Triangles lie beyond the axis." if beyond else ""

    def placed(self, entry: Entry) -> list[Mark]:
        """The marks of a row where they are drawn."""
        last = self.ends[1]
        return [
            mark if (at := self._within(mark.value)) == mark.value else Mark(at, ">" if at == last else "<", mark.filled)
            for mark in entry.marks
        ]

    def draw(self, axes: Any, narrow: bool) -> None:
        start, end = self.ends
        if self.log and start > 0:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if end < 1000 * start and not narrow else (1,)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        elif self.log:
            axes.set_xscale("symlog", linthresh=end / 100, linscale=0.5)
        else:
            axes.xaxis.set_major_locator(_ticks(4 if narrow else 8))
        plain_numbers(axes.xaxis)
        axes.set_xlim(start, end)
        axes.set_ylim(len(self.entries) - 0.5, -0.6)
        for rule in self.rules:
            axes.axvline(rule.at, color=GREY, linewidth=1.2, linestyle=":", label=rule.label)
            top = axes.get_xaxis_transform()
            _write(axes, rule.label, (rule.at, 1), (0, 3), ha="center", va="bottom", color=GREY, xycoords=top)
        for row, entry in enumerate(self.entries):
            if entry.low is not None and entry.high is not None:
                low, high = self._within(entry.low), self._within(entry.high)
                if self.bars:
                    axes.barh(row, low - start, left=start, height=0.45, color=entry.colour, linewidth=0)
                    axes.barh(row, high - low, left=low, height=0.45, color=entry.colour, alpha=0.3, linewidth=0)
                else:
                    axes.hlines(row, low, high, color=entry.colour, linewidth=2.2, alpha=0.55)
            for mark in self.placed(entry):
                _mark(axes, mark.value, row, mark.shape, entry.colour, mark.filled)
            self._name_row(axes, row, entry, narrow)
        axes.set_yticks([])
        _finish(axes, "x", self.x_title, "")

    def _name_row(self, axes: Any, row: int, entry: Entry, narrow: bool) -> None:
        """The name at the left and the number at the right; on a phone's screen both above the row. Headings are bold."""
        where = {"xycoords": axes.get_yaxis_transform(), "va": "center"}
        above = 0 if entry.is_heading else 12
        weight = "bold" if entry.is_heading else "normal"
        left, right = (((0, above), "left"), ((0, above), "right")) if narrow else (((-8, 0), "right"), ((8, 0), "left"))
        most = LONGEST // 2 if narrow and entry.text else LONGEST
        _write(axes, entry.label, (0, row), left[0], ha=left[1], color=INK, fontweight=weight, most=most, **where)
        if entry.text:
            _write(axes, entry.text, (1, row), right[0], ha=right[1], color=GREY, most=most, **where)

    def _within(self, value: float) -> float:
        return min(max(value, self.ends[0]), self.ends[1])


class Square(NamedTuple):
    """A cell of a GridChart: its ratio, whose colour it has, and the lines of its text; no colour without a ratio."""

    ratio: float | None
    text: str

    @property
    def shade(self) -> tuple[str, float]:
        """Below 1 one colour, above 1 the other, the more of it the farther away by the logarithm, as far as FULL."""
        if not self.ratio or self.ratio < 0:
            return PAPER, 0.0
        log = math.log(self.ratio) / math.log(FULL)
        return COLOURS[0] if log < 0 else COLOURS[1], min(abs(log), 1.0)


@dataclass(frozen=True)
class GridChart:
    """Ratios as colours and numbers, a row by a column: `squares[row][column]`."""

    direct: ClassVar[bool] = False

    rows: Sequence[str]
    columns: Sequence[str]
    squares: Sequence[Sequence[Square]]

    def height(self, narrow: bool) -> int:
        longest = min(max(map(len, self.columns), default=0), COLUMN_LETTERS)
        return 20 + (58 if narrow else 38) * len(self.rows) + longest * (7 if narrow else 4)

    def keys(self) -> list[Key]:
        return [Key(COLOURS[0], f"{1 / FULL:g} and less"), Key(COLOURS[1], f"{FULL:g} and more")]

    def draw(self, axes: Any, narrow: bool) -> None:
        """The names of columns stand below them; on a phone's screen those of rows stand above them."""
        below = {"xycoords": axes.get_xaxis_transform(), "va": "top", "color": GREY, "rotation_mode": "anchor"}
        turn = {"rotation": 90, "ha": "right", "va": "center"} if narrow else {"rotation": 25, "ha": "right"}
        for column, name in enumerate(self.columns):
            _write(axes, name, (column, 0), (0, -6), COLUMN_LETTERS, **below | turn)
        beside = {"xycoords": axes.get_yaxis_transform(), "color": INK}
        beside |= {"ha": "left", "va": "bottom"} if narrow else {"ha": "right", "va": "center"}
        pixels = (0.9 * NARROW if narrow else 0.75 * WIDE) / max(len(self.columns), 1)  # the width of a square
        for row, (name, squares) in enumerate(zip(self.rows, self.squares, strict=True)):
            _write(axes, name, (0, row - 0.4) if narrow else (0, row), (0, 0) if narrow else (-8, 0), **beside)
            for column, square in enumerate(squares):
                colour, share = square.shade
                height = 0.6 if narrow else 0.92
                axes.barh(row, 0.95, height, column - 0.475, color=colour, alpha=STRONGEST * share, linewidth=0)
                letters = max(map(len, square.text.splitlines()), default=1)
                fontsize = min(max(1.4 * pixels / letters, LEAST_POINTS), 9.0)
                axes.text(column, row, square.text, ha="center", va="center", color=INK, fontsize=fontsize, linespacing=1.0)
        axes.set_xlim(-0.5, len(self.columns) - 0.5)
        axes.set_ylim(len(self.rows) - 0.5, -0.8 if narrow else -0.5)
        axes.set_axis_off()


@dataclass(frozen=True)
class BinChart:
    """A bar for each of k bins. edges (k + 1,) ascending, heights (k,)."""

    direct: ClassVar[bool] = True

    edges: NDArray[np.float64]
    heights: NDArray[np.float64]
    x_title: str
    y_title: str
    log: bool = False

    def height(self, narrow: bool) -> int:
        return 190 if narrow else 220

    def keys(self) -> list[Key]:
        return []

    def draw(self, axes: Any, narrow: bool) -> None:
        axes.stairs(self.heights, self.edges, fill=True, color=COLOURS[0], alpha=0.8, linewidth=0)
        if self.log:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(numticks=5 if narrow else 9))
            axes.xaxis.set_minor_formatter(NullFormatter())
        else:
            axes.xaxis.set_major_locator(_ticks(4 if narrow else 8))
        axes.yaxis.set_major_locator(_ticks(4))
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        axes.set_xlim(self.edges[0], self.edges[-1])
        axes.set_ylim(0, float(self.heights.max()) or 1.0)
        _finish(axes, "y", self.x_title, self.y_title)


def shares_in_bins(values: ArrayLike, x_title: str, of: str) -> BinChart:
    """The share of the values in each of up to MOST_BINS bins, which are equally wide, by their logarithm if they spread far."""
    x = np.asarray(values, np.float64)
    least, most = float(x.min()), float(x.max())
    log = least > 0 and most >= SPREAD * least
    if log:
        edges = np.geomspace(least, most, MOST_BINS + 1)
    elif (x == np.rint(x)).all():
        width = math.ceil((most - least + 1) / MOST_BINS)  # as many whole numbers in each bin
        edges = np.arange(least - 0.5, most + width, width)
    else:
        edges = np.linspace(least, most, MOST_BINS + 1) if least < most else np.array([0.9 * least, 1.1 * most])
    counts, _ = np.histogram(x, np.concatenate([[-np.inf], edges[1:-1], [np.inf]]))  # rounded ends lose no value
    return BinChart(edges, counts / len(x), x_title, f"share of {of}", log)


def counts_over_time(when: ArrayLike, x_title: str, y_title: str) -> BinChart:
    """How many values lie in each of MOST_BINS equal parts of the time from 0 to the last."""
    x = np.asarray(when, np.float64)
    counts, edges = np.histogram(x, bins=MOST_BINS, range=(0.0, float(x.max()) or 1.0))
    return BinChart(edges, counts.astype(np.float64), x_title, y_title)


def mark_style(colour: str, filled: bool) -> dict[str, Any]:
    """Of matplotlib's markers: filled, or hollow."""
    return {"color": colour, "markerfacecolor": colour if filled else PAPER, "markeredgewidth": 1.5, "markersize": 6}


def _mark(axes: Any, x: float, y: float, shape: str, colour: str, filled: bool) -> None:
    axes.plot(x, y, shape, clip_on=False, zorder=3, **mark_style(colour, filled))


def _write(axes: Any, text: str, where: tuple[float, float], offset: tuple[int, int], most: int = LONGEST, **style: Any) -> None:
    """A text beside a place, at an offset in points; lines behind it shine through."""
    behind = {"facecolor": PAPER, "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
    axes.annotate(
        _short(text, most), where, offset, textcoords="offset points", annotation_clip=False, bbox=behind, zorder=2.5, **style
    )


def _ticks(most: int, whole: bool = False) -> Any:
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], integer=whole)


def _finish(axes: Any, grid: str, x_title: str, y_title: str) -> None:
    """Titles, a light grid along one axis, and no box."""
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
