"""Where results go, looked at before anything long is run: the terminal, files, and pictures."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from packenv.errors import InputError

PICTURES = (".png", ".pdf", ".svg")
TABLE_WIDTH = 150  # columns


def check_outputs(*paths: str | None, plot: str | None = None) -> None:
    """Raise InputError unless the folder of every file exists, and `plot` has the suffix of a picture; None: not asked for."""
    for path in (*paths, plot):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise InputError(f"{path}: its folder does not exist")
    if plot is not None:
        check_picture(plot, "a plot is one of")


def check_picture(path: str | Path, what: str) -> None:
    """Raise InputError, which says `what` a picture is, unless the file's suffix is a picture's."""
    if Path(path).suffix.lower() not in PICTURES:
        raise InputError(f"{path}: {what} {', '.join(PICTURES)}")


def wide_console(*tables: Table) -> Console:
    """Standard output, wide enough for tables: a narrow terminal folds their lines, numbers are never cut short."""
    console, endless = Console(), Console(width=10_000)
    return Console(width=max(console.width, TABLE_WIDTH, *(endless.measure(table).maximum for table in tables), 0))


def counted(n: int, what: str) -> str:
    """`1 server`, `2 servers`: for a line that people read."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
