"""Files are written whole or not at all."""

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
    """A path to write to in the folder of `path`: renamed to `path` at the end, removed if anything goes wrong.

    The temporary name ends like `path`, so that writers that go by the suffix do the same as for `path`. Removed on
    every exception, KeyboardInterrupt included; an older file of the final name then stays as it was.
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
        temporary.chmod(0o666 & ~_umask())  # mkstemp's files are private; the result is an ordinary file
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | os.PathLike[str], data: object) -> None:
    """Write `data` as JSON, indented; NaN is not JSON and raises ValueError."""
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
