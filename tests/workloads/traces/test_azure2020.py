"""Azure's trace for packing of 2020, worked by hand on a small database of the same form."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, is_trace, read_trace

SCHEMA = (
    "CREATE TABLE vmType (id INTEGER, vmTypeId INTEGER, machineId INTEGER, core REAL, memory REAL, hdd REAL, ssd REAL, nic REAL)",
    "CREATE TABLE vm (vmId INTEGER, tenantId INTEGER, vmTypeId INTEGER, priority INTEGER, starttime REAL, endtime REAL)",
)
TYPES: list[tuple[Any, ...]] = [
    (0, 10, 3, 0.5, 0.25, None, 0.125, 0.0),  # on machine 3
    (1, 10, 4, 0.25, 0.25, None, 0.125, 0.0),  # the same type on machine 4
    (2, 11, 4, 1, 0.5, 0.5, 0.0, 0.25),  # runs on machine 4 only
    (3, 12, 3, 0.75, 0.5, 0.5, 0.0, 0.25),  # runs on machine 3 only
]
REQUESTS: list[tuple[Any, ...]] = [
    (0, 7, 10, 0, 2.5, 3.0),
    (1, 7, 11, 1, 1.0, 1.25),  # the first that is kept
    (2, 8, 10, 0, -4.5, 2.0),  # there when the collection began
    (3, 8, 11, 0, 1.5, None),  # outlived the collection
    (4, 9, 12, 0, 1.5, 2.5),  # its type does not run on machine 4
    (5, 9, 10, 0, 2.0, 2.0),  # no duration
    (6, 9, 10, 0, None, 2.0),  # no start
]


def database(path: Path, requests: list[tuple[Any, ...]] = REQUESTS, schema: tuple[str, ...] = SCHEMA) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in schema:
            connection.execute(statement)
        connection.executemany("INSERT INTO vmType VALUES (?, ?, ?, ?, ?, ?, ?, ?)", TYPES)
        connection.executemany("INSERT INTO vm VALUES (?, ?, ?, ?, ?, ?)", requests)
    return path


@pytest.mark.parametrize("name", ["packing_trace_zone_a_v1.sqlite", "trace.db"])
def test_requests(tmp_path: Path, name: str) -> None:
    file = database(tmp_path / name)
    before = file.read_bytes()
    assert is_trace(file)
    trace = read_trace(file)
    assert isinstance(trace, Trace)
    assert trace.resources == ("core", "memory", "hdd", "ssd", "nic")
    assert trace.about.startswith("capacity 1: a server of kind 4,")  # runs five of the six requests with a type
    jobs, dropped, t0 = trace.jobs(slot_seconds=3600, sizes="all")
    assert t0 == 86_400_000_000
    assert jobs.arrival.tolist() == [0, 36]
    assert jobs.service.tolist() == [6, 12]
    assert jobs.demand.tolist() == [[UNIT, UNIT // 2, UNIT // 2, 0, UNIT // 4], [UNIT // 4, UNIT // 4, 0, UNIT // 8, 0]]
    assert jobs.tenant is not None and jobs.tenant.tolist() == [7, 7]
    assert dropped == {
        "no start known": 1,
        "of a type that the chosen kind of server does not run": 1,
        "in the initial snapshot": 1,
        "not finished": 1,
        "duration missing or <= 0": 1,
        "all demands missing or 0": 0,
    }
    assert sum(dropped.values()) + len(jobs) == len(REQUESTS)
    assert file.read_bytes() == before and [*tmp_path.iterdir()] == [file]


def test_resources_can_be_chosen(tmp_path: Path) -> None:
    trace = read_trace(database(tmp_path / "a.sqlite"), ("memory",))
    assert trace.jobs(sizes="all").jobs.demand.tolist() == [[UNIT // 2], [UNIT // 4]]
    with pytest.raises(InputError, match="no resource gpu; known: core, memory, hdd, ssd, nic"):
        read_trace(tmp_path / "a.sqlite", ("gpu",))


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ((1, 2, 10, 0, "soon", 2.0), "table vm, row 8, starttime: a str, not a number"),
        ((1, 2, 10, 0, b"\x00", 2.0), "table vm, row 8, starttime: a bytes, not a number"),
        ((1, 2, 10.5, 0, 1.0, 2.0), "table vm, row 8, vmTypeId: 10.5 is not a whole number from 0 on"),
        ((1, None, 10, 0, 1.0, 2.0), "table vm, row 8, tenantId: nan is not a whole number from 0 on"),
        ((1, 2, 10, 0, 1.0, 1e9), "table vm, row 8, endtime: 1e+09 is not a time"),
        ((1, 2, 10, 0, float("-inf"), 2.0), "table vm, row 8, starttime: -inf is not a time"),
    ],
)
def test_a_bad_request_is_named(tmp_path: Path, request_: tuple[Any, ...], problem: str) -> None:
    file = database(tmp_path / "a.sqlite", [*REQUESTS, request_])
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


def test_other_databases(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with pytest.raises(InputError, match=r"other\.sqlite: no table vm: not Azure's trace for packing"):
        read_trace(other)
    view = database(
        tmp_path / "view.sqlite",
        [],
        (SCHEMA[0], SCHEMA[1].replace("TABLE vm ", "TABLE real_vm "), "CREATE TABLE vm (a, b, c, d, e, f)"),
    )
    with pytest.raises(InputError, match=r"view\.sqlite: table vm: column vmTypeId is missing"):
        read_trace(view)
    with closing(sqlite3.connect(view)) as connection:
        connection.execute("DROP TABLE vm")
        connection.execute("CREATE VIEW vm AS SELECT * FROM real_vm")  # a view could compute anything
    with pytest.raises(InputError, match="no table vm"):
        read_trace(view)
    with pytest.raises(InputError, match="table vm is empty"):
        read_trace(database(tmp_path / "empty.sqlite", []))


def test_damaged_databases(tmp_path: Path) -> None:
    whole = database(tmp_path / "a.sqlite", REQUESTS * 200).read_bytes()
    for n, data in enumerate((whole[:3000], whole[: len(whole) // 2], b"SQLite format 3\0" + b"\xff" * 5000, b"no database")):
        damaged = tmp_path / f"{n}.sqlite"
        damaged.write_bytes(data)
        with pytest.raises(InputError, match=f"{n}.sqlite"):
            read_trace(damaged)


def test_more_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKENV_MEMORY", "0.001")
    with pytest.raises(InputError, match=r"more than 0\.001 GB of memory"):
        read_trace(database(tmp_path / "a.sqlite", REQUESTS * 2_000))
