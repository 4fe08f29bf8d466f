"""Values and modules for other processes, sent once to each.

Arrays of large values lie in one file, mapped by every local process: they are in memory once, and do not travel with each call.
A process that writes to one gets its own copy of these pages.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import io
import itertools
import mmap
import os
import pickle
import platform
import shutil
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from packenv.compiled.cache import base
from packenv.compiled.sources import file_of, is_installed, key_of_package, sources_of
from packenv.errors import InputError
from packenv.jobs import Jobs

LEAST = 1 << 20  # bytes: smaller values travel with the calls
ALIGNED = 64  # bytes


class Mapped(NamedTuple):
    """A pickled value, with its arrays in a file."""

    data: bytes
    file: str
    places: tuple[tuple[int, int], ...]

    def get(self) -> bytes:
        return self.data

    def buffers(self) -> list[memoryview]:
        """The arrays' memory, for `pickle.Unpickler`."""
        with Path(self.file).open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        return [whole[start : start + length] for start, length in self.places]


def mapped(value: Any, folder: Callable[[], str]) -> Mapped | None:
    """Write arrays to a file, None if small or no room."""
    # Pickle the value without its arrays.
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    if sum(part.nbytes for part in parts) < LEAST:
        return None
    places: list[tuple[int, int]] = []
    # Write the arrays, each at an aligned place.
    descriptor, name = tempfile.mkstemp(dir=folder())
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in parts:
                file.write(bytes(-file.tell() % ALIGNED))
                places.append((file.tell(), part.nbytes))
                file.write(part)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        return None
    return Mapped(data, name, tuple(places))


STAYS = "stays"  # the key of values that other processes do not need and get None for: their types have `stays_here`
KEPT = 4  # values that a process keeps unpickled: those of several judgments take turns
_numbers = itertools.count()
_kept: OrderedDict[str, Any] = OrderedDict()


class Handle(Protocol):
    """Shared bytes to pass to a call, also in lists."""

    def get(self) -> bytes: ...


class Bytes(NamedTuple):
    """Bytes that travel with each call: the fallback."""

    data: bytes

    def get(self) -> bytes:
        return self.data


class Shared(NamedTuple):
    """A value for other processes, without its tables of jobs."""

    key: str  # unique among all values that any process will see
    handle: Handle
    tables: tuple[Shared, ...] = ()

    def value(self) -> Any:
        """The value, in whichever process."""
        if self.key in _kept:
            _kept.move_to_end(self.key)
            return _kept[self.key]
        while len(_kept) >= KEPT:
            _kept.popitem(last=False)
        buffers = self.handle.buffers() if isinstance(self.handle, Mapped) else None
        loader = _Loader(io.BytesIO(self.handle.get()), buffers=buffers)
        loader.tables = {table.key: table for table in self.tables}
        _kept[self.key] = value = loader.load()
        return value


class Sharing:
    """Values shared through an executor, sent to each machine once.

    `share(bytes)` of the executor sends them. A table of jobs is pickled once, and held once in each process for all its values.
    If the executor has a `folder()`, processes map the arrays of a large table from a file there.
    """

    def __init__(self, executor: Executor) -> None:
        self.send: Any = getattr(executor, "share", None)
        self.folder: Any = getattr(executor, "folder", None)
        self.tables: dict[int, tuple[Jobs, Shared]] = {}  # by identity; the table is kept, so that it stays unique

    def share(self, value: Any) -> Shared:
        data = io.BytesIO()
        dumper = _Dumper(data, pickle.HIGHEST_PROTOCOL)
        dumper.sharing, dumper.tables = self, {}
        dumper.dump(value)
        return self._shared(data.getvalue(), tuple(dumper.tables.values()))

    def table(self, jobs: Jobs) -> Shared:
        if id(jobs) not in self.tables:
            inside = None if self.folder is None else mapped(jobs, self.folder)
            shared = self._shared(pickle.dumps(jobs, pickle.HIGHEST_PROTOCOL), ()) if inside is None else Shared(_key(), inside)
            self.tables[id(jobs)] = jobs, shared
        return self.tables[id(jobs)][1]

    def _shared(self, data: bytes, tables: tuple[Shared, ...]) -> Shared:
        return Shared(_key(), Bytes(data) if self.send is None else self.send(data), tables)


def _key() -> str:
    return f"{os.getpid()}-{os.urandom(4).hex()}-{next(_numbers)}"


class _Dumper(pickle.Pickler):
    sharing: Sharing
    tables: dict[str, Shared]

    def persistent_id(self, value: Any) -> str | None:
        if getattr(type(value), "stays_here", False):
            return STAYS
        if type(value) is not Jobs:
            return None
        shared = self.sharing.table(value)
        self.tables[shared.key] = shared
        return shared.key


class _Loader(pickle.Unpickler):
    tables: dict[str, Shared]

    def persistent_load(self, key: str) -> Any:
        return None if key == STAYS else self.tables[key].value()


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


Versions = tuple[str, str, str]


@functools.cache
def local_versions() -> Versions:
    """Return the versions of packenv, its sources and Python."""
    return version("packenv"), key_of_package(base()), platform.python_version()
