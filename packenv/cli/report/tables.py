"""Tables of the terminal as tables of a page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.table import Table

from packenv.cli.report.page import ANY_TABLE, Rows
from packenv.report.tables import text_of
from packenv.runs.text import number


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
