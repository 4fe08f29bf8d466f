"""What the reproduction of a figure finds: tables, claims that are shown or not shown, and a picture."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packenv.files import atomic_path
from packenv.report.plot_style import IN_A_FILE, LETTER, POINTS, folded, remove_titles
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import Interval, certainly_above, certainly_below

if TYPE_CHECKING:  # they bring the readers of all formats with them
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from packenv.workloads.traces import Trace

Row = dict[str, Any]
DPI = 120
LETTERS = 6.0  # points, of the smallest letters in a picture whose width is given
LINE_SPACING = 1.4  # of lines of these, in terms of their height


class Claim(NamedTuple):
    """A claim of the paper, whether the numbers measured show it (`shown`), and those numbers in words (`figures`).

    `direction`: they show what the claim says is better, but not by how much (`claim_with_number`).
    """

    figure: str
    claim: str
    shown: bool
    figures: str
    direction: bool = False

    @property
    def verdict(self) -> str:
        return "shown" if self.shown else "direction only" if self.direction else "not shown"

    def __str__(self) -> str:
        return f"{self.figure:<6} {self.verdict:<9}  {self.claim}: {self.figures}"

    def record(self) -> Row:
        return {"figure": self.figure, "claim": self.claim, "verdict": self.verdict, "figures": self.figures}


def claim_with_number(figure: str, claim: str, measured: Interval, published: float, figures: str, none: float = 1.0) -> Claim:
    """A claim of a number: shown if the interval contains it and lies on its side of `none`, the value without any effect;
    direction only if it lies on that side, but elsewhere. A single seed has no interval, and shows the direction at most."""
    on_its_side = (certainly_below if published < none else certainly_above)(measured, none)
    contained = measured.low is not None and measured.high is not None and measured.low <= published <= measured.high
    return Claim(figure, claim, on_its_side and contained, figures, direction=on_its_side)


@dataclass(frozen=True)
class Settings:
    """How long, how often and on which data a figure is run; None: the figure's own default."""

    seeds: int | None = None
    slots: int | None = None
    quick: bool = False
    trace: Trace | None = None
    trace_name: str = ""
    folder: str | None = None  # of logs
    servers: int | None = None
    runs: RunOptions = field(default_factory=RunOptions)

    def seeds_or(self, usual: int, quick: int) -> int:
        """As many as asked for, or the figure's own number."""
        return self.seeds or (quick if self.quick else usual)

    def slots_or(self, usual: int) -> int:
        """As many as asked for, or the figure's own number; a tenth of it if quick."""
        return self.slots or (usual // 10 if self.quick else usual)

    @property
    def remark(self) -> str:
        """What a title says of a shortened run."""
        return " (quick: shorter runs, fewer seeds)" if self.quick else ""


@dataclass(frozen=True)
class Finding:
    """A reproduced figure.

    `tables`: rows by what is added to the figure's name for their file ("" for the figure's own). `draw` makes the
    picture. `compare` adds the claims that take other figures too.
    """

    figure: str
    title: str
    claims: list[Claim]
    tables: dict[str, list[Row]]
    draw: Callable[[], Figure]
    notes: list[str] = field(default_factory=list)
    values: Any = None  # numbers that another figure compares itself with
    compare: Callable[[Finding, Mapping[str, Finding]], Finding] | None = None

    def beside(self, earlier: Mapping[str, Finding]) -> Finding:
        """With the claims that compare it with figures reproduced before it, if it has any."""
        return self if self.compare is None else self.compare(self, earlier)

    def save_picture(self, path: Path, width: float | None = None, titled: bool = True) -> None:
        """Write the picture as its ending says: PNG, PDF or SVG.

        width   inches, to which all is drawn to scale, letters no smaller than LETTERS; None: as `draw` has it
        titled  whether the title stands above it; without it headings are small, and one chart alone has none
        """
        from matplotlib import rc_context

        figure = self.draw()
        if not titled:
            remove_titles(figure)
        if width is not None:
            _draw_to_width(figure, width)
        with rc_context(IN_A_FILE):
            figure.savefig(path, dpi=DPI)

    def files(self, form: str = "png") -> list[str]:
        """Names of the picture, the tables and the claims."""
        return [f"{self.figure}.{form}", *(f"{self.figure}{part}.csv" for part in self.tables), f"{self.figure}_claims.csv"]


def _draw_to_width(figure: Figure, width: float) -> None:
    """All to scale, but letters no smaller than LETTERS: titles and names of axes get more lines, and legends below more rows,
    for which the picture grows. The legend of a chart that is alone goes below it, where it covers no curve."""
    from matplotlib.text import Text

    scale, rows = width / figure.get_figwidth(), 0
    for text in figure.findobj(Text):
        text.set_fontsize(max(scale * float(text.get_fontsize()), LETTERS))
    legends = [(part, legend) for part in (figure, *figure.subfigs) for legend in part.legends]
    if len(figure.axes) == 1 and (inside := figure.axes[0].get_legend()) is not None:
        legends.append((figure, inside))
    for part, legend in legends:
        title, labels = legend.get_title().get_text(), [text.get_text() for text in legend.get_texts()]
        entry = (max(map(len, labels)) * LETTER + 4) * LETTERS / POINTS  # inches; the mark and gaps take four letters
        ncols = max(1, min(len(labels), int(width / entry)))
        rows += math.ceil(len(labels) / ncols)
        legend.remove()
        part.legend(
            [*filter(None, legend.legend_handles)], labels, loc="outside lower center", ncols=ncols, fontsize=LETTERS,
            title=title or None, title_fontsize=LETTERS, frameon=False,
            columnspacing=1.2, handletextpad=0.5, handlelength=1.6,
        )  # fmt: skip
    texts = [(part._suptitle, width) for part in (figure, *figure.subfigs)]  # type: ignore[attr-defined]
    rows += sum(_fold(text, room) for text, room in texts if text is not None)
    figure.set_size_inches(width, scale * figure.get_figheight() + rows * LINE_SPACING * LETTERS / POINTS)
    figure.draw_without_rendering()  # so that the places of axes are known
    rows = 0
    for axes in figure.axes:
        place = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())  # inches
        room = width - place.x0 if len(figure.axes) == 1 else place.width
        titles: list[Text] = [axes.title, axes._left_title, axes._right_title]  # type: ignore[attr-defined]
        rows += sum(_fold(title, room) for title in titles)
        rows += _fold(axes.xaxis.label, place.width)
        _fold(axes.yaxis.label, place.height)
    figure.set_size_inches(width, figure.get_figheight() + rows * LINE_SPACING * LETTERS / POINTS)


def _fold(text: Text, room: float) -> int:
    """Fold a text into lines of so many inches; how many more there are."""
    before = text.get_text()
    text.set_text(folded(before, room, float(text.get_fontsize())) if before else "")
    return text.get_text().count("\n") - before.count("\n")


def columns(name: str, measured: Interval) -> Row:
    """A mean and the ends of its interval as three columns: NAME, NAME_low, NAME_high."""
    return {name: measured.mean, f"{name}_low": measured.low, f"{name}_high": measured.high}


def write_finding(finding: Finding, folder: Path, form: str = "png", width: float | None = None, titled: bool = True) -> None:
    """The picture (`save_picture`), the tables and the claims of a figure: all of them appear, or none."""
    with ExitStack() as whole:
        picture, *tables, claims = [whole.enter_context(atomic_path(folder / name)) for name in finding.files(form)]
        finding.save_picture(picture, width, titled)
        for path, rows in zip(tables, finding.tables.values(), strict=True):
            write_csv(path, rows)
        write_csv(claims, [claim.record() for claim in finding.claims])


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write rows that have the same columns; floats with eight digits, None as nothing."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.8g}" if isinstance(value, float) else value for key, value in row.items()})
