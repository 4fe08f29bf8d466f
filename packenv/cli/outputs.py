"""Outputs of a command: options, checks before long runs, and files.

A command declares its outputs (`output_options`), and passes its result to `Outputs.write`. `packenv.report.forms` has the
forms.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from packenv.errors import InputError
from packenv.files import STREAMS, check_ending, check_writable, is_written_through
from packenv.report import forms
from packenv.report.plot_style import PICTURES

if TYPE_CHECKING:
    from packenv.content.showable import Showable

COMMON, OUTPUT, OTHER = "Common", "Output", "Other"
FEW = 12
"""Up to this many options are one list."""

NAME_WIDTH = 24
"""Width of the column of names, in letters; longer names have a line of their own."""


class Option(click.Option):
    """An option with a heading in help; `common`: listed first, under Common."""

    def __init__(self, *args: Any, group: str | None = None, common: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group, self.common = group, common


output_option = functools.partial(click.option, cls=Option, group=OUTPUT)
"""Declares an option that names a file to write."""


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command: in groups if there are many, those without a group under Common."""
    groups: dict[str, list[tuple[str, str]]] = {COMMON: []}
    for param in command.get_params(ctx):
        if not isinstance(param, click.Option) or (record := param.get_help_record(ctx)) is None:
            continue
        group = getattr(param, "group", COMMON) or OTHER
        groups.setdefault(COMMON if getattr(param, "common", False) else group, []).append(record)
    groups[OUTPUT] = groups.pop(OUTPUT, [])  # the last one
    if sum(map(len, groups.values())) <= FEW:
        groups = {"Options": [record for records in groups.values() for record in records]}
    width = min(NAME_WIDTH, max(len(name) for records in groups.values() for name, _ in records))
    for heading, records in groups.items():
        if records:
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, about in records], col_max=NAME_WIDTH)


PAGE = ".html"  # of a report
TABLE = "table"
TAKEN = "packenv.standard_output"
"""Key of a command's `meta`: the result that owns standard output, and the stream."""

FORMAT_HELP = "Form of tables (csv: --json's fields); notes then on standard error."
GANTT_HELP = "Draw first runs as Gantt charts, with waiting tasks (PNG, PDF, SVG)."
REPORT_HELP = "Write question, answer, charts and tables as one HTML page."
WIDTH_HELP = "Width of pictures: 3.5 (inches), 89mm or 8.9cm  [default: a page's]."
UNTITLED_HELP = "Draw no title; several charts in one picture keep small headings."
WIDTH = re.compile(r"(\d+(?:\.\d*)?)\s*(in|cm|mm)?")
PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4}
WIDEST = 60.0  # inches


def claim_standard_output(ctx: click.Context, result: str) -> None:
    """Reserve standard output for `result` until the command ends.

    Other prints go to standard error.
    """
    root = ctx.find_root()
    if TAKEN in root.meta:
        raise InputError(f"standard output takes only one of {root.meta[TAKEN][0]} and {result}")
    root.meta[TAKEN] = result, sys.stdout
    root.with_resource(contextlib.redirect_stdout(sys.stderr))


def standard_output() -> TextIO:
    """Return the reserved stream, or standard output."""
    stream: TextIO = click.get_current_context().find_root().meta.get(TAKEN, ("", sys.stdout))[1]
    return stream


class FileOf(click.Path):
    """The type of options for files to write, with one of these endings."""

    def __init__(self, *endings: str) -> None:
        super().__init__(dir_okay=False)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = str(super().convert(value, param, ctx))
        if self.endings:
            check_ending(path, self.endings, f"{param.opts[0] if param else 'a file'} writes")
        return path


class ResultFile(FileOf):
    """The type of options for JSON files.

    With `-`, only JSON goes to standard output, tables to standard error.
    """

    def __init__(self) -> None:
        super().__init__(".json")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in STREAMS and ctx is not None and not ctx.resilient_parsing:
            claim_standard_output(ctx, f"--json {value}")
            return value
        return super().convert(value, param, ctx)


