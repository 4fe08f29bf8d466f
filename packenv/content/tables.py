"""Tables as values: a title, columns and rows of texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from packenv.content.text import number
from packenv.lazy_names import load

ANY_TABLE = 40
"""Pages fold tables of records with more rows."""


class Styled(str):
    """A text with colours for a terminal: `parts` are texts and rich styles."""

    parts: tuple[tuple[str, str], ...]

    def __new__(cls, text: str, style: str) -> Styled:
        return cls.of((text, style))

    @classmethod
    def of(cls, *parts: tuple[str, str]) -> Styled:
        """Join parts, each in its style."""
        styled = str.__new__(cls, "".join(text for text, _ in parts))
        styled.parts = parts
        return styled


class Column(NamedTuple):
    """A column: numbers are right-aligned, texts left-aligned."""

    heading: str
    numeric: bool = False
    of_machine: bool = False  # about the computer that ran it: not for a paper


def numbers(*headings: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(heading, numeric=True) for heading in headings]


@dataclass(frozen=True)
class Table:
    """A table. An empty first cell repeats the name above it.

    folded  a page shows it on request
    edge    a terminal has two blanks before it, not one
    spare   headings of columns that narrow terminals leave out, in order
    """

    title: str
    columns: Sequence[Column]
    rows: list[list[str]] = field(default_factory=list)
    folded: bool = False
    edge: bool = True
    spare: Sequence[str] = ()

    def add(self, *cells: str, style: str = "") -> None:
        """Append a row with a cell for each column, in a style of rich."""
        assert len(cells) == len(self.columns), cells
        self.rows.append([Styled(cell, style) for cell in cells] if style else [*cells])

    def without(self, headings: Collection[str]) -> Table:
        """Return the table without these columns."""
        return self.part([n for n, column in enumerate(self.columns) if column.heading not in headings])

    def part(self, places: Sequence[int]) -> Table:
        """Return the table with only these columns."""
        rows = [[row[n] for n in places] for row in self.rows]
        return replace(self, columns=[self.columns[n] for n in places], rows=rows)


class Tables:
    """Tables below each other, with notes. `str` is their text."""

    def __init__(self, tables: Sequence[Table], notes: Sequence[str] = ()) -> None:
        self.tables, self.notes = [*tables], [*notes]

    def __str__(self) -> str:
        text: str = form("text_of_tables")(self)
        return text

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the tables in GitHub's Markdown."""
        text: str = form("markdown_of_tables")(self)
        return text

    def html(self, title: str = "") -> str:
        """Return the tables in HTML, under an optional title, all texts escaped."""
        text: str = form("html_of_tables")(self, title)
        return text

    def _repr_html_(self) -> str:
        return self.html()


def table_of(title: str, records: Sequence[Mapping[str, Any]], folded: bool = True) -> Table:
    """Return a table of records with equal keys."""
    head = [*records[0]] if records else []
    columns = [Column(key, any(isinstance(record[key], (int, float)) for record in records)) for key in head]
    rows = [[_value(record[key]) for key in head] for record in records]
    return Table(title, columns, rows, folded or len(records) > ANY_TABLE)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if value is None or isinstance(value, (int, float)) else str(value)


def flat(record: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values inside a record by path."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        elif not isinstance(value, (list, tuple)):
            yield f"{above}{key}", value
        elif not any(isinstance(item, (Mapping, list, tuple)) for item in value):
            yield from flat({str(n): item for n, item in enumerate(value)}, f"{above}{key}.")


def form(name: str) -> Any:
    """Return the function of `packenv.report.forms` with this name."""
    return getattr(load("packenv.report.forms"), name)
