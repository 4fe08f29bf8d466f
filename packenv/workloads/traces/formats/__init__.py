"""Formats of recorded traces, one file each.

A new format is one new file in this folder. It defines `FORMATS`, a tuple of `TraceFormat`, each with a function
`read(path, wanted)` that returns a `Trace`. Files are found without a list. `swf.py` is an example.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from packenv.inputs.text_files import DAMAGE, encoding_by_mark, open_binary
from packenv.workloads.traces.trace import Trace, Wanted


class TraceFormat(NamedTuple):
    """Reader of a format, and its files: one given field must match."""

    read: Callable[[Path, Wanted], Trace]
    """Reads the trace at a path, with the wanted resources. Raises InputError, naming file, row and column (or line, or job)."""
    columns: frozenset[str] = frozenset()
    """Matches Parquet and CSV files with at least these columns."""
    first_row: Callable[[list[str]], bool] | None = None
    """Matches CSV files without a header, by their first row."""
    endings: tuple[str, ...] = ()
    """Matches other files, by the end of their names in lower case."""
    content: Callable[[Path], bool] | None = None
    """Matches other files."""
    folder: Callable[[Path], bool] | None = None
    """Matches folders."""


def first_bytes(path: Path, count: int) -> bytes:
    """Return a file's first bytes, unzipped, in UTF-8."""
    try:
        with open_binary(path) as file:
            first = file.read(count)
    except DAMAGE:
        return b""
    encoding = encoding_by_mark(first, "")
    return first.decode(encoding, errors="ignore").encode() if encoding else first


@functools.cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """Return all formats, in alphabetical order of their files."""
    files = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(format for file in files for format in import_module(f"{__name__}.{file}").FORMATS)
