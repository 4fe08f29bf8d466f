"""The compiler's settings, in one place: every compiled function of packenv is made by `compiled` or `inlined`.

Numba's cache on disk looks only at the file of the function itself, so an edit in a function that it calls
would go unseen. The folder is therefore keyed by a hash of all the sources that compiled code can come from.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numba

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("packenv", "baselines", "agents")

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Machine code, kept on disk; also callable from Python."""
    return numba.njit(cache=True)(function)  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """As `compiled`, and always inlined: passing a cluster's arrays costs more than most functions' work."""
    return numba.njit(forceinline=True)(function)  # type: ignore[no-any-return]


def fingerprint(files: Iterable[Path]) -> str:
    """A short hash of the files' contents."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def sources() -> list[Path]:
    """Every file of ours that compiled code may come from."""
    return sorted(file for name in SOURCES for file in (ROOT / name).rglob("*.py"))


def cache_folder(key: str) -> Path:
    """Where machine code for sources with this fingerprint is kept: `PACKENV_CACHE`, or the user's cache."""
    base = os.environ.get("PACKENV_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "packenv")
    folder = Path(base).expanduser() / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:  # a read-only home: compile anew in each session rather than fail
        folder = Path(tempfile.gettempdir()) / f"packenv-{os.getuid()}" / key
        folder.mkdir(parents=True, exist_ok=True)
    return folder


numba.config.CACHE_DIR = str(cache_folder(fingerprint(sources())))
