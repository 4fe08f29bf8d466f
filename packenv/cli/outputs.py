"""Where a command's results go: checked before anything long is run."""

from __future__ import annotations

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
