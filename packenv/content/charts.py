"""Charts as values: `packenv.report` draws them for wide and narrow screens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # distinct for the colour-blind too
COLOURED = ("bf-js", "vqs", "vqs-bf", "fifo-ff")
"""Policies that have the same colour in every picture."""

MARKERS = {"bf-js": "o", "vqs": "s", "vqs-bf": "D", "fifo-ff": "^"}
GREY, INK, PAPER, LINE = "#555555", "#000000", "#ffffff", "#dde2e8"
VERDICT_MARKERS = (("stable", "o", GREY), ("undecided", "o", "white"), ("unstable", "x", GREY))
"""For legends: verdict, marker, colour of its face."""

DESKTOP_WIDTH, PHONE_WIDTH = 840, 350  # pixels: of a desktop screen, and of a phone's
COLUMN_LETTERS = 44  # of the name of a column, which is aslant or upright
NEAR = 0.075
"""Least distance of names, as a share of a chart's height."""

FULL = 2.0  # a cell with a ratio of FULL, or of 1 / FULL, has the whole colour
MOST_BINS = 30
SPREAD = 30.0  # of the largest to the least value, from which an axis of bins is logarithmic


class Key(NamedTuple):
    """A legend entry: a colour or a mark with its meaning."""

    colour: str
    label: str
    mark: str = "s"  # a marker of matplotlib's
    filled: bool = True


class Guide(NamedTuple):
    """A line across a chart at a value of one axis, with a text."""

    at: float
    label: str


class Chart(Protocol):
    """A drawable chart.

    direct  names stand next to lines if there is room, without a legend
    alone   it has panels, and fills a picture
    """

    direct: ClassVar[bool]
    alone: ClassVar[bool]

    def height(self, narrow: bool) -> int:
        """Return the height in pixels."""
        ...

    def keys(self) -> list[Key]: ...


class Point(NamedTuple):
    x: float
    y: float
    filled: bool
    shape: str = ""  # a marker of matplotlib's


class Line(NamedTuple):
    """A curve with a band from `low` to `high`.

    `leaving`: its name if it leaves the chart at the top.
    """

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
    """Curves over one axis. Above `top` they leave the chart at a triangle.

    across, up  rules at values of the vertical and of the horizontal axis
    layers      the area between `low` and `high` is filled
    steps       each value holds until the next one
    whole       the horizontal axis counts
    percent     the vertical axis has shares
    marks       entries of the legend for points
    bottom      beginning of the vertical axis; above 0 the axis is logarithmic
    """

    direct: ClassVar[bool] = True
    alone: ClassVar[bool] = False

    lines: Sequence[Line]
    x_title: str
    y_title: str
    top: float
    across: Sequence[Guide] = ()
    up: Sequence[Guide] = ()
    layers: bool = False
    steps: bool = False
    whole: bool = False
    percent: bool = False
    tall: int = 300  # pixels
    marks: Sequence[Key] = ()
    bottom: float = 0.0

    def height(self, narrow: bool) -> int:
        return 260 if narrow else self.tall

    def _share(self, y: float) -> float:
        """How high a value stands, as a share of the chart's height."""
        y = min(y, self.top)
        return math.log(max(y, self.bottom) / self.bottom) / math.log(self.top / self.bottom) if self.bottom else y / self.top

    def _at(self, share: float) -> float:
        return float(self.bottom * (self.top / self.bottom) ** share) if self.bottom else share * self.top

    def keys(self) -> list[Key]:
        of_lines = [
            Key(line.colour, f"{line.leaving} (▲: off the chart)" if self.leaves(line) else line.label) for line in self.lines
        ]
        rules = [Key(GREY, rule.label, "_") for rule in self.across] + [Key(GREY, rule.label, "|") for rule in self.up]
        return [*of_lines, *rules, *self.marks]

    def names(self) -> list[tuple[float, Line]]:
        """Return the lines and rules inside the chart with the heights of names.

        Heights are near the ends of lines, and apart.
        """
        rules = [Line(rule.label, GREY, [0.0], [rule.at]) for rule in self.across]
        staying = [line for line in (*self.lines, *rules) if len(line.y) and not self.leaves(line)]
        ends = sorted(((self._share(float(line.y[-1])), line) for line in staying), key=lambda end: end[0])
        heights: list[float] = []
        # Push each name up, away from the one below.
        for end, _ in ends:
            heights.append(max(heights[-1] + NEAR, end) if heights else end)
        for n, height in enumerate(reversed(heights)):  # names above the top move down, and push others
            if heights[-1 - n] > (most := 1 - n * NEAR):
                heights[-1 - n] = min(height, most)
        return [(self._at(height), line) for height, (_, line) in zip(heights, ends, strict=True)]

    def leaves(self, line: Line) -> bool:
        return bool(line.leaving) and len(line.y) > 0 and line.y[-1] > self.top

    def ends(self) -> tuple[float, float]:
        every = [*(x for line in self.lines for x in line.x), *(rule.at for rule in self.up)]
        first, last = float(min(every, default=0.0)), float(max(every, default=1.0))
        return (first - 0.5, last + 0.5) if first == last else (first, last)


class Mark(NamedTuple):
    """A value in a row, as a marker of matplotlib."""

    value: float
    shape: str = "o"
    filled: bool = True


