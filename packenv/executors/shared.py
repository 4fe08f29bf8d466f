"""Values for other processes, pickled once, unpickled once per process.

Arrays of large values lie in one file, mapped by every local process: they are in memory once, and do not travel with each call.
A process that writes to one gets its own copy of these pages.
"""

from __future__ import annotations

import io
import itertools
import mmap
import os
import pickle
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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
