"""Text files, compressed or not.

Damage, other encodings and endless lines become one InputError.
"""

from __future__ import annotations

import codecs
import csv
import functools
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from packenv.errors import InputError

GZIP = b"\x1f\x8b"  # the first bytes of a file that gzip compressed
LONGEST_LINE = 2**26
"""Characters: a job of some millions of tasks is still one line (.tr)."""

DAMAGE: tuple[type[BaseException], ...] = (OSError, EOFError, zlib.error, UnicodeError, csv.Error)
"""Exceptions of Python's own readers for a missing, damaged or foreign file."""


@contextmanager
def reading(path: str | Path, *more: type[BaseException]) -> Iterator[None]:
    """Turn DAMAGE and the exceptions `more` into an InputError with the file."""
    try:
        yield
    except InputError:
        raise
    except (*DAMAGE, *more) as error:
        raise unreadable(path, error) from None


def unreadable(path: str | Path, error: BaseException) -> InputError:
    """Return the InputError for a missing, damaged or foreign file."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file")
    if isinstance(error, (PermissionError, IsADirectoryError)):
        return InputError(f"{path}: cannot be read ({error.strerror})")
    text = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(f"{path}: cannot be read, it is damaged or of another format ({text[0].rstrip('.')})")


def open_binary(path: Path) -> IO[bytes]:
    """Open a file's bytes, decompressed if gzip wrote them."""
    with path.open("rb") as file:
        compressed = file.read(len(GZIP)) == GZIP
    return gzip.open(path, "rb") if compressed else path.open("rb")  # type: ignore[return-value]


def encoding_of(path: Path, otherwise: str = "utf-8-sig") -> str:
    """Return a text file's encoding by its byte order mark."""
    with open_binary(path) as file:
        return encoding_by_mark(file.read(4), otherwise)


def encoding_by_mark(first: bytes, otherwise: str) -> str:
    """Return the encoding of a text with these first bytes."""
    if first.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    return "utf-16" if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else otherwise


def read_text(path: Path) -> str:
    """Return a file's text in UTF-8 or UTF-16, gzip or not.

    Raises the exceptions in DAMAGE: call it within `reading`.
    """
    with open_binary(path) as file, io.TextIOWrapper(file, encoding=encoding_of(path)) as text:
        return text.read()


def lines_of(path: Path, encoding: str = "utf-8-sig") -> Iterator[str]:
    """Yield a text file's lines with their ends, in `encoding` or UTF-16.

    Raises InputError for damage and for an endless line. The file may be gzip.
    """
    with reading(path), open_binary(path) as file, io.TextIOWrapper(file, encoding=encoding_of(path, encoding)) as text:
        number = 0
        while line := text.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and not line.endswith("\n"):
                raise InputError(f"{path}: line {number} is longer than {LONGEST_LINE:,} characters")
            yield line


STANDARD_INPUT = "-"
FOLDER, COPY = "packenv-input-", "standard-input"
"""Start of a temporary folder's name, and name of standard input's copy in it."""
SWF_FIELDS = 18  # a log without a header begins with its first job
ENDINGS_BY_START = {b"PAR1": ".parquet", b";": ".swf", b"{": ".json", b"[": ".json"}
"""Endings of files by their first bytes; all others are tables of text."""


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=FOLDER)  # removed when the process ends


@functools.cache
def standard_input() -> Path:
    """Copy piped standard input to a file for this process."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(f"{STANDARD_INPUT}: is standard input: pipe a table into it, or name a file")
    stream = sys.stdin.buffer
    first = stream.read(4096)
    if not first:
        raise InputError(f"{STANDARD_INPUT}: standard input is empty")
    path = Path(_folder().name) / f"{COPY}{_ending_of(first)}"
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path


def _ending_of(first: bytes) -> str:
    """Return the ending of a file that begins so, also with gzip: readers unpack whatever the name."""
    if first.startswith(GZIP):
        first = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(first)
    words = first.partition(b"\n")[0].split()
    if len(words) == SWF_FIELDS and all(word.lstrip(b"-").replace(b".", b"", 1).isdigit() for word in words):
        return ".swf"
    return next((ending for begin, ending in ENDINGS_BY_START.items() if first.startswith(begin)), ".csv")


def shown_path(path: Path) -> str:
    """Return a path as results name it: `standard input` for its copy."""
    return "standard input" if path.stem == COPY and path.parent.name.startswith(FOLDER) else str(path)


def from_standard_input(source: Any) -> Any:
    """Return the source, or the file of standard input for `-`."""
    return standard_input() if isinstance(source, (str, Path)) and str(source) == STANDARD_INPUT else source
