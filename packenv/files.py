"""Writes files whole or not at all: an interrupted run leaves no partial file under the final name."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from packenv.errors import InputError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the folder of `path`, which is renamed to `path` when the block ends.

    On any exception, KeyboardInterrupt included, the temporary file is removed, and an older file at `path` stays as it was.
    The temporary name has the same suffix as `path`, for writers that choose a format by it.
    Raises InputError if the folder does not exist or cannot be written to, or if `path` is a folder.
    """
    final = Path(path)
    if final.is_dir():
        raise InputError(f"{final}: cannot be written, it is a folder")
    try:
        handle, name = tempfile.mkstemp(prefix=".", suffix=f"-{final.name}", dir=final.parent)
    except OSError as error:
        raise InputError(f"{final}: cannot be written ({error.strerror})") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes private files; this gives the usual permissions
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | os.PathLike[str], data: object) -> None:
    """Write `data` as indented JSON, whole or not at all. Raises ValueError for NaN, which JSON does not have."""
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
