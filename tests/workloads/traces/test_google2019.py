"""Google's traces of 2019, worked by hand: the sample's form, exports in CSV and JSON lines, and Parquet with objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packenv.errors import InputError
from packenv.units import UNIT
from packenv.workloads.traces import Trace, read_trace
from packenv.workloads.traces.formats.google2019 import TYPES
from tests.workloads.traces.samples import gz, text

# time µs, type, collection, index, collection type, priority, cpus, memory
EVENTS: list[tuple[Any, ...]] = [
    (0, "SUBMIT", 5, 0, 0, 100, 0.5, 0.25),  # there when the trace began
    (1_000_000, "QUEUE", 8, 1, 0, 200, 0.125, 0.25),  # its SUBMIT is not in the file
    (1_000_000, "ENABLE", 8, 0, 0, 200, None, None),
    (1_250_000, "SCHEDULE", 8, 0, 0, 200, 0.5, 0.25),  # its request, known only now
    (1_250_000, "SCHEDULE", 8, 1, 0, 200, 0.125, 0.25),
    (1_300_000, "UPDATE_RUNNING", 8, 1, 0, 200, 0.25, 0.5),
    (1_350_000, "FINISH", 8, 1, 0, 200, 0.125, 0.25),
    (1_400_000, "EVICT", 8, 0, 0, 200, 0.5, 0.25),
    (1_500_000, "SCHEDULE", 8, 0, 0, 200, 0.5, 0.25),
    (1_750_000, "FINISH", 8, 0, 0, 200, 0.5, 0.25),
    (1_500_000, "SUBMIT", 9, 0, 1, 200, 0.5, 0.25),  # a reservation
    (1_600_000, "SCHEDULE", 9, 0, 1, 200, 0.5, 0.25),
    (1_700_000, "FINISH", 10, 0, 0, 200, 0.5, 0.25),  # neither submission nor start in the file
    (1_800_000, "SUBMIT", 11, 0, 0, 200, 0.5, 0.25),
    (1_900_000, "SCHEDULE", 11, 0, 0, 200, 0.5, 0.25),
    (2_000_000, "KILL", 11, 0, 0, 200, 0.5, 0.25),
    (2**63 - 1, "FINISH", 5, 0, 0, 100, 0.5, 0.25),  # after the trace
]
EXPORT = "time,type,collection_id,instance_index,collection_type,priority,resource_request.cpus,resource_request.memory"
SAMPLE = (
    ",time,instance_events_type,collection_id,collection_type,priority,instance_index,resource_request,start_time,end_time,"
    "cluster,event"
)


def said(value: float | None) -> str:
    return "" if value is None else str(value)


def export(where: Path) -> Path:
    rows = [f"{t},{TYPES.index(e)},{c},{i},{k},{p},{said(cpu)},{said(mem)}" for t, e, c, i, k, p, cpu, mem in EVENTS]
    return text(where / "instance_events.csv", EXPORT, *rows)


def sample(where: Path) -> Path:
    """As the sample: a type in words, the request as text, and a window of use."""
    rows = [
        f"{n},{t},{n % 4},{c},{k},{p},{i},\"{{'cpus': {cpu}, 'memory': {mem}}}\",0,300000000,7,{e}"
        for n, (t, e, c, i, k, p, cpu, mem) in enumerate(EVENTS)
    ]
    return text(where / "borg_traces_data.csv", SAMPLE, *rows)


def lines(where: Path, compressed: bool = True) -> Path:
    """As Google's buckets: whole numbers as text, and nothing where there is nothing."""
    rows = []
    for t, e, c, i, k, p, cpu, mem in EVENTS:
        event = {
            "time": str(t),
            "type": str(TYPES.index(e)),
            "collection_id": str(c),
            "instance_index": str(i),
            "priority": str(p),
        }
        request = {} if cpu is None else {"resource_request": {"cpus": cpu, "memory": mem}}
        rows.append(json.dumps(event | {"collection_type": str(k)} | request))
    return gz(where / "instance_events-000000000000.json.gz", rows) if compressed else text(where / "events.json", *rows)


