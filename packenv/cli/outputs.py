"""Where a command's results go: checked before anything long is run, and written as far as the disk allows."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from packenv.errors import InputError
from packenv.files import STREAMS, check_writable
from packenv.runs.plot_style import check_picture

TABLE_WIDTH = 150  # columns


class ResultFile(click.Path):
    """The type of options that name a file for JSON. With `-`, JSON alone goes to standard output, tables to standard error."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in STREAMS and ctx is not None:
            ctx.find_root().with_resource(contextlib.redirect_stdout(sys.stderr))
            return value
        return super().convert(value, param, ctx)


def check_outputs(*paths: str | None, plot: str | None = None) -> None:
    """Raise InputError unless every file can be written, each once, and `plot` has a picture's suffix; None: not asked for."""
    asked = [path for path in (*paths, plot) if path is not None]
    for n, path in enumerate(asked):
        if Path(path).absolute() in [Path(other).absolute() for other in asked[:n]]:
            raise InputError(f"{path}: two results cannot go to one file")
        check_writable(path)
    if plot is not None:
        check_picture(plot, "a plot is one of")


def write_all(*results: tuple[str | None, Callable[[str], object]], failed: Sequence[InputError] = ()) -> None:
    """Write each result that has a path. One that cannot be written does not stop the others: InputError at the end.

    All failures but the last are printed, a line each. `failed`: what could not be written before.
    """
    problems = [*failed]
    for path, write in results:
        if path is not None:
            try:
                write(path)
            except InputError as error:
                problems.append(error)
    for problem in problems[:-1]:
        print(f"packenv: {problem}", file=sys.stderr)
    if problems:
        raise problems[-1]


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
