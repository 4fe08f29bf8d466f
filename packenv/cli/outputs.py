"""Where a command's results go: checked before anything long is run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from packenv.errors import InputError
from packenv.runs.plot_style import check_picture

TABLE_WIDTH = 150  # columns


def check_outputs(*paths: str | None, plot: str | None = None) -> None:
    """Raise InputError unless the folder of every file exists and `plot` has a picture's suffix; None: not asked for."""
    for path in (*paths, plot):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise InputError(f"{path}: its folder does not exist")
    if plot is not None:
        check_picture(plot, "a plot is one of")


def wide_console(*tables: Table) -> Console:
    """Standard output, at least as wide as the tables: a narrow terminal folds lines, and numbers are never cut short."""
    console, endless = Console(), Console(width=10_000)
    return Console(width=max(console.width, TABLE_WIDTH, *(endless.measure(table).maximum for table in tables), 0))


def print_table(table: Table, spare: Sequence[str] = ()) -> None:
    """Print a table whose cells are never cut, to a pipe or file as wide as it is.

    On a narrower terminal, or with COLUMNS set, columns of `spare` are left out, the first ones first, until the rest fits;
    a line says which.
    """
    console, endless, left_out = Console(), Console(width=10_000), []
    limited = console.is_terminal or "COLUMNS" in os.environ
    for name in spare:
        if not limited or endless.measure(table).maximum <= console.width:
            break
        for column in [column for column in table.columns if column.header == name]:
            table.columns.remove(column)
            left_out.append(name)
    Console(width=max(console.width, endless.measure(table).maximum)).print(table)
    if left_out:
        console.print(f"left out for want of width: {', '.join(left_out)} (--json has them)", highlight=False)