class ChartRow(NamedTuple):
    """A row: an interval with marks, or a heading without both."""

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
    """Rows from top to bottom over one axis with limits `ends`.

    Values beyond are drawn at the end, as triangles.
    log   a logarithmic axis, linear near 0 if it begins there
    bars  solid from the left end of the axis to `low`, pale from there to `high`
    """

    direct: ClassVar[bool] = False
    alone: ClassVar[bool] = False

    entries: Sequence[ChartRow]
    x_title: str
    ends: tuple[float, float]
    rules: Sequence[Guide] = ()
    log: bool = False
    bars: bool = False
    marks: Sequence[Key] = ()  # what the shapes mean

    def height(self, narrow: bool) -> int:
        return 60 + (40 if narrow else 30) * len(self.entries)

    def keys(self) -> list[Key]:
        return [*self.marks, *([Key(GREY, "beyond the axis", ">")] if self.marks and self.beyond else [])]

    @property
    def beyond(self) -> bool:
        """Whether some marks are drawn at the end of the axis."""
        return any(self.within(mark.value) != mark.value for entry in self.entries for mark in entry.marks)

    @property
    def note(self) -> str:
        """Sentence on marks at the end of the axis, or empty."""
        return " Triangles lie beyond the axis." if self.beyond else ""

    def placed(self, entry: ChartRow) -> list[Mark]:
        """Return the marks of a row, moved into the axis."""
        last = self.ends[1]
        return [
            mark if (at := self.within(mark.value)) == mark.value else Mark(at, ">" if at == last else "<", mark.filled)
            for mark in entry.marks
        ]

    def within(self, value: float) -> float:
        return min(max(value, self.ends[0]), self.ends[1])


class Square(NamedTuple):
    """A cell of a GridChart: its ratio, as a colour, and its text."""

    ratio: float | None
    text: str

    @property
    def shade(self) -> tuple[str, float]:
        """Colour and strength by the logarithm of the ratio, up to FULL.

        There is a colour for ratios below 1, and one for ratios above 1.
        """
        if not self.ratio or self.ratio < 0:
            return PAPER, 0.0
        log = math.log(self.ratio) / math.log(FULL)
        return COLOURS[0] if log < 0 else COLOURS[1], min(abs(log), 1.0)


@dataclass(frozen=True)
class GridChart:
    """Ratios as colours and numbers: `squares[row][column]`."""

    direct: ClassVar[bool] = False
    alone: ClassVar[bool] = False

    rows: Sequence[str]
    columns: Sequence[str]
    squares: Sequence[Sequence[Square]]

    def height(self, narrow: bool) -> int:
        longest = min(max(map(len, self.columns), default=0), COLUMN_LETTERS)
        return 20 + (58 if narrow else 38) * len(self.rows) + longest * (7 if narrow else 4)

    def keys(self) -> list[Key]:
        return [Key(COLOURS[0], f"{1 / FULL:g} and less"), Key(COLOURS[1], f"{FULL:g} and more")]


@dataclass(frozen=True)
class BinChart:
    """A bar for each of k bins: edges (k + 1,) ascending, heights (k,)."""

    direct: ClassVar[bool] = True
    alone: ClassVar[bool] = False

    edges: NDArray[np.float64]
    heights: NDArray[np.float64]
    x_title: str
    y_title: str
    log: bool = False

    def height(self, narrow: bool) -> int:
        return 190 if narrow else 220

    def keys(self) -> list[Key]:
        return []


def shares_in_bins(values: ArrayLike, x_title: str, of: str) -> BinChart:
    """Return the share of the values in each of up to MOST_BINS bins.

    Bins have equal width, on a logarithmic scale if values spread far.
    """
    x = np.asarray(values, np.float64)
    least, most = float(x.min()), float(x.max())
    log = least > 0 and most >= SPREAD * least
    if log:
        edges = np.geomspace(least, most, MOST_BINS + 1)
    elif (x == np.rint(x)).all():
        width = math.ceil((most - least + 1) / MOST_BINS)  # equally many whole numbers in each bin
        edges = np.arange(least - 0.5, most + width, width)
    else:
        edges = np.linspace(least, most, MOST_BINS + 1) if least < most else np.array([0.9 * least, 1.1 * most])
    counts, _ = np.histogram(x, np.concatenate([[-np.inf], edges[1:-1], [np.inf]]))  # rounded ends lose no value
    return BinChart(edges, counts / len(x), x_title, f"share of {of}", log)


def counts_over_time(when: ArrayLike, x_title: str, y_title: str) -> BinChart:
    """Count values in MOST_BINS equal parts from 0 to the last."""
    x = np.asarray(when, np.float64)
    counts, edges = np.histogram(x, bins=MOST_BINS, range=(0.0, float(x.max()) or 1.0))
    return BinChart(edges, counts.astype(np.float64), x_title, y_title)


def colours_for(policies: list[str]) -> list[str]:
    """Return a colour for each policy: fixed for COLOURED, free ones otherwise."""
    taken = [name for name in COLOURED if name in policies]
    free = [colour for n, colour in enumerate(COLOURS) if n >= len(COLOURED) or COLOURED[n] not in taken] or list(COLOURS)
    others = [name for name in policies if name not in COLOURED]
    return [COLOURS[COLOURED.index(name)] if name in COLOURED else free[others.index(name) % len(free)] for name in policies]
