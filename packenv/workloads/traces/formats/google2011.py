"""Google's cluster trace of 2011 (clusterdata-2011-2).

It is the published folder of events, or a file with a row per task. The folder holds `task_events/part-?????-of-?????.csv.gz`, an
event per row: time in µs, missing information, job, index of the task in it, machine, type of event, user, scheduling class,
priority, requests of cpu, memory and disk (fractions of the largest machine), and whether tasks of the job must be on different
machines. The events of a task become one row: first submission, last start, last end, first known requests. Time 0 means before
the trace, 2^63-1 after it.
Source: Reiss, Wilkes and Hellerstein, "Google cluster-usage traces: format + schema", 2011.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.workloads.traces.columns import Columns, decimals, headless
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.times import MISSING, microseconds
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Value = TypeVar("Value", np.int64, np.float64)

RESOURCES = ("cpu", "memory", "disk")
USUAL_RESOURCES = ("cpu", "memory")  # those in the papers
AFTER_THE_TRACE = 2**63 - 1
SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)

EVENT_COLUMNS = {
    "time": pa.int64(),
    "missing": pa.int64(),
    "job": pa.int64(),
    "task": pa.int64(),
    "machine": pa.int64(),
    "event": pa.int64(),
    "user": pa.string(),
    "sched_class": pa.int64(),
    "priority": pa.int64(),
    "cpu": pa.float64(),
    "memory": pa.float64(),
    "disk": pa.float64(),
    "different_machines": pa.int64(),
}
UNUSED = ("missing", "machine", "user", "different_machines")
FOLDED_COLUMNS = ("submit_time_s", "schedule_time_s", "end_time_s", "end_event", "in_snapshot", "job_id", "task_index")
FOLDED_RESOURCES = {"cpu": "cpu", "memory": "mem", "disk": "disk"}


def parts(folder: Path) -> list[Path]:
    """Return a published folder's files of task events, in order."""
    return sorted((folder / "task_events").glob("part-*-of-*.csv.gz"))


def read_folder(folder: Path, choice: Wanted = None) -> Trace:
    """Read all parts in a published folder."""
    resources = resource_names(choice, RESOURCES, USUAL_RESOURCES, folder)
    skip = (*UNUSED, *(name for name in RESOURCES if name not in resources))
    files = [headless(part, EVENT_COLUMNS, skip) for part in parts(folder)]
    for file in files:
        for name in ("time", "job", "task", "event"):
            file.require(file.whole(name, MISSING) >= 0, name, "a number from 0 on is needed, not {}")
        for name in resources:
            file.require(file.numbers(name, 0.0) >= 0, name, "{} is negative")
    events = pa.concat_tables([file.table for file in files])
    if not len(events):
        raise InputError(f"{folder}: task_events is empty")
    return fold(events, resources, str(folder))


def fold(events: pa.Table, resources: tuple[str, ...], source: str) -> Trace:
    """Combine EVENT_COLUMNS into one row per task, by (submission, job, task)."""
    # Sort events by task and time.
    time, job, task, event = (events[name].to_numpy() for name in ("time", "job", "task", "event"))
    order = np.lexsort((time, task, job))
    order = order[time[order] != AFTER_THE_TRACE]
    time, job, task, event = time[order], job[order], task[order], event[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (job[1:] != job[:-1]) | (task[1:] != task[:-1])
    owner = np.cumsum(new) - 1  # each event's task
    n = int(new.sum())

    # First submission, ends and first known requests of each task.
    submit = _first(time, event == SUBMIT, owner, n, MISSING)
    ends = (event >= EVICT) & (event <= LOST)
    demand = np.empty((n, len(resources)))
    for r, name in enumerate(resources):
        amount = events[name].fill_null(np.nan).to_numpy()[order]
        demand[:, r] = _first(amount, ~np.isnan(amount), owner, n, np.nan)
    rows = np.lexsort((task[new], job[new], submit))
    never = int((submit == MISSING).sum())  # sorted first: tasks whose submission is not in the files
    rows = rows[never:]
    others = {name: events[name].fill_null(MISSING).to_numpy()[order][new][rows] for name in ("priority", "sched_class")}
    return Trace(
        submit=submit[rows],
        schedule=_last(time, event == SCHEDULE, owner, n, MISSING)[rows],
        end=_last(time, ends, owner, n, MISSING)[rows],
        demand=demand[rows],
        resources=resources,
        finished=_last(event, ends, owner, n, MISSING)[rows] == FINISH,
        in_snapshot=submit[rows] == 0,
        job=job[new][rows],
        others=others,
        source=source,
        finished_only=True,
        dropped={"submission not in the files": never},
    )


def read_folded(path: Path, choice: Wanted = None) -> Trace:
    """Read a row per task: seconds, fractions, `end_event` 4 for finished."""
    resources = resource_names(choice, RESOURCES, USUAL_RESOURCES, path)
    table = Columns.read(path, [*FOLDED_COLUMNS, *FOLDED_RESOURCES.values(), "priority", "sched_class"])
    submit = microseconds(table, "submit_time_s", None)
    job, task = table.whole("job_id"), table.whole("task_index")
    rows = np.lexsort((task, job, submit))
    demand = [decimals(table, FOLDED_RESOURCES[name]) for name in resources]
    return Trace(
        submit=submit[rows],
        schedule=microseconds(table, "schedule_time_s", MISSING)[rows],
        end=microseconds(table, "end_time_s", MISSING)[rows],
        demand=np.stack(demand, axis=1)[rows],
        resources=resources,
        finished=table.whole("end_event", MISSING)[rows] == FINISH,
        in_snapshot=table.truths("in_snapshot")[rows],
        unfit={TWICE: table.repeated("job_id", *table.names)[rows]},
        job=job[rows],
        others={name: table.whole(name, MISSING)[rows] for name in ("priority", "sched_class") if name in table},
        source=str(path),
        finished_only=True,
        rows=rows + 1,
    )


def _first(values: NDArray[Value], where: Bools, owner: Ints, n: int, otherwise: float) -> NDArray[Value]:
    """Return each task's first value in `where` (n,), or `otherwise`."""
    return _last(values[::-1], where[::-1], owner[::-1], n, otherwise)


def _last(values: NDArray[Value], where: Bools, owner: Ints, n: int, otherwise: float) -> NDArray[Value]:
    """Return each task's last value in `where` (n,), or `otherwise`."""
    last = np.full(n, otherwise, values.dtype)
    last[owner[where]] = values[where]  # of several events of a task, the last assignment stays
    return last


FORMATS = (
    TraceFormat(read_folder, folder=lambda folder: bool(parts(folder))),
    TraceFormat(read_folded, columns=frozenset(FOLDED_COLUMNS)),
)
