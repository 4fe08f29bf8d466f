"""The state of the machine-code cache and the compiler."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numba

from packenv.compiled.cache import base
from packenv.compiled.locks import Lock


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
