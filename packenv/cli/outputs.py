"""Where a command's results go: checked before anything long is run, and written as far as the disk allows."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from packenv.errors import InputError, install_command
from packenv.files import STREAMS, atomic_path, check_writable

if TYPE_CHECKING:
    from packenv.report.page import Report

PAGE = ".html"  # of a report
TAKEN = "packenv.standard_output"
"""Key of a command's `meta`: the result that has standard output for itself, and the stream."""


def take_standard_output(ctx: click.Context, result: str) -> None:
    """From here to the end of the command, what is printed goes to standard error: `result` has standard output for itself."""
    root = ctx.find_root()
    if TAKEN in root.meta:
        raise InputError(f"standard output can have one of {root.meta[TAKEN][0]} and {result}")
    root.meta[TAKEN] = result, sys.stdout
    root.with_resource(contextlib.redirect_stdout(sys.stderr))


def standard_output() -> TextIO:
    """The stream that was taken, or else standard output."""
    stream: TextIO = click.get_current_context().find_root().meta.get(TAKEN, ("", sys.stdout))[1]
    return stream


class ResultFile(click.Path):
    """The type of options that name a file for JSON. With `-`, JSON alone goes to standard output, tables to standard error."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in STREAMS and ctx is not None and not ctx.resilient_parsing:
            take_standard_output(ctx, f"--json {value}")
            return value
        return super().convert(value, param, ctx)


def check_outputs(*paths: str | None, plot: str | None = None, gantt: str | None = None, report: str | None = None) -> None:
    """Raise InputError unless every file can be written, each once, and `plot` and `gantt` are pictures; None: not asked for.

    `report`: a page, which is made by libraries that must be there.
    """
    from packenv.report.plot_style import check_picture

    files = [path for path in (*paths, plot, gantt, report) if path is not None]
    for n, path in enumerate(files):
        if Path(path).absolute() in [Path(other).absolute() for other in files[:n]]:
            raise InputError(f"{path}: two results cannot go to one file")
        check_writable(path)
    for picture in (plot, gantt):
        if picture is not None:
            check_picture(picture, "a plot is one of")
    if report is not None:
        check_report(report)


def check_report(path: str) -> None:
    """Raise InputError unless the path is one of a page, and what makes pages is installed."""
    if Path(path).suffix.lower() != PAGE:
        raise InputError(f"{path}: a report is {PAGE}")
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f"a report needs {error.name}, which is not installed: {install_command('report')}") from None


def write_report(report: Report, path: str) -> None:
    """Write the page, with the command that is running as it was typed, whole or not at all."""
    from packenv.report.page import page_of

    command = shlex.join(["packenv", *(click.get_current_context().find_root().obj or ())])
    with atomic_path(path) as temporary:
        temporary.write_text(page_of(report, command), encoding="utf-8")


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
