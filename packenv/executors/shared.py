"""Values on their way to other processes: pickled once for many calls, unpickled once in each process that needs them."""

from __future__ import annotations

import io
import itertools
import os
import pickle
from collections import OrderedDict
from concurrent.futures import Executor
from typing import Any, NamedTuple, Protocol

from packenv.executors.mapped import Mapped, mapped
from packenv.jobs import Jobs

KEPT = 4  # values that a process keeps unpickled: those of several judgments take turns
_numbers = itertools.count()
_kept: OrderedDict[str, Any] = OrderedDict()


class Handle(Protocol):
    """Bytes that other processes can get at. It can be an argument of a call, alone or in a list."""

    def get(self) -> bytes: ...


class Bytes(NamedTuple):
    """Bytes that travel with each call, for want of a better way."""

    data: bytes

    def get(self) -> bytes:
        return self.data


class Shared(NamedTuple):
    """A value for other processes, apart from the tables of jobs in it, which are shared on their own."""

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
        _kept[self.key] = found = loader.load()
        return found


class Sharing:
    """Shares values through an executor: one that has `share(bytes)` sends them to each machine once.

    A table of jobs is pickled once, and kept once in each process, however many values have it in them. The processes of an
    executor that has a `folder()` map the arrays of a large one into their memory from a file there.
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
            own = self._shared(pickle.dumps(jobs, pickle.HIGHEST_PROTOCOL), ()) if inside is None else Shared(_key(), inside)
            self.tables[id(jobs)] = jobs, own
        return self.tables[id(jobs)][1]

    def _shared(self, data: bytes, tables: tuple[Shared, ...]) -> Shared:
        return Shared(_key(), Bytes(data) if self.send is None else self.send(data), tables)


def _key() -> str:
    return f"{os.getpid()}-{os.urandom(4).hex()}-{next(_numbers)}"


class _Dumper(pickle.Pickler):
    sharing: Sharing
    tables: dict[str, Shared]

    def persistent_id(self, value: Any) -> str | None:
        if type(value) is not Jobs:
            return None
        shared = self.sharing.table(value)
        self.tables[shared.key] = shared
        return shared.key


class _Loader(pickle.Unpickler):
    tables: dict[str, Shared]

    def persistent_load(self, key: str) -> Any:
        return self.tables[key].value()
