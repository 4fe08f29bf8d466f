"""The HTML page of a result: one file without scripts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from packenv.content.page import Figure, Image, Page
from packenv.errors import of_options
from packenv.report.pictures import colour_of_the_page, picture_of, svg_of
from packenv.report.tables import classes, named_rows
from packenv.report.workload_charts import profile_section

HERE = Path(__file__).parent

SIGNS = {"s": "■", "|": "│", "_": "┄", "D": "◆", "X": "✚"}
"""Signs for the marks of lines in a legend."""


def page_of(page: Page, command: str, notices: Sequence[str] = ()) -> str:
    """Return the page as HTML, all texts escaped.

    Equal pages give equal text. `notices`: in front of the page's notes.
    """
    profiles = [section for workload in page.workloads if (section := profile_section(workload)) is not None]
    several = len(page.workloads) > 1
    caveats = [f"{workload.name}: {line}" if several else line for workload in page.workloads for line in workload.caveats]
    caveats = [of_options(line) if command else line for line in dict.fromkeys(caveats)]
    page = replace(page, sections=[*page.sections, *profiles], notes=[*notices, *page.notes, *caveats])
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["drawn"] = lambda figure, narrow, name: Markup(svg_of(figure.chart, narrow, name))
    environment.filters["colour"] = colour_of_the_page
    environment.filters["sign"] = lambda key: SIGNS.get(key.mark, "●") if key.filled else "○"
    environment.filters["png"] = _data_of
    environment.filters |= {"classes": classes, "named_rows": named_rows}
    environment.tests["chart"] = lambda figure: isinstance(figure, Figure)
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))  # our own
    version = metadata.version("packenv")
    return environment.get_template("page.html.jinja").render(page=page, command=command, style=style, version=version)


def _data_of(image: Image) -> str:
    """Return the pixels of a picture as data for the page."""
    png = image.png if isinstance(image.png, bytes) else picture_of(image.png)._repr_png_()
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
