"""All output forms of results. A new form needs only this file.

Content of results (`packenv.content.showable`) becomes text, HTML, a frame, a picture or a file. Commands print FORMATS and
write files by ENDINGS. Libraries are imported when needed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packenv.content.tables import flat
from packenv.errors import InputError
from packenv.files import atomic_path, check_ending, write_json
from packenv.report.plot_style import PICTURES

if TYPE_CHECKING:
    from packenv.content.page import Charts
    from packenv.content.showable import Showable
    from packenv.content.tables import Tables
    from packenv.report.pictures import Picture
    from packenv.results.result import Result
    from packenv.workloads.workload import Workload


LIBRARIES = ("arrow", "pandas", "polars")


def facts_text(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return the facts as lines of text."""
    return "\n".join([title, *(f"  {name}: {text}" for name, text in facts)])


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """Return the facts as a small HTML table, all texts escaped."""
    rows = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{rows}</table>"


def html(result: Showable) -> str:
    """Return tables under the title, for notebooks, or facts without tables."""
    tables = result.table()
    return tables.html(result.title) if tables.tables else facts_html(result.title, result.facts())


def text_of_tables(tables: Tables) -> str:
    from packenv.report.tables import text_of

    return text_of(tables)


def markdown_of_tables(tables: Tables) -> str:
    from packenv.report.tables import markdown_of

    return "\n\n".join([*map(markdown_of, tables.tables), *tables.notes])


def html_of_tables(tables: Tables, title: str = "") -> str:
    from packenv.report.tables import html_of

    head = [f"<p>{escape(title)}</p>"] if title else []
    return "".join([*head, *map(html_of, tables.tables), *(f"<p>{escape(note)}</p>" for note in tables.notes)])


def frame(table: Any, library: str = "arrow") -> Any:
    """Return columns, or an Arrow table, as a frame of LIBRARIES. Raises InputError."""
    import pyarrow as pa

    if library not in LIBRARIES:
        raise InputError(f"frames are of {', '.join(LIBRARIES)}, not {library!r}")
    arrow = pa.table(table) if isinstance(table, Mapping) else table
    if library == "arrow":
        return arrow
    try:
        if library == "pandas":
            return arrow.to_pandas()
        import polars

        return polars.from_arrow(arrow)
    except ModuleNotFoundError as error:
        raise InputError(f"a frame of {library} needs {error.name}, which is not installed: pip install {library}") from None


def frame_of_rows(rows: Sequence[Mapping[str, Any]], library: str = "arrow") -> Any:
    """Return records, perhaps with missing columns, as a frame.

    Nested fields have columns such as `utilisation.0`. Raises InputError.
    """
    flat_rows = [dict(flat(row)) for row in rows]
    names = dict.fromkeys(name for row in flat_rows for name in row)
    return frame({name: [row.get(name) for row in flat_rows] for name in names}, library)


def picture(result: Showable, args: Sequence[Any], options: Mapping[str, Any], width: float | None, titled: bool) -> Picture:
    """Return the charts of a result as a picture. Raises InputError."""
    from packenv.report.pictures import picture_of

    return picture_of(result.charts(*args, **options), width, titled)


def charts_of_run(run: Result, kind: str, workload: Workload, **options: Any) -> Charts:
    """Return the charts of a run, as of a comparison of one policy."""
    from packenv.runs.run_charts import charts_of_runs

    return charts_of_runs([[run]], workload, kind, **options)


def fragmentation_of_run(run: Result, workload: Workload) -> dict[str, Any]:
    """Return the columns of `Result.to_frame("fragmentation")`."""
    from packenv.policies.gpus.fragmentation import REASONS, fragmentation_over_time

    slot, shares = fragmentation_over_time(run, workload)
    return {"slot": slot[:-1], **dict(zip(REASONS, shares.T, strict=True))}


def charts_of_workload(workload: Workload, seed: int, tasks: int) -> Charts:
    from packenv.report.workload_charts import workload_charts

    return workload_charts(workload, seed, tasks)


class Output(NamedTuple):
    """Details of an output file besides the result.

    These are the command and remarks on a page, and the charts with their look.
    """

    command: str = ""
    notices: Sequence[str] = ()
    charts: tuple[Any, ...] = ()  # arguments of `Showable.charts`
    width: float | None = None  # inches of a picture
    titled: bool = True  # whether a picture has a title


def as_csv(result: Showable) -> str:
    """Return a line for each record, with a column for each field."""
    from packenv.report.tables import write_csv

    content = io.StringIO()
    write_csv(result.rows, content)
    return content.getvalue()


def as_markdown(result: Showable) -> str:
    """Return the tables in GitHub's Markdown."""
    return f"{result.markdown()}\n"


def as_latex(result: Showable) -> str:
    """The tables in LaTeX, with the rules of the package booktabs."""
    from packenv.report.tables import latex_of

    return "\n\n".join(map(latex_of, result.tables())) + "\n"


def _text(as_text: Callable[[Showable], str]) -> Write:
    return lambda result, path, _: path.write_text(as_text(result), encoding="utf-8", errors="replace")


def write_plain(result: Showable, path: str | os.PathLike[str], _: Output | None = None) -> None:
    """Write a result as JSON."""
    write_json(path, result.plain)


def _page(result: Showable, path: Path, output: Output) -> None:
    from packenv.report.page import page_of

    path.write_text(page_of(result.page(), output.command, output.notices), encoding="utf-8", errors="replace")


def _picture(result: Showable, path: Path, output: Output) -> None:
    from packenv.report.pictures import DPI, picture_of

    picture_of(result.charts(*output.charts), output.width, output.titled).savefig(path, dpi=DPI)


Write = Callable[["Showable", Path, Output], object]
FORMATS: dict[str, Callable[[Showable], str]] = {"csv": as_csv, "markdown": as_markdown, "latex": as_latex}
"""Formats of `--format` besides plain tables."""

ENDINGS: dict[str, Write] = {
    ".json": write_plain,
    ".csv": _text(as_csv),
    ".md": _text(lambda result: f"{result.table().markdown()}\n"),
    ".tex": _text(as_latex),
    ".html": _page,
    **dict.fromkeys(PICTURES, _picture),
}
"""Writers of results by the ending of the file."""


def save(result: Showable, path: str | os.PathLike[str], output: Output | None = None) -> None:
    """Write a result in the form of the ending, whole or not at all.

    Raises InputError for another ending.
    """
    check_ending(path, ENDINGS, "a result is one of")
    with atomic_path(path) as temporary:
        ENDINGS[Path(path).suffix.lower()](result, temporary, output or Output())
