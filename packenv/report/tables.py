"""Tables of rich as text, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

ENDLESS = 10_000  # columns of a terminal


class Tables:
    """Tables one below the other, with all of their columns, and lines on what their marks mean. `str` is their text."""

    def __init__(self, tables: Sequence[Table], notes: Sequence[str] = ()) -> None:
        self.tables, self.notes = [*tables], [*notes]

    def __str__(self) -> str:
        console = Console(width=ENDLESS, color_system=None)
        with console.capture() as captured:
            for table in self.tables:
                console.print(table)
        return "\n".join([*(line.rstrip() for line in captured.get().rstrip().splitlines()), *self.notes])

    __repr__ = __str__

    def markdown(self) -> str:
        """In GitHub's Markdown."""
        return "\n\n".join([*map(markdown_of, self.tables), *self.notes])

    def _repr_html_(self) -> str:
        return "".join([*map(html_of, self.tables), *(f"<p>{escape(note)}</p>" for note in self.notes)])


def html_of(table: Table) -> str:
    """The table in HTML, its title above it. All texts are escaped."""
    head = "".join(f"<th>{escape(text_of(column.header))}</th>" for column in table.columns)
    side = [f" style='text-align:{'right' if column.justify == 'right' else 'left'}'" for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td{where}>{escape(text_of(cell))}</td>" for where, cell in zip(side, row, strict=True)) + "</tr>"
        for row in rows
    )
    title = "" if table.title is None else f"<caption style='text-align:left'>{escape(text_of(table.title))}</caption>"
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_of(table: Table) -> str:
    """The table in GitHub's Markdown, all of its columns, its title above it."""
    columns = [[plain(column.header), *map(plain, column.cells)] for column in table.columns]
    head, *rows = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    line = "".join("|--:" if column.justify == "right" else "|---" for column in table.columns) + "|"
    return "\n".join([*([f"{plain(table.title)}\n"] if table.title else []), head, line, *rows])


def plain(cell: Any) -> str:
    """A cell without colours, on one line of Markdown."""
    return text_of(cell).replace("|", "\\|").replace("\n", "<br>")


def text_of(cell: Any) -> str:
    """A cell without colours."""
    return (cell if isinstance(cell, Text) else Text.from_markup(str(cell))).plain
