"""Your modules, sent to processes that lack this version."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from packenv.compiled.cache import base
from packenv.compiled.sources import file_of, is_installed, sources_of
from packenv.errors import InputError

MOST = 10_000_000  # bytes of all modules together: code is small


class ShippedModules(NamedTuple):
    """Files of modules by their path below a folder, `pack/part.py`."""

    key: str  # of their contents
    files: dict[str, bytes]

    def put_on_path(self) -> None:
        """Install these modules. Raises InputError if another version is loaded."""
        if any(isinstance(finder, Shipped) and finder.key == self.key for finder in sys.meta_path):
            return
        loaded = [file for file in self.files if module_at(file) in sys.modules]
        for file in loaded:
            _check_loaded(module_at(file), self.files[file])
        if len(loaded) < len(self.files):
            sys.meta_path.insert(0, Shipped(self))


class Shipped(MetaPathFinder):
    """A finder of sent modules, before all others."""

    def __init__(self, modules: ShippedModules) -> None:
        self.key, self.names = modules.key, {module_at(file).partition(".")[0] for file in modules.files}
        self.folder = Path(tempfile.mkdtemp(prefix="packenv-modules-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        for file, contents in modules.files.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, [str(self.folder)]) if path is None and fullname in self.names else None


def modules_to_ship(names: Iterable[str]) -> ShippedModules | None:
    """Return modules to send, or None. May raise InputError."""
    files: dict[str, bytes] = {}
    absent = sorted(name for name in set(names) if not _is_everywhere(name))
    for name in sorted({*absent, *sources_of(absent, base())}) if absent else ():
        if not _is_everywhere(name):
            place, path = _place_of(name)
            files[place] = path.read_bytes()
    if not files:
        return None
    digest = hashlib.sha256()
    for place, contents in sorted(files.items()):
        digest.update(f"{place} {len(contents)} ".encode() + contents)
    if (size := sum(map(len, files.values()))) > MOST:
        raise InputError(
            f"modules {', '.join(absent)}: with what they import {size:,} bytes, too many to send; install them there"
        )
    return ShippedModules(digest.hexdigest()[:16], files)


def module_at(file: str) -> str:
    """`pack.part` of `pack/part.py`, `pack` of `pack/__init__.py`."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_everywhere(name: str) -> bool:
    """Return whether a module is packenv's or an installed one."""
    first = name.partition(".")[0]
    return first == "packenv" or (first != "__main__" and is_installed(first))


def _place_of(name: str) -> tuple[str, Path]:
    """Return a module's path below a folder, and its file."""
    file = file_of(name)
    if name == "__main__" or file is None:
        raise InputError(f"code in {name} cannot be sent to other machines: move it into a module")
    if not file.endswith(".py"):
        raise InputError(f"module {name} is not a file of Python ({file}), and cannot be sent: install it on the other machines")
    within = name.replace(".", "/")
    return (f"{within}/__init__.py" if Path(file).name == "__init__.py" else f"{within}.py"), Path(file)


def _check_loaded(name: str, contents: bytes) -> None:
    try:
        same = Path(file_of(name) or "").read_bytes() == contents
    except OSError:
        same = False
    if not same:
        raise InputError(f"module {name} has another version in the workers: restart them")
