"""A report's content, whatever the command, and its page: one file that loads nothing and runs no script."""

from __future__ import annotations

import base64
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from packenv.files import atomic_path

if TYPE_CHECKING:  # markupsafe comes with Jinja2, an extra
    from packenv.cli.report.drawing import Chart, Key

HERE = Path(__file__).parent
FOLDED = 24  # letters of a cell
ANY_TABLE = 40
"""Rows of a table above which it is folded."""


class Figure(NamedTuple):
    """A chart. `finding` says in a sentence what is to be seen; it is also what those hear who see nothing."""

    heading: str
    finding: str
    chart: Chart
    small: bool = False  # two and more of them stand side by side


class Picture(NamedTuple):
    """A picture that is there already."""

    heading: str
    finding: str
    png: bytes


class Rows(NamedTuple):
    """A table. The cells of the first column name their rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]  # of each column
    folded: bool = False  # shown when it is asked for

    def classes(self) -> list[str]:
        """Of each column, for the style sheet: numbers stand at the right, long texts are folded."""
        columns = zip(self.head, *self.rows, strict=True)
        long = (max(map(len, column[1:]), default=0) > FOLDED for column in columns)
        return ["number" if number else "long" if is_long else "" for number, is_long in zip(self.numeric, long, strict=True)]


class Section(NamedTuple):
    """A heading and what follows it: figures, small ones side by side, then notes, then tables."""

    heading: str
    figures: Sequence[Figure | Picture] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Rows] = ()


@dataclass(frozen=True)
class Report:
    """What a page says: the question, the answer, what was asked in detail, and the sections."""

    title: str
    answer: str
    asked: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    notes: Sequence[str] = field(default_factory=tuple)  # below the answer


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    text = page_of(report, command_line())
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def command_line() -> str:
    """The command that is running, as it was typed."""
    return shlex.join(["packenv", *(click.get_current_context().find_root().obj or ())])


def page_of(report: Report, command: str) -> str:
    """The page as HTML. All texts are escaped; the same report gives the same page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["drawn"] = drawn
    made.filters["keys"] = keys
    made.filters["png"] = lambda png: f"data:image/png;base64,{base64.b64encode(png).decode()}"
    made.tests["chart"] = lambda figure: isinstance(figure, Figure)
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))  # our own
    version = metadata.version("packenv")
    return made.get_template("page.html.jinja").render(report=report, command=command, style=style, version=version)


def drawn(figure: Figure, narrow: bool, name: str) -> Any:
    from packenv.cli.report.drawing import svg_of

    return svg_of(figure.chart, narrow, name)


def keys(figure: Figure) -> list[Key]:
    return figure.chart.keys()
