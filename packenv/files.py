"""Files written whole or not at all, devices directly."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from packenv.errors import InputError

STREAMS = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output."""


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path that becomes `path` at the end.

    On any exception, KeyboardInterrupt included, the temporary file is removed, and an older file at `path` stays as it was.
    The temporary name has the suffix of `path`, since writers may choose a format by it. A link stays, and its target is
    replaced. A device, a pipe and standard output (STREAMS) get the bytes when the block ends.
    Raises InputError if the folder does not exist or cannot be written to, if `path` is a folder, or if the disk is full.
    """
    final = Path(path)
    through = is_written_through(final)
    with _write_errors(final):
        if final.is_dir():
            raise InputError(f"{final}: cannot be written, it is a folder")
        target = final if through else Path(os.path.realpath(final))
        temporary = _temporary(target, None if through else target.parent)
        try:
            yield temporary
            if through:
                _write_through(final, temporary.read_bytes())
            else:
                temporary.chmod(_mode(target))  # mkstemp makes private files; this gives the usual permissions
                temporary.replace(target)
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new folder that becomes `path` at the end.

    On any exception it is removed. Parent folders are made. Raises InputError if `path` exists, or if the disk is full.
    """
    final = Path(path)
    if final.exists() or final.is_symlink():
        raise InputError(f"{final}: exists already: choose another name")
    make_folder(final.absolute().parent)
    with _write_errors(final):
        temporary = Path(tempfile.mkdtemp(prefix=".", suffix=f"-{final.name}", dir=final.absolute().parent))
        try:
            yield temporary
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o777 & ~mask)  # mkdtemp makes private folders
            temporary.rename(final)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError unless `path` can be written; leave nothing there."""
    final = Path(path)
    with _write_errors(final):
        if final.is_dir():
            raise InputError(f"{final}: cannot be written, it is a folder")
        if is_written_through(final):
            if str(final) not in STREAMS and not os.access(final, os.W_OK):
                raise InputError(f"{final}: cannot be written to")
            return
        folder = Path(os.path.realpath(final)).parent
        if not folder.is_dir():
            raise InputError(f"{final}: its folder does not exist")
        _try_to_write(folder)


def check_folder_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError unless this folder can be written or made."""
    folder = Path(path).absolute()
    with _write_errors(Path(path)):
        _try_to_write(next(place for place in (folder, *folder.parents) if place.exists()))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder and its parents. May raise InputError."""
    with _write_errors(Path(path)):
        Path(path).mkdir(parents=True, exist_ok=True)


def _try_to_write(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\n")  # a full disk still makes empty files


def is_written_through(path: Path) -> bool:
    """Return whether it is standard output, device or pipe."""
    if str(path) in STREAMS:
        return True
    if path.is_symlink() and path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return True  # /dev/fd/3 stands for an open file, wherever its link points
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turn system errors of this block into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({os.strerror(error.errno) if error.errno else error})") from None


def _temporary(final: Path, folder: Path | None) -> Path:
    handle, name = tempfile.mkstemp(prefix=".", suffix=f"-{final.name}", dir=folder)
    os.close(handle)
    return Path(name)


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _write_through(path: Path, data: bytes) -> None:
    """Append to standard output, a device or a pipe."""
    if str(path) in STREAMS:
        sys.stdout.flush()
        handle = os.dup(1)
    else:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    with open(handle, "wb") as stream:  # noqa: PTH123
        stream.write(data)


def check_ending(path: str | os.PathLike[str], endings: Collection[str], what: str) -> None:
    """Raise InputError unless the file has one of these endings.

    `what` names the file in the message. With a single format no ending is needed. A device or a pipe has no ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in endings and not (len(endings) == 1 and not ending) and not is_written_through(Path(path)):
        raise InputError(f"{path}: {what} {', '.join(endings)}")


def write_json(path: str | os.PathLike[str], data: object) -> None:
    """Write indented JSON, whole or not. Raises ValueError (NaN), InputError."""
    check_ending(path, (".json",), "what is written is JSON,")
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", errors="replace")  # a name of a file need not be UTF-8