class Format(click.Choice):  # type: ignore[type-arg]  # generic in some versions of click only
    """The type of `--format`. All but `table` reserve standard output."""

    def __init__(self) -> None:
        super().__init__((TABLE, *forms.FORMATS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        chosen = str(super().convert(value, param, ctx))
        if chosen != TABLE and ctx is not None and not ctx.resilient_parsing:
            claim_standard_output(ctx, f"--format {chosen}")
        return chosen


class Width(click.ParamType):  # type: ignore[type-arg]
    """The type of `--width`: inches."""

    name = "width"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = WIDTH.fullmatch(value.strip())
        inches = float(match[1]) / PER_INCH[match[2] or "in"] if match else 0.0
        if not 1 <= inches <= WIDEST:
            self.fail(f"{value!r} is not a width of 1 to {WIDEST:g} inches, such as 3.5, 89mm or 8.9cm.", param, ctx)
        return inches


@dataclass(frozen=True)
class Outputs:
    """The requested outputs of a command."""

    form: str = TABLE
    json_path: str | None = None
    plot: str | None = None
    gantt: str | None = None
    report: str | None = None
    picture_width: float | None = None  # inches
    titled: bool = True

    def check(self, *others: str | None) -> None:
        """Raise InputError unless each file can be written, in its form.

        `others`: additional files. No file may be named twice.
        """
        check_files(*others, self.json_path, self.plot, self.gantt, self.report)
        for picture in (self.plot, self.gantt):
            if picture is not None:
                check_ending(picture, PICTURES, "a plot is one of")
        if self.plot is None and self.gantt is None and (self.picture_width is not None or not self.titled):
            raise InputError("a width and --no-title need a picture: give --plot too")
        if self.report is not None:
            check_ending(self.report, (PAGE,), "a report is")

    def show(self, result: Showable) -> None:
        """Print tables and notes, or the requested format.

        A note `HEADING: …` is left out with its column.
        """
        from packenv.cli.tables import print_notes, print_table

        omitted: set[str] = set()
        if self.form != TABLE:
            standard_output().write(forms.FORMATS[self.form](result))
        else:
            for table in result.tables():
                omitted.update(print_table(table))
        print_notes(note for note in result.footnotes() if note.partition(": ")[0] not in omitted)

    def write(
        self,
        result: Showable,
        *others: tuple[str | None, Callable[[str], object]],
        charts: tuple[Any, ...] = (),
        notices: Sequence[str] = (),
        failed: Sequence[InputError] = (),
    ) -> None:
        """Write all requested files, and `others`.

        charts   arguments of `Showable.charts` for `--plot`. For `--gantt` they are "schedule"
        notices  on the page, below the answer
        Raises InputError at the end, as `write_all` does.
        """
        command = shlex.join(["packenv", *(click.get_current_context().find_root().obj or ())])
        output = forms.Output(command, notices, charts, self.picture_width, self.titled)
        write_all(
            (self.json_path, lambda path: forms.write_plain(result, path)),
            (self.plot, lambda path: forms.save(result, path, output)),
            (self.gantt, lambda path: forms.save(result, path, output._replace(charts=("schedule",)))),
            (self.report, lambda path: forms.save(result, path, output)),
            *others,
            failed=failed,
        )


JSON = ResultFile()
FILE = FileOf()


def output_options(
    json: str, form: bool = True, plot: str | None = None, gantt: bool = False, report: bool = False, width: str = "--width"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of a command's outputs, passed as `outputs: Outputs`.

    json, plot  content, for help. Without a text there is no such option
    width       the option for pictures' width
    """
    options = [output_option("--format", "form", type=Format(), default=TABLE, show_default=True, help=FORMAT_HELP)] * form
    options += [output_option("--json", "json_path", type=JSON, common=True, help=f"{json} as JSON (-: standard output).")]
    options += [output_option("--plot", type=FILE, common=True, help=f"{plot} (PNG, PDF, SVG).")] if plot else []
    options += [output_option("--gantt", type=FILE, help=GANTT_HELP)] * gantt
    options += [output_option("--report", metavar="FILE.html", type=FILE, common=True, help=REPORT_HELP)] * report
    names = ["form"] * form + ["json_path"] + ["plot"] * bool(plot) + ["gantt"] * gantt + ["report"] * report
    names += ["picture_width", "titled"] * bool(plot)

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, **arguments: Any) -> Any:
            outputs = Outputs(**{name: arguments.pop(name) for name in names})
            return command(*args, outputs=outputs, **arguments)

        with_options: Callable[..., Any] = picture_options(width)(run) if plot else run
        for option in reversed(options):
            with_options = option(with_options)
        return with_options

    return add


def picture_options(width: str = "--width") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options for pictures: `picture_width` in inches, and `titled`.

    `width`: name of the option for the width.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        untitled = output_option("--no-title", "titled", flag_value=False, default=True, help=UNTITLED_HELP)
        return output_option(width, "picture_width", type=Width(), help=WIDTH_HELP)(untitled(command))

    return add


def check_files(*paths: str | None) -> None:
    """Raise InputError unless every file can be written.

    Each may be named once, and not be an input. None: not requested.
    """
    files = [path for path in paths if path is not None]
    read = None if all(is_written_through(Path(path)) for path in files) else _files_read(files)
    for n, path in enumerate(files):
        if any(_is_same(path, other) for other in files[:n]):
            raise InputError(f"{path}: two results cannot go to one file: name another")
        if read is not None and not is_written_through(Path(path)) and any(_is_same(path, other) for other in read):
            raise InputError(f"{path} is the input: write the results to another file")
        check_writable(path)


def _is_same(path: str, other: str) -> bool:
    """Return whether both are or would be one file, also by links."""
    with contextlib.suppress(OSError):
        return Path(path).samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _files_read(written: Sequence[str]) -> list[str]:
    """Return the files named in the command's words, except outputs.

    Such as a table, `replay:FILE`, `rule.py:priority`, `agent:FILE` (two files), WORKLOAD@servers=FILE.
    """
    context = click.get_current_context(silent=True)
    texts = [*_texts([*context.params.values()])] if context is not None else []
    for path in written:
        if path in texts:
            texts.remove(path)
    parts = {part for word in texts for part in (word, word.rpartition(":")[0], *re.split("[@:,=]", word)) if part}
    named = [path for part in parts for path in (part, f"{part}.json", f"{part}.safetensors")]
    return [path for path in named if os.path.isfile(path)]  # noqa: PTH113 - a word may be too long for a path


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def write_all(*results: tuple[str | None, Callable[[str], object]], failed: Sequence[InputError] = ()) -> None:
    """Write each result that has a path, also after failures.

    Raises the last InputError at the end, and prints the others. `failed`: earlier failures.
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
