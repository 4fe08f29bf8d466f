"""A report's content, whatever the command, and its page: one file that loads nothing and runs no script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from packenv.report.tables import Table

if TYPE_CHECKING:
    from packenv.report.charts import Chart

HERE = Path(__file__).parent

SIGNS = {"s": "■", "|": "│", "D": "◆", "X": "✚"}
"""Signs for the marks of lines in a legend."""


class Figure(NamedTuple):
    """A chart. `finding` says in a sentence what is to be seen; it is also what those hear who see nothing."""

    heading: str
    finding: str
    chart: Chart
    small: bool = False  # two and more of them stand side by side


class Image(NamedTuple):
    """A picture of pixels."""

    heading: str
    finding: str
    png: bytes


class Section(NamedTuple):
    """A heading and what follows it: figures, small ones side by side, then notes, then tables."""

    heading: str
    figures: Sequence[Figure | Image] = ()
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Report:
    """The content of a page: the question, the answer, the question in detail (`facts`), and the sections."""

    title: str
    answer: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    notes: Sequence[str] = field(default_factory=tuple)  # below the answer


def page_of(report: Report, command: str) -> str:
    """The page as HTML. All texts are escaped; the same report gives the same page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from packenv.report.pictures import colour_of_the_page, svg_of  # bring matplotlib with them

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["drawn"] = lambda figure, narrow, name: Markup(svg_of(figure.chart, narrow, name))
    environment.filters["colour"] = colour_of_the_page
    environment.filters["sign"] = lambda key: SIGNS.get(key.mark, "●") if key.filled else "○"
    environment.filters["png"] = lambda png: f"data:image/png;base64,{base64.b64encode(png).decode()}"
    environment.tests["chart"] = lambda figure: isinstance(figure, Figure)
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))  # our own
    version = metadata.version("packenv")
    return environment.get_template("page.html.jinja").render(report=report, command=command, style=style, version=version)
