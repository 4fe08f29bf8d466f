"""Columns as an Arrow table, or as the frame of a library that reads Arrow; facts as a table of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from packenv.errors import InputError, nearest

LIBRARIES = ("arrow", "pandas", "polars")


def frame_of(table: Any, library: str = "arrow") -> Any:
    """A `pyarrow.Table`, or columns for one, as such a table or as a frame of a library of LIBRARIES. Raises InputError."""
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
    """The same of rows, which may lack some of the columns. Raises InputError."""
    names = dict.fromkeys(name for row in rows for name in row)
    return frame_of({name: [row.get(name) for row in rows] for name in names}, library)


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """A small table of HTML, a fact in each row. All texts are escaped."""
    rows = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{rows}</table>"


def facts_text(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """The same as lines of text."""
    return "\n".join([title, *(f"  {name}: {text}" for name, text in facts)])


def known_kind(kind: str, kinds: tuple[str, ...], what: str) -> str:
    """`kind`. Raises InputError unless it is one of `kinds`, of which there are `what`."""
    if kind not in kinds:
        raise InputError(f"unknown {what} {kind!r}{nearest(kind, kinds)}")
    return kind