def objects(where: Path) -> Path:
    names = ("time", "type", "collection_id", "instance_index", "collection_type", "priority")
    columns: dict[str, Any] = dict(zip(names, zip(*(row[:6] for row in EVENTS), strict=True), strict=True))
    columns["type"] = [TYPES.index(event) for event in columns["type"]]
    columns["resource_request"] = [None if row[6] is None else {"cpus": row[6], "memory": row[7]} for row in EVENTS]
    pq.write_table(pa.table({name: [*values] for name, values in columns.items()}), where / "events.parquet")
    return where / "events.parquet"


@pytest.mark.parametrize("made", [export, sample, lines, objects, lambda where: lines(where, compressed=False)])
def test_events_become_tasks(tmp_path: Path, made: Any) -> None:
    trace = read_trace(made(tmp_path))
    assert isinstance(trace, Trace) and trace.resources == ("cpu", "memory")
    jobs, dropped, t0 = trace.jobs(slot_seconds="0.05", sizes="all")
    assert t0 == 1_000_000
    assert jobs.arrival.tolist() == [0, 0]
    assert jobs.service.tolist() == [5, 2]  # from the last start of each to its end
    assert jobs.demand.tolist() == [[UNIT // 2, UNIT // 4], [UNIT // 8, UNIT // 4]]
    assert jobs.job is not None and len({*jobs.job.tolist()}) == 1
    assert {reason: count for reason, count in dropped.items() if count} == {
        "submission not in the files": 1,
        "events of reservations (alloc instances)": 2,
        "in the initial snapshot": 1,
        "not finished": 1,
    }
    assert trace.others["priority"].tolist() == [100, 200, 200, 200]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("5,11,1,0,0,0,0.5,0.5", "row 18, column type: 11 is not a type of event"),
        ("5,0,-1,0,0,0,0.5,0.5", "row 18, column collection_id: a number from 0 on is needed, not -1"),
        ("5,0,1,,0,0,0.5,0.5", "row 18, column instance_index: is empty"),
        ("5,0,1,0,0,0,-0.5,0.5", "row 18, column resource_request.cpus: -0.5 is negative"),
        ("5,0,1,0,0,0,much,0.5", "row 18, column resource_request.cpus: 'much' is not a number"),
    ],
)
def test_a_bad_event_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = export(tmp_path)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ("lots", "row 18, column resource_request: lots is not a request such as {'cpus': 0.1, 'memory': 0.2}"),
        ("{'cpus': 'x', 'memory': 1}", "row 18, column resource_request: \"'x'\" is not a number"),
        (
            "{'cpus': __import__('os').abort(), 'memory': 1}",
            "row 18, column resource_request: \"__import__('os').abort()\" is not a number",
        ),
    ],
)
def test_requests_are_not_evaluated(tmp_path: Path, request_: str, problem: str) -> None:
    file = sample(tmp_path)
    file.write_text(file.read_text() + f'17,5,0,1,0,0,0,"{request_}",0,1,7,SUBMIT\n')
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: {problem}"


def test_bad_lines(tmp_path: Path) -> None:
    good = lines(tmp_path, compressed=False).read_text()
    for line, problem in (("[1]", "line 18: is not an event of an instance"), ('{"time": 1', "line 18: not JSON")):
        with pytest.raises(InputError, match=f"bad.json: {problem}"):
            read_trace(text(tmp_path / "bad.json", good.rstrip(), line))


def test_events_of_collections_say_no_request(tmp_path: Path) -> None:
    file = text(tmp_path / "collection_events.csv", "time,type,collection_id,collection_logical_name", "0,0,1,a")
    with pytest.raises(InputError, match="events of collections, without requests: give instance_events"):
        read_trace(file)
