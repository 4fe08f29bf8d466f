"""Tables as text for a terminal, Markdown, HTML, LaTeX and CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import compress, pairwise
from typing import Any, TextIO

from rich import table as rich_table
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.text import Text

from packenv.content.tables import Styled, Table, Tables, flat

ENDLESS = 10_000  # columns of a terminal
FOLDED = 24  # letters of a cell
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
    | {"±": r"$\pm$", "–": "--", "−": "$-$", "ρ": r"$\rho$", "β": r"$\beta$", "α": r"$\alpha$", "×": r"$\times$", "≥": r"$\geq$"}
    | {"≤": r"$\leq$", "∞": r"$\infty$", "½": r"$\frac{1}{2}$", "⅔": r"$\frac{2}{3}$", "…": r"\ldots{}", "\n": " ", "\u202f": "~"}
)
"""Signs of a cell in LaTeX."""


def rich_of(table: Table, titled: bool = True) -> rich_table.Table:
    """Return the table for a terminal."""
    title = Text(table.title) if table.title and titled else None
    drawn = rich_table.Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=table.edge)
    for column in table.columns:
        drawn.add_column(Text(column.heading), justify="right" if column.numeric else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*map(coloured, row))
    return drawn


def coloured(text: str) -> Text:
    """Return a text for a terminal, with its colours."""
    return Text.assemble(*text.parts) if isinstance(text, Styled) else Text(text)


def text_of(tables: Tables) -> str:
    """Return tables and notes as text, with all columns."""
    console = Console(width=ENDLESS, color_system=None)
    with console.capture() as captured:
        for table in tables.tables:
            console.print(rich_of(table))
    return "\n".join([*(line.rstrip() for line in captured.get().rstrip().splitlines()), *tables.notes])


def markdown_of(table: Table) -> str:
    """Return the table in GitHub's Markdown, below its title."""
    lines = [[column.heading for column in table.columns], *table.rows]
    head, *rows = [f"| {' | '.join(_on_a_line(cell) for cell in line)} |" for line in lines]
    rule = "".join("|--:" if column.numeric else "|---" for column in table.columns) + "|"
    return "\n".join([*([f"{_on_a_line(table.title)}\n"] if table.title else []), head, rule, *rows])


def latex_of(table: Table) -> str:
    """Return the table as a `tabular` for LaTeX's package booktabs, without speeds of the computer.

    Its title is a comment above it.
    """
    kept = [not column.of_machine for column in table.columns]
    lines = [[*compress(line, kept)] for line in ([column.heading for column in table.columns], *table.rows)]
    head, *rows = [f"{' & '.join(str(cell).translate(LATEX) for cell in line)} \\\\" for line in lines]
    sides = "".join("r" if column.numeric else "l" for column in compress(table.columns, kept))
    title = [f"% {' '.join(table.title.split())}"] if table.title else []
    return "\n".join(
        [*title, f"\\begin{{tabular}}{{{sides}}}", "\\toprule", head, "\\midrule", *rows, "\\bottomrule", "\\end{tabular}"]
    )


def html_of(table: Table) -> str:
    """Return the table in HTML, below its title, all texts escaped."""
    head = "".join(f"<th>{escape(column.heading)}</th>" for column in table.columns)
    sides = [f" style='text-align:{'right' if column.numeric else 'left'}'" for column in table.columns]
    cells = (zip(sides, row, strict=True) for row in table.rows)
    body = "".join(f"<tr>{''.join(f'<td{side}>{_lines(cell)}</td>' for side, cell in row)}</tr>" for row in cells)
    title = f"<caption style='text-align:left'>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def write_csv(rows: Sequence[Mapping[str, Any]], stream: TextIO) -> None:
    """Write a line for each record, with a column for each field.

    Nested fields have columns such as `utilisation.0`, `interval.mean_queue`. Lists of records have none. None is an empty
    cell. A field that is nested in another row has that row's columns.
    """
    plain = [dict(flat(row)) for row in rows]
    names = [*dict.fromkeys(name for row in plain for name in row)]
    inside = {name: [other for other in names if other.startswith(f"{name}.")] for name in names}
    columns = dict.fromkeys(column for name in names for column in inside[name] or [name])
    writer = csv.DictWriter(stream, [*columns], extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain)


def named_rows(table: Table) -> list[list[str]]:
    """Return plain cells, with the name above in empty first cells.

    Pages may be read aloud, so they repeat names.
    """
    rows = [[*map(str, row)] for row in table.rows]
    for above, row in pairwise(rows):
        row[0] = row[0] or above[0]
    return rows


def classes(table: Table) -> list[str]:
    """Return the style class of each column: number, long or none."""
    cells: Iterable[Sequence[str]] = zip(*table.rows, strict=True) if table.rows else [()] * len(table.columns)
    long = (max((len(cell) for cell in column), default=0) > FOLDED for column in cells)
    return ["number" if column.numeric else "long" if wide else "" for column, wide in zip(table.columns, long, strict=True)]


def _lines(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")


def _on_a_line(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", "<br>")
