"""Opens files of text, compressed or not: damage, other encodings and endless lines are one InputError.

Text is UTF-8, or UTF-16 with its mark, as PowerShell writes what a command prints.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from packenv.errors import InputError

LONGEST_LINE = 2**26
"""Characters: a job of some millions of tasks is still one line (.tr)."""

DAMAGE: tuple[type[BaseException], ...] = (OSError, EOFError, zlib.error, UnicodeError, csv.Error)
"""What Python's own readers raise for a file that is missing, damaged, or of another format."""


@contextmanager
def reading(path: str | Path, *more: type[BaseException]) -> Iterator[None]:
    """Within the block, DAMAGE and the exceptions `more` become one InputError that names the file."""
    try:
        yield
    except InputError:
        raise
    except (*DAMAGE, *more) as error:
        raise unreadable(path, error) from None


def unreadable(path: str | Path, error: BaseException) -> InputError:
    """The error to raise for a file that is missing, damaged or of another format."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file")
    if isinstance(error, (PermissionError, IsADirectoryError)):
        return InputError(f"{path}: cannot be read ({error.strerror})")
    text = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(f"{path}: cannot be read, it is damaged or of another format ({text[0].rstrip('.')})")


def encoding_of(first: bytes) -> str | None:
    """The encoding that the mark at the beginning of a text names; None without a mark. The mark is no part of the text."""
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    return next((encoding for mark, encoding in marks if first.startswith(mark)), None)


def text_of(path: Path) -> str:
    """The whole text of a file. Raises what `reading` makes one error of."""
    raw = path.read_bytes()
    return raw.decode(encoding_of(raw[:3]) or "utf-8").replace("\r\n", "\n").replace("\r", "\n")


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a file of text, as UTF-8 whatever its mark says; those inside it if its name ends in .gz."""
    file: IO[bytes] = _opened(path)
    if (encoding := _encoding(path)) != "utf-16":
        return file
    with file:
        return io.BytesIO(file.read().decode(encoding).encode())


def lines_of(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a file of text, .gz or not, with their ends; a mark is heeded, and is no part of the first line.

    Raises InputError for damage and for an endless line.
    """
    with reading(path), io.TextIOWrapper(_opened(path), encoding=_encoding(path) or encoding) as text:
        number = 0
        while line := text.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and not line.endswith("\n"):
                raise InputError(f"{path}: line {number} is longer than {LONGEST_LINE:,} characters")
            yield line


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _encoding(path: Path) -> str | None:
    with _opened(path) as file:
        return encoding_of(file.read(3))
