"""Tables as values: a title, columns and rows of texts, which a terminal, Markdown, a notebook and a page show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from rich import table as rich_table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.text import Text

from packenv.runs.text import number

ENDLESS = 10_000  # columns of a terminal
FOLDED = 24  # letters of a cell
ANY_TABLE = 40
"""Rows of a table of records above which a page folds it."""

Cell = str | Text
"""A text, with its colours if it has any."""


class Column(NamedTuple):
    """Numbers stand at the right, texts at the left."""

    heading: str
    numeric: bool = False


def numbers(*headings: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(heading, numeric=True) for heading in headings]


@dataclass(frozen=True)
class Table:
    """The cells of the first column name their rows; an empty one stands for the name above it.

    folded  a page shows it when it is asked for
    edge    a terminal has two blanks before it, not one
    """

    title: str
    columns: Sequence[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    folded: bool = False
    edge: bool = True

    def add(self, *cells: Cell, style: str = "") -> None:
        """Append a row, a cell for each column, in a style of rich's."""
        assert len(cells) == len(self.columns), cells
        self.rows.append([Text(str(cell), style) for cell in cells] if style else [*cells])

    def without(self, headings: Collection[str]) -> Table:
        """All columns but these."""
        return self.part([n for n, column in enumerate(self.columns) if column.heading not in headings])

    def part(self, places: Sequence[int]) -> Table:
        """Some columns."""
        rows = [[row[n] for n in places] for row in self.rows]
        return replace(self, columns=[self.columns[n] for n in places], rows=rows)

    def rich(self, titled: bool = True) -> rich_table.Table:
        """For a terminal."""
        title = Text(self.title) if self.title and titled else None
        drawn = rich_table.Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=self.edge)
        for column in self.columns:
            drawn.add_column(Text(column.heading), justify="right" if column.numeric else "left", no_wrap=True)
        for row in self.rows:
            drawn.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
        return drawn

    def markdown(self) -> str:
        """In GitHub's Markdown, its title above it."""
        lines = [[column.heading for column in self.columns], *([str(cell) for cell in row] for row in self.rows)]
        head, *rows = [f"| {' | '.join(_on_a_line(cell) for cell in line)} |" for line in lines]
        rule = "".join("|--:" if column.numeric else "|---" for column in self.columns) + "|"
        return "\n".join([*([f"{_on_a_line(self.title)}\n"] if self.title else []), head, rule, *rows])

    def html(self) -> str:
        """In HTML, its title above it. All texts are escaped."""
        head = "".join(f"<th>{escape(column.heading)}</th>" for column in self.columns)
        sides = [f" style='text-align:{'right' if column.numeric else 'left'}'" for column in self.columns]
        cells = (zip(sides, map(str, row), strict=True) for row in self.rows)
        body = "".join(f"<tr>{''.join(f'<td{side}>{_lines(cell)}</td>' for side, cell in row)}</tr>" for row in cells)
        title = f"<caption style='text-align:left'>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def named_rows(self) -> list[list[str]]:
        """Plain cells; a page, which may be heard, repeats the name that a row shares with the one above it."""
        rows = [[*map(str, row)] for row in self.rows]
        for above, row in pairwise(rows):
            row[0] = row[0] or above[0]
        return rows

    def classes(self) -> list[str]:
        """Of each column, for a page's style sheet: numbers stand at the right, long texts are folded."""
        cells = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        long = (max((len(str(cell)) for cell in column), default=0) > FOLDED for column in cells)
        return ["number" if column.numeric else "long" if wide else "" for column, wide in zip(self.columns, long, strict=True)]


class Tables:
    """Tables one below the other, with all of their columns, and lines on what their marks mean. `str` is their text."""

    def __init__(self, tables: Sequence[Table], notes: Sequence[str] = ()) -> None:
        self.tables, self.notes = [*tables], [*notes]

    def __str__(self) -> str:
        console = Console(width=ENDLESS, color_system=None)
        with console.capture() as captured:
            for table in self.tables:
                console.print(table.rich())
        return "\n".join([*(line.rstrip() for line in captured.get().rstrip().splitlines()), *self.notes])

    __repr__ = __str__

    def markdown(self) -> str:
        """In GitHub's Markdown."""
        return "\n\n".join([*(table.markdown() for table in self.tables), *self.notes])

    def html(self, title: str) -> str:
        """The tables under a title, which is escaped."""
        return f"<p>{escape(title)}</p>{self._repr_html_()}"

    def _repr_html_(self) -> str:
        return "".join([*(table.html() for table in self.tables), *(f"<p>{escape(note)}</p>" for note in self.notes)])


def table_of(title: str, records: Sequence[Mapping[str, Any]], folded: bool = True) -> Table:
    """A table of records that have the same keys."""
    head = [*records[0]] if records else []
    columns = [Column(key, any(isinstance(record[key], (int, float)) for record in records)) for key in head]
    rows: list[list[Cell]] = [[_value(record[key]) for key in head] for record in records]
    return Table(title, columns, rows, folded or len(records) > ANY_TABLE)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if value is None or isinstance(value, (int, float)) else str(value)


def _lines(cell: str) -> str:
    """A cell in HTML."""
    return escape(cell).replace("\n", "<br>")


def _on_a_line(cell: str) -> str:
    """A cell on one line of Markdown."""
    return cell.replace("|", "\\|").replace("\n", "<br>")
