"""Standard input as a file: `-` in place of a table's path."""

from __future__ import annotations

import functools
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from packenv.errors import InputError

STANDARD_INPUT = "-"
ENDINGS = {b"PAR1": ".parquet", b";": ".swf", b"{": ".json", b"[": ".json"}
"""Endings of files by their first bytes; all others are tables of text."""


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="packenv-input-")  # removed when the process ends


@functools.cache
def standard_input() -> Path:
    """Copy piped standard input to a file for this process."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(f"{STANDARD_INPUT}: is standard input: pipe a table into it, or name a file")
    stream = sys.stdin.buffer
    first = stream.read(4)
    if not first:
        raise InputError(f"{STANDARD_INPUT}: standard input is empty")
    ending = next((ending for begin, ending in ENDINGS.items() if first.startswith(begin)), ".csv")
    path = Path(_folder().name) / f"standard-input{ending}"
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path


def from_standard_input(source: Any) -> Any:
    """Return the source, or the file of standard input for `-`."""
    return standard_input() if isinstance(source, (str, Path)) and str(source) == STANDARD_INPUT else source
