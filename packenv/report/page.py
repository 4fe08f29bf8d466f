"""A report's content, whatever the command, and its page: one file that loads nothing and runs no script."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table

from packenv.report.tables import text_of
from packenv.runs.text import number

if TYPE_CHECKING:
    from packenv.report.charts import Chart

HERE = Path(__file__).parent
FOLDED = 24  # letters of a cell
ANY_TABLE = 40
"""Rows of a table above which it is folded."""

SIGNS = {"s": "■", "|": "│", "D": "◆", "X": "✚"}
"""Of marks in a legend."""


class Figure(NamedTuple):
    """A chart. `finding` says in a sentence what is to be seen; it is also what those hear who see nothing."""

    heading: str
    finding: str
    chart: Chart
    small: bool = False  # two and more of them stand side by side


class Image(NamedTuple):
    """A picture of pixels."""

    heading: str
    finding: str
    png: bytes


class Rows(NamedTuple):
    """A table. The cells of the first column name their rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]  # of each column
    folded: bool = False  # shown when it is asked for

    def classes(self) -> list[str]:
        """Of each column, for the style sheet: numbers stand at the right, long texts are folded."""
        columns = zip(self.head, *self.rows, strict=True)
        long = (max(map(len, column[1:]), default=0) > FOLDED for column in columns)
        return ["number" if number else "long" if is_long else "" for number, is_long in zip(self.numeric, long, strict=True)]


class Section(NamedTuple):
    """A heading and what follows it: figures, small ones side by side, then notes, then tables."""

    heading: str
    figures: Sequence[Figure | Image] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Rows] = ()


@dataclass(frozen=True)
class Report:
    """What a page says: the question, the answer, what was asked in detail, and the sections."""

    title: str
    answer: str
    asked: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    notes: Sequence[str] = field(default_factory=tuple)  # below the answer


def page_of(report: Report, command: str) -> str:
    """The page as HTML. All texts are escaped; the same report gives the same page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from packenv.report.pictures import colour_of_the_page, svg_of  # bring matplotlib with them

    made = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["drawn"] = lambda figure, narrow, name: Markup(svg_of(figure.chart, narrow, name))
    made.filters["colour"] = colour_of_the_page
    made.filters["sign"] = lambda key: SIGNS.get(key.mark, "●") if key.filled else "○"
    made.filters["png"] = lambda png: f"data:image/png;base64,{base64.b64encode(png).decode()}"
    made.tests["chart"] = lambda figure: isinstance(figure, Figure)
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))  # our own
    version = metadata.version("packenv")
    return made.get_template("page.html.jinja").render(report=report, command=command, style=style, version=version)


def rows_of(table: Table, caption: str = "", without: Collection[str] = ()) -> Rows:
    """All columns but some. The caption is the table's title, or the one that is given.

    The terminal leaves out what a row shares with the one above in its first column; a page, which may be heard, does not.
    """
    columns = [column for column in table.columns if text_of(column.header) not in without]
    rows = [[*row] for row in zip(*([text_of(cell) for cell in column.cells] for column in columns), strict=True)]
    for above, row in pairwise(rows):
        row[0] = row[0] or above[0]
    head = [text_of(column.header) for column in columns]
    numeric = [column.justify == "right" for column in columns]
    return Rows(caption or text_of(table.title or ""), head, rows, numeric)


def rows_from(caption: str, records: Sequence[Mapping[str, Any]], folded: bool = True) -> Rows:
    """A table of records that have the same keys."""
    head = [*records[0]] if records else []
    numeric = [any(isinstance(record[key], (int, float)) for record in records) for key in head]
    cells = [[_shown(record[key]) for key in head] for record in records]
    return Rows(caption, head, cells, numeric, folded or len(records) > ANY_TABLE)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if value is None or isinstance(value, (int, float)) else str(value)
