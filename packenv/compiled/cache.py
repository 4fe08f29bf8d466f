"""The disk cache of machine code, used by Numba, and its health."""

from __future__ import annotations

import atexit
import functools
import inspect
import multiprocessing
import os
import pickle
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numba

from packenv.compiled.locks import Lock
from packenv.compiled.sources import has_file, key_of

ENTER, WRITE = 0o011, 0o022  # the group's and the others' bits of a folder's mode


def only_ours(folder: Path) -> bool:
    """Return whether only this user and root can write `folder`."""
    if not hasattr(os, "getuid"):
        return True
    real = folder.resolve()
    entering = ENTER  # who else gets here: the group, all others
    for place in (*reversed(real.parents), real):
        status = place.stat()
        entering &= status.st_mode
        sticky = status.st_mode & stat.S_ISVTX and place != real  # nobody can rename what is another's
        if status.st_uid not in (0, os.getuid()) or (status.st_mode & (entering << 1) and not sticky):
            return False
    return real.stat().st_uid == os.getuid()


def make_private(folder: Path) -> Path:
    """Make the folder, emptied if others could write. Raises OSError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and folder.lstat().st_mode & WRITE:
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
    return folder


KEPT = 8  # versions of a module's sources whose machine code is kept


@functools.cache
def base() -> Path:
    """Return the folder of machine code, or a temporary one.

    It is `PACKENV_CACHE` or the user's cache folder, if writable. The cache is executed, so a folder that others can write to is
    not used, with a message.
    """
    chosen = os.environ.get("PACKENV_CACHE")
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "packenv"
    folder = folder.expanduser().absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not only_ours(folder):
            return instead_of(folder, "others can write to it, or to a folder above it")
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\n")  # a full disk still makes empty files
    except OSError as error:  # a read-only home, a full disk
        return instead_of(folder, str(error.strerror)) if chosen else temporary()
    return folder


def instead_of(folder: Path, why: str) -> Path:
    """Return a temporary folder, and print why it replaces `folder`."""
    replacement = temporary()
    say(f"machine code is kept in {replacement} instead of {folder}: {why}")
    return replacement


def say(line: str) -> None:
    """Print a line on standard error, from the first process."""
    if multiprocessing.parent_process() is None:
        print(f"packenv: {line}", file=sys.stderr)


def temporary() -> Path:
    """Return this user's temporary folder, or one until exit."""
    folder = Path(tempfile.gettempdir()) / f"packenv-{os.getuid() if hasattr(os, 'getuid') else 0}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_symlink() and folder.lstat().st_mode & 0o077 == 0 and only_ours(folder):
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    folder = Path(tempfile.mkdtemp(prefix="packenv-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_of_packenv: dict[tuple[Any, ...], Path] = {}  # the folders of modules of packenv's own, by these modules as they are loaded


def folder_for(modules: tuple[str, ...]) -> Path | None:
    """Return the machine-code folder of these loaded modules' present version.

    None if a module has no file, or the disk is full. Reading sources takes milliseconds, as long as a short run. So it is done
    once for modules of packenv: their loaded code only changes if they are imported again.
    """
    if not all(name.startswith("packenv.") for name in modules):
        return _look_for(modules)
    key = (base(), *modules, *(id(sys.modules[name].__spec__) for name in modules))
    if key not in _of_packenv or not _of_packenv[key].is_dir():
        path = _look_for(modules)
        if path is None:
            return None
        _of_packenv[key] = path
    return _of_packenv[key]


def _look_for(modules: tuple[str, ...]) -> Path | None:
    if not all(has_file(name) for name in modules):
        return None
    try:
        above = make_private(base() / modules[-1])
        folder = above / key_of(modules, base())
        if not folder.is_dir():
            older = sorted(above.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in older[: max(len(older) - KEPT + 1, 0)]:
                shutil.rmtree(path, ignore_errors=True)
        return make_private(folder)
    except OSError as error:
        warn_not_cached(error)
        return None


@functools.cache
def _warn_once(why: str) -> None:
    say(f"machine code is not kept in {base()}: {why}")


def warn_not_cached(error: OSError) -> None:
    """Warn once that compiled machine code cannot be cached."""
    _warn_once(error.strerror or str(error))


class Locator:
    """Numba's interface to a folder, named by the sources' key."""

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
def caching_in(folder: Path) -> Iterator[None]:
    """Let Numba cache new functions here, for a while."""
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
    """Remove truncated or foreign cache files, which make Numba fail."""
    for path in folder.glob(f"*.{function.__qualname__}-*.nb?"):
        try:
            with path.open("rb") as file:
                if path.suffix == ".nbi":
                    version = pickle.load(file)
                    stamp, names = pickle.load(file)
                    if not all(isinstance(name, str) for name in (version, stamp, *names.values())):
                        raise ValueError(names)
                file.seek(-1, os.SEEK_END)
                whole = file.read() == pickle.STOP
        except Exception:  # a file with other contents may raise anything
            whole = False
        if not whole:
            path.unlink(missing_ok=True)


class Cache(NamedTuple):
    """The folder of all machine code."""

    folder: str
    chosen_by: str  # what says that it is this one
    owner: str
    megabytes: float  # 10^6 bytes
    functions: int  # versions of functions whose machine code is kept
    writable: bool
    locks: bool  # whether processes wait for each other rather than compile the same function at the same time


def cache_health() -> Cache:
    """Describe the folder in use; make it if missing."""
    folder = base()
    sizes = [size for path, size in _files(folder) if path.suffix in (".nbi", ".nbc")]
    compiled = sum(path.suffix == ".nbc" for path, _ in _files(folder))
    return Cache(
        folder=str(folder),
        chosen_by=_chosen_by(folder),
        owner=_owner(folder),
        megabytes=round(sum(sizes) / 1e6, 1),
        functions=compiled,
        writable=os.access(folder, os.W_OK),
        locks=_has_locks(folder),
    )


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in folder.rglob("*"):
        with suppress(OSError):  # another process has just removed it
            if path.is_file():
                yield path, path.stat().st_size


def _chosen_by(folder: Path) -> str:
    for name in ("PACKENV_CACHE", "XDG_CACHE_HOME"):
        if os.environ.get(name):
            chosen = Path(os.environ[name]).expanduser().absolute()
            used = folder == chosen or folder == chosen / "packenv"
            return name if used else f"no other could be written safely ({name} says {chosen})"
    return "the user's cache folder" if folder.parent == Path("~/.cache").expanduser() else "no other could be written safely"


def _owner(folder: Path) -> str:
    try:
        return folder.owner()
    except (KeyError, OSError, NotImplementedError):  # a user without a name, Windows
        return str(folder.stat().st_uid)


def _has_locks(folder: Path) -> bool:
    lock = Lock(folder / "waiting")
    lock.acquire(lambda seconds: seconds < 1.0)
    locked = lock.descriptor is not None
    lock.release()
    return locked


def compiler_seconds() -> float:
    """Measure the warm compiler on a loop of three lines."""

    def total(n: int) -> int:
        result = 0
        for k in range(n):
            result += k * k
        return result

    numba.njit(lambda x: x + 1)(1)
    began = time.perf_counter()
    assert numba.njit(total)(10) == 285
    return time.perf_counter() - began
