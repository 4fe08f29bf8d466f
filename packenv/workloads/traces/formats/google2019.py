"""Google's cluster traces of 2019: events of instances.

They are a sample or an export in CSV, Parquet or JSON (a row a line). An event has a time in µs, a type, the collection (job) and
the index of the instance in it, and the request in shares of the largest machine. Exports of `instance_events` name the type
`type`, and the request `resource_request.cpus` and `.memory`, or an object `resource_request`. The sample `borg_traces_data.csv`
names the type in words (`event`) and writes the object as text. Each row of that sample also has a window of use (`start_time`,
`end_time`). It is no duration, and is not read.

The events of an instance become a task as in Google's trace of 2011: first submission (or when it was queued, or enabled), last
start, last end, first known request. A reservation (alloc instance) is no task. Events of collections alone have no requests.
Source: Wilkes et al., "Google cluster-usage traces v3", 2020; github.com/google/cluster-data, clusterdata_trace_format_v3.proto.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.json_files import parse_json
from packenv.inputs.memory import Memory
from packenv.inputs.text_files import lines_of
from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.formats import TraceFormat, google2011
from packenv.workloads.traces.trace import Trace, Wanted, resource_names

Ints = NDArray[np.int64]

RESOURCES = ("cpu", "memory")
FIELDS = {"cpu": "cpus", "memory": "memory"}  # of a request
REQUEST = "resource_request"
IDENTITY = ("time", "collection_id", "instance_index")
OTHERS = ("priority", "scheduling_class", "collection_type", "cluster")
TYPES = ("SUBMIT", "QUEUE", "ENABLE", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "UPDATE_PENDING", "UPDATE_RUNNING")
IN_2011 = np.array(
    [
        *[google2011.SUBMIT] * 3,
        google2011.SCHEDULE,
        google2011.EVICT,
        google2011.FAIL,
        google2011.FINISH,
        google2011.KILL,
        google2011.LOST,
        7,
        8,
    ]
)
"""The types of 2011, by those of 2019."""

ALLOC = 1  # type of a collection
ABOUT = "capacity 1: the largest machine in each resource; reservations (alloc instances) and windows of use are left out"
RESERVATIONS = "events of reservations (alloc instances)"
PER_LINE = 900  # bytes of memory until it is in a table
DIGITS = 19  # of 2^63 - 1


def read_events(path: Path, choice: Wanted = None) -> Trace:
    """Read a table with a row per event."""
    flat = [f"{REQUEST}.{field}" for field in FIELDS.values()]
    kinds = ("event", "type", "instance_events_type")
    return _trace(Columns.read(path, [*IDENTITY, *OTHERS, *kinds, REQUEST, *flat]), choice)


def read_lines(path: Path, choice: Wanted = None) -> Trace:
    """Read an export in JSON, with one event object per line."""
    names = (*IDENTITY, "type", *OTHERS)
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *FIELDS.values())}
    memory = Memory(path)
    for number, line in enumerate(lines_of(path), 1):
        if not line.strip():
            continue
        memory.reserve(PER_LINE)
        try:
            event = parse_json(line, DIGITS)
        except InputError as problem:
            raise InputError(f"{path}: line {number}: {problem}") from None
        request = event.get(REQUEST) if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(request or {}, dict):
            raise InputError(f"{path}: line {number}: is not an event of an instance")
        for name, values in columns.items():
            value = (request or {}).get(name) if name in FIELDS.values() else event.get(name)
            values.append(None if value is None else str(value))
    of_request = {f"{REQUEST}.{name}": columns.pop(name) for name in FIELDS.values()}
    nonempty = {name: values for name, values in columns.items() if name not in OTHERS or any(values)}
    return _trace(
        Columns(path, pa.table({name: pa.array(values, pa.string()) for name, values in (nonempty | of_request).items()})), choice
    )


def refuse_collections(path: Path, choice: Wanted = None) -> Trace:
    """Raise InputError: only the events of instances have requests."""
    raise InputError(f"{path}: events of collections, without requests: give instance_events")


def _trace(table: Columns, choice: Wanted) -> Trace:
    resources = resource_names(choice, RESOURCES, RESOURCES, table.path)
    if not len(table):
        raise InputError(f"{table.path}: the file is empty")
    time, collection, index = (table.whole(name) for name in IDENTITY)
    for name, values in zip(IDENTITY, (time, collection, index), strict=True):
        table.require(values >= 0, name, "a number from 0 on is needed, not {}")
    task = np.ones(len(table), np.bool_)
    if "collection_type" in table:
        task = table.whole("collection_type", 0) != ALLOC
    cell = table.whole("cluster", 0) if "cluster" in table else np.zeros(len(table), np.int64)
    events = pa.table(
        {
            "time": time,
            "job": np.unique(np.stack([cell, collection]), axis=1, return_inverse=True)[1].ravel(),
            "task": index,
            "event": IN_2011[_types(table)],
            "priority": _others(table, "priority"),
            "sched_class": _others(table, "scheduling_class"),
            **{name: pa.array(_amounts(table, name), from_pandas=True) for name in resources},
        }
    )
    folded = google2011.fold(events.filter(pa.array(task)), resources, str(table.path))
    dropped = folded.dropped | {RESERVATIONS: int((~task).sum())}
    return Trace(**vars(folded) | {"dropped": dropped, "about": ABOUT})


def _types(table: Columns) -> Ints:
    if "event" in table:
        column = table.column("event").combine_chunks()
        types = np.asarray(pc.index_in(column, value_set=pa.array(TYPES)).fill_null(-1), np.int64)
        table.require(types >= 0, "event", "{} is not a type of event")
        return types
    name = "type" if "type" in table else "instance_events_type"
    types = table.whole(name)
    table.require((types >= 0) & (types < len(TYPES)), name, "{} is not a type of event")
    return types


def _others(table: Columns, name: str) -> Ints:
    return table.whole(name, -1) if name in table else np.full(len(table), -1)


def _amounts(table: Columns, resource: str) -> NDArray[np.float64]:
    """Return the requests of a resource (n,), NaN for none."""
    field = FIELDS[resource]
    if REQUEST not in table:
        return decimals(table, f"{REQUEST}.{field}")
    column = table.raw(REQUEST)
    if pa.types.is_struct(column.type):
        names = [column.type.field(n).name for n in range(column.type.num_fields)]
        if field not in names:
            raise InputError(f"{table.path}: column {REQUEST} has no field {field}")
        return decimals(Columns(table.path, pa.table({REQUEST: pc.struct_field(column, field)})), REQUEST)
    text = table.column(REQUEST)
    written = np.asarray(pc.match_substring_regex(text, r"^\{.*\}$").fill_null(True))
    table.require(written, REQUEST, "{} is not a request such as {{'cpus': 0.1, 'memory': 0.2}}")
    amount = pc.struct_field(pc.extract_regex(text, rf"['\"]{field}['\"]\s*:\s*(?P<amount>[^,}}\s]+)"), "amount")
    amounts = pc.if_else(pc.is_in(amount, value_set=pa.array(["None", "null", "nan"])), pa.scalar(None, pa.string()), amount)
    return decimals(Columns(table.path, pa.table({REQUEST: amounts})), REQUEST)


def begins_with_event(path: Path) -> bool:
    """Return whether the first line is an instance event in JSON."""
    try:
        first = next((line for line in lines_of(path) if line.strip()), "")
        event = json.loads(first) if first.startswith("{") else None
    except (InputError, ValueError, RecursionError):
        return False
    return isinstance(event, dict) and {"collection_id", "instance_index"} <= set(event)


FORMATS = (
    TraceFormat(read_events, columns=frozenset({*IDENTITY, "type"})),
    TraceFormat(read_events, columns=frozenset({*IDENTITY, "instance_events_type"})),
    TraceFormat(read_events, columns=frozenset({*IDENTITY, "event"})),
    TraceFormat(refuse_collections, columns=frozenset({"time", "type", "collection_id", "collection_logical_name"})),
    TraceFormat(read_lines, content=begins_with_event),
)
