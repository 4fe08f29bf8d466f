"""The cache of machine code on disk: its folders, and how Numba is made to use them for functions of packenv."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba

from packenv.compiled.sources import has_file, key_of

KEPT = 8  # versions of a module's sources whose machine code is kept


@functools.cache
def base() -> Path:
    """The folder of all machine code: `PACKENV_CACHE` or the user's cache folder; a temporary one if that is not writable."""
    own = os.environ.get("PACKENV_CACHE")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "packenv"
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:  # a read-only home
        return temporary()
    return folder


def temporary() -> Path:
    """A temporary folder that only this user can write; if it cannot be had, one that is removed when the process exits."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"packenv-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if folder.is_dir() and not folder.is_symlink() and found.st_uid == user and found.st_mode & 0o077 == 0:
            return folder
    folder = Path(tempfile.mkdtemp(prefix="packenv-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def folder_for(modules: tuple[str, ...]) -> Path | None:
    """The folder for machine code of these loaded modules in their present version; None if one of them has no file."""
    if not all(has_file(name) for name in modules):
        return None
    above = base() / modules[-1]
    folder = above / key_of(modules, base())
    if not folder.is_dir():
        older = sorted(above.iterdir(), key=lambda path: path.stat().st_mtime) if above.is_dir() else []
        for path in older[: max(len(older) - KEPT + 1, 0)]:
            shutil.rmtree(path, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    return folder


class Locator:
    """Numba's interface to a cache: the folder of machine code. The folder's name is the key of the sources."""

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._py_file = inspect.getfile(function)  # Numba names it in warnings
        self.module = function.__module__
        self.folder = folder

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Locator:
        return cls(function, numba.config.CACHE_DIR)

    def get_cache_path(self) -> str:
        return self.folder

    def ensure_cache_path(self) -> None:
        Path(self.folder).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return Path(self.folder).name

    def get_disambiguator(self) -> str:
        return self.module


_lock = threading.RLock()


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Make Numba cache the functions that are made in this context in this folder; its settings are restored afterwards."""
    ours = {"CACHE_DIR": str(folder), "CACHE_LOCATOR_CLASSES": f"{__name__}.Locator"}
    with _lock:
        before = {name: getattr(numba.config, name) for name in ours}
        for name, value in ours.items():
            setattr(numba.config, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(numba.config, name, value)


def discard_damaged(folder: Path, function: Callable[..., Any]) -> None:
    """Remove cache files of this function that are truncated or not pickles: Numba would raise an error."""
    for path in folder.glob(f"*.{function.__qualname__}-*.nb?"):
        try:
            with path.open("rb") as file:
                if path.suffix == ".nbi":
                    pickle.load(file)
                    pickle.load(file)
                file.seek(-1, os.SEEK_END)
                whole = file.read() == pickle.STOP
        except Exception:  # a file with other contents may raise anything
            whole = False
        if not whole:
            path.unlink(missing_ok=True)
