"""Azure's trace for packing of 2020, an SQLite database.

Its tables are `vm` (requests) and `vmType` (needs of a type). Times are in days from the start of the collection, negative before
it. A machine that outlived the collection has no end. The needs of a type of virtual machine are given for each kind of server
that runs it, as shares of that server. The trace does not record the servers of requests. So all requests go to one kind, the one
that can run most of them. A capacity of 1 is a server of that kind. The database is opened for reading only, and nothing in it is
trusted. Source: Hadary et al., "Protean: VM allocation service at scale", OSDI 2020; github.com/Azure/AzurePublicDataset.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import LARGEST_WHOLE
from packenv.inputs.text_files import reading
from packenv.workloads.traces.formats import TraceFormat, first_bytes
from packenv.workloads.traces.times import LATEST, MISSING, SECOND
from packenv.workloads.traces.trace import Trace, Wanted, resource_names

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RESOURCES = ("core", "memory", "hdd", "ssd", "nic")
REQUESTS = ("vmTypeId", "tenantId", "priority", "starttime", "endtime")
TYPES = ("vmTypeId", "machineId", *RESOURCES)
TABLES = {"vm": REQUESTS, "vmType": TYPES}
DAY = 86_400 * SECOND  # µs
MAGIC = b"SQLite format 3\0"
ROWS_AT_ONCE = 2**16
PER_CELL = 60  # bytes of memory until it is in a Jobs table

OTHER_KIND = "of a type that the chosen kind of server does not run"
NO_START = "no start known"


class SqlTable(NamedTuple):
    """Columns of a database table, with NaN for NULL."""

    path: Path
    name: str
    columns: dict[str, Floats]

    def whole(self, name: str) -> Ints:
        """Return a column of whole numbers ≥ 0 (n,), or raise InputError."""
        values = self.columns[name]
        good = (values >= 0) & (values <= LARGEST_WHOLE) & (values == np.floor(values))
        self.require(good, name, "is not a whole number from 0 on")
        return values.astype(np.int64)

    def require(self, good: NDArray[np.bool_], column: str, problem: str) -> None:
        """Raise InputError for the first row that is not `good` (n,)."""
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(f"{self.path}: table {self.name}, row {row + 1}, {column}: {self.columns[column][row]:g} {problem}")


def is_database(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    return first_bytes(path, len(MAGIC)) == MAGIC


def read_requests(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per virtual machine, with its owner as the tenant."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    with _opened(path) as database:
        vm, types = (_read(database, path, name) for name in TABLES)
    if not len(vm.columns["vmTypeId"]):
        raise InputError(f"{path}: table vm is empty")
    for name in RESOURCES:
        types.require(np.asarray(~(types.columns[name] < 0)), name, "is negative")
    requested = vm.whole("vmTypeId")
    kind, amounts = _needs(types, requested, resources)
    start, end = (_microseconds(vm, name) for name in ("starttime", "endtime"))
    has_start, before = np.asarray(np.isfinite(vm.columns["starttime"])), np.asarray(vm.columns["starttime"] < 0)
    submit = np.where(has_start & ~before, start, 0)
    rows = np.argsort(submit, kind="stable")
    has_end = np.asarray(np.isfinite(vm.columns["endtime"]))
    return Trace(
        submit=submit[rows],
        schedule=submit[rows],
        end=np.where(has_end, np.maximum(end, 0), MISSING)[rows],
        demand=np.nan_to_num(amounts)[rows],
        resources=resources,
        finished=has_end[rows],
        in_snapshot=before[rows],
        others={"tenant": vm.whole("tenantId")[rows], "priority": vm.whole("priority")[rows]},
        source=str(path),
        rows=rows + 1,
        about=f"capacity 1: a server of kind {kind}, which runs more of the requests than any other kind",
        unfit={NO_START: ~has_start[rows], OTHER_KIND: np.asarray(np.isnan(amounts).all(axis=1))[rows]},
    )


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with reading(path, sqlite3.Error, OverflowError):
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            yield database


def _read(database: sqlite3.Connection, path: Path, name: str) -> SqlTable:
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE"
    if not database.execute(query, (name,)).fetchone()[0]:
        raise InputError(f"{path}: no table {name}: not Azure's trace for packing, which has {' and '.join(TABLES)}")
    present = {str(row[1]).lower() for row in database.execute(f"PRAGMA table_info({name})")}
    names = TABLES[name]
    for column in names:
        if column.lower() not in present:
            raise InputError(f"{path}: table {name}: column {column} is missing")
    Memory(path).reserve(PER_CELL * len(names) * database.execute(f"SELECT count(*) FROM {name}").fetchone()[0])
    rows = database.execute(f"SELECT {', '.join(names)} FROM {name}")
    parts, before = [np.zeros((0, len(names)))], 0
    while batch := rows.fetchmany(ROWS_AT_ONCE):
        for number, row in enumerate(batch, before + 1):
            for column, value in zip(names, row, strict=True):
                if value is not None and type(value) not in (int, float):
                    raise InputError(f"{path}: table {name}, row {number}, {column}: a {type(value).__name__}, not a number")
        parts.append(np.array(batch, np.float64))
        before += len(batch)
    return SqlTable(path, name, dict(zip(names, np.concatenate(parts).T, strict=True)))


def _needs(types: SqlTable, requested: Ints, resources: tuple[str, ...]) -> tuple[int, Floats]:
    """Return the kind for most requests, and needs (n, D) or NaN."""
    type_of, kind_of = types.whole("vmTypeId"), types.whole("machineId")
    if not len(type_of):
        raise InputError(f"{types.path}: table vmType is empty")
    # The kind of server that runs most requests.
    distinct, count = np.unique(requested, return_counts=True)
    place = np.minimum(np.searchsorted(distinct, type_of), len(distinct) - 1)
    requests = np.where(distinct[place] == type_of, count[place], 0)  # of the type of each row
    kinds = np.unique(kind_of)
    kind = int(kinds[np.argmax([requests[kind_of == number].sum() for number in kinds])])
    # The needs of each type on it.
    rows = np.flatnonzero(kind_of == kind)
    rows = rows[np.argsort(type_of[rows], kind="stable")]
    amounts = np.nan_to_num(np.stack([types.columns[name] for name in resources], axis=1)[rows])
    place = np.minimum(np.searchsorted(type_of[rows], requested), len(rows) - 1)
    return kind, np.where((type_of[rows][place] == requested)[:, None], amounts[place], np.nan)


def _microseconds(vm: SqlTable, name: str) -> Ints:
    """Convert a column of days (n,) to µs, 0 for NULL."""
    days = np.nan_to_num(vm.columns[name], nan=0.0)
    vm.require(np.abs(days) < LATEST / DAY, name, "is not a time")
    return np.rint(days * DAY).astype(np.int64)


FORMATS = (TraceFormat(read_requests, endings=(".sqlite", ".sqlite3"), content=is_database),)
