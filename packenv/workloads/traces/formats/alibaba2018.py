"""Alibaba's batch tasks of 2018, and a sample of DAG jobs.

`batch_task.csv` has no header; the same columns with a header are read too. A task asks for cores (100 is one) and memory
(percent of the largest machine), for each of its instances. Its name has its predecessors in the job: `R3_1_2` is task 3, after
tasks 1 and 2. Letters mean nothing. Names of other forms, such as `task_Nzg3`, are independent. Tasks with a number arrive when
their job's first task starts, the others when they start. Times are in seconds. 0 is a time outside the 8 days of the trace.

The recorded start of a task is its registration, often with its whole job. It is in service from then, or from the last end of
its predecessors, until its end.

A row is one instance of its task, for the task's time: links between all instances of two tasks are far too many for a table.
The other instances are counted as dropped, and so are links to missing tasks, and links of tasks in a circle. The sample has a
row `time, job, name, duration, cpu, memory, instances` for each task of some jobs, and no header either. Its times are the
jobs' times, and its durations count from them: in nineteen of twenty chains of two the later task has the longer one. Source:
github.com/alibaba/clusterdata, cluster-trace-v2018 (trace_2018.md; 96 cores a machine: machine_meta.csv).
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from packenv.jobs import Ragged
from packenv.workloads.traces.columns import Columns, decimals, headless
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.links import levels, reordered
from packenv.workloads.traces.times import MISSING, microseconds
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names

Ints = NDArray[np.int64]

LARGEST_MACHINE = {"cpu": 9600.0, "memory": 100.0}  # 96 cores, of 100 each; percent
RESOURCES = tuple(LARGEST_MACHINE)
TASK_COLUMNS = {
    "task_name": pa.string(),
    "instance_num": pa.float64(),
    "job_name": pa.string(),
    "task_type": pa.string(),
    "status": pa.string(),
    "start_time": pa.float64(),
    "end_time": pa.float64(),
    "plan_cpu": pa.float64(),
    "plan_mem": pa.float64(),
}
SAMPLE_COLUMNS = {
    "time": pa.float64(),
    "job_name": pa.string(),
    "task_name": pa.string(),
    "duration": pa.float64(),
    "plan_cpu": pa.float64(),
    "plan_mem": pa.float64(),
    "instance_num": pa.float64(),
}
FINISHED = "Terminated"
NAME = r"^[A-Za-z]+(?P<number>[0-9]{1,9})(?P<before>(?:_[0-9]{1,9})*)(?:_Stg[0-9]+)?$"
JOB = re.compile(r"j_[0-9]+")
ABOUT = "capacity 1: a machine of 96 cores and the largest memory; one instance of each task"
EARLY = "tasks that were registered while others ran that they wait for, and count from the end of these"
INSTANCES = "further instances of a task"
NO_PARENT = "links to a task that is not in its job"
CIRCLE = "links of tasks that wait for each other in a circle"


def read_tasks(path: Path, choice: Wanted = None) -> Trace:
    """Read `batch_task`, with a header."""
    return _of_tasks(Columns.read(path, [*TASK_COLUMNS]), choice)


def read_headless_tasks(path: Path, choice: Wanted = None) -> Trace:
    """Read `batch_task.csv` as published."""
    return _of_tasks(headless(path, TASK_COLUMNS, ("task_type",)), choice)


def read_sample(path: Path, choice: Wanted = None) -> Trace:
    """Read the sample of finished tasks."""
    table = headless(path, SAMPLE_COLUMNS)
    submit, duration = microseconds(table, "time", None), microseconds(table, "duration", MISSING)
    end = np.where(duration == MISSING, MISSING, submit + duration)
    return _trace(table, submit, submit, end, np.ones(len(table), np.bool_), choice)


def _of_tasks(table: Columns, choice: Wanted) -> Trace:
    start, end = (np.where((time := microseconds(table, name, 0)) > 0, time, MISSING) for name in ("start_time", "end_time"))
    status = table.column("status").combine_chunks().fill_null("")
    return _trace(table, start, start, end, np.asarray(pc.equal(status, FINISHED)), choice)


def _trace(
    table: Columns,
    submit: Ints,
    start: Ints,
    end: Ints,
    finished: NDArray[np.bool_],
    choice: Wanted,
) -> Trace:
    """Return the tasks in order of arrival, predecessors first."""
    resources = resource_names(choice, RESOURCES, RESOURCES, table.path)
    job = _numbered(table, "job_name")
    twice = table.repeated("job_name", *table.names)
    instances = table.whole("instance_num", 1)
    table.require(instances >= 0, "instance_num", "{} is negative")
    demand = {"cpu": decimals(table, "plan_cpu"), "memory": decimals(table, "plan_mem")}
    number, links, no_parent = _links(table, job)
    # Without circles, in order of arrival and precedence.
    level = levels(links)
    # The links without those in or after circles, and their number.
    owner = np.repeat(np.arange(len(level)), np.diff(links.offsets))
    acyclic = (level[owner] >= 0) | (level[links.values] >= 0)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[acyclic], minlength=len(level)))]).astype(np.int64)
    links, circle = Ragged(offsets, links.values[acyclic]), int((~acyclic).sum())
    start, early = _after_predecessors(start, end, links)
    arrival = np.where(number >= 0, _first_of_job(job, submit), submit)
    arrival = np.maximum(arrival, 0)  # of tasks without a start, which are dropped
    rows = np.lexsort((levels(links) if circle else level, arrival))
    return Trace(
        submit=arrival[rows],
        schedule=start[rows],
        end=end[rows],
        demand=np.stack([demand[name] / LARGEST_MACHINE[name] for name in resources], axis=1)[rows],
        resources=resources,
        finished=finished[rows],
        in_snapshot=np.zeros(len(rows), np.bool_),
        unfit={TWICE: twice[rows]},
        job=job[rows],
        predecessors=reordered(links, rows),
        source=str(table.path),
        rows=rows + 1,
        about=ABOUT + (f"; {EARLY}: {early:,}" if early else ""),
        dropped={INSTANCES: int(np.maximum(instances - 1, 0)[~twice].sum()), NO_PARENT: no_parent, CIRCLE: circle},
    )


def _links(table: Columns, job: Ints) -> tuple[Ints, Ragged, int]:
    """Return task numbers (n,) or -1, predecessors' rows, and lost links."""
    name = table.column("task_name").combine_chunks().fill_null("")
    parts = pc.extract_regex(name, NAME)
    number = pc.struct_field(parts, "number").cast(pa.int64()).fill_null(-1).to_numpy()
    parts_of_name = pc.split_pattern(pc.struct_field(parts, "before").fill_null(""), "_")
    offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(parts_of_name).to_numpy())])
    flat = pc.list_flatten(parts_of_name)
    filled = np.asarray(pc.not_equal(flat, ""))
    owner = np.repeat(np.arange(len(job)), np.diff(offsets))[filled]
    before = flat.filter(pa.array(filled)).cast(pa.int64()).to_numpy()

    order = np.lexsort((number, job))
    order = order[number[order] >= 0]
    key, pairs = _key(job[order], number[order]), _key(job[owner], before)
    low, high = np.searchsorted(key, pairs), np.searchsorted(key, pairs, "right")
    matches = high - low  # tasks of the job with that number: one, if the trace is sound
    row = order[np.repeat(low, matches) + np.arange(matches.sum()) - np.repeat(np.cumsum(matches) - matches, matches)]
    counts = np.bincount(np.repeat(owner, matches), minlength=len(job))
    return number, Ragged(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), row), int((matches == 0).sum())


def _key(job: Ints, number: Ints) -> Ints:
    return job * 10**9 + number


def _after_predecessors(start: Ints, end: Ints, links: Ragged) -> tuple[Ints, int]:
    """Return starts (n,), after predecessors' ends, and how many are later so.

    A predecessor's end after the task's own end does not count: the record shows that the task did not wait for it.
    """
    owner = np.repeat(np.arange(len(start)), np.diff(links.offsets))
    begins = start.copy()
    counts = (start[owner] != MISSING) & (end[links.values] <= end[owner])
    np.maximum.at(begins, owner[counts], end[links.values][counts])
    return begins, int((begins > start).sum())


def _first_of_job(job: Ints, start: Ints) -> Ints:
    """Return the first known start in each row's job (n,), else MISSING."""
    never = np.iinfo(np.int64).max
    first = np.full(int(job.max(initial=-1)) + 1, never)
    np.minimum.at(first, job, np.where(start == MISSING, never, start))
    return np.where(first == never, MISSING, first)[job]


def _numbered(table: Columns, name: str) -> Ints:
    column = table.column(name).combine_chunks()
    table.require(np.asarray(pc.is_valid(column)), name, "is empty")
    return np.asarray(pc.index_in(column, value_set=pc.unique(column)), np.int64)


def _is_task(row: list[str]) -> bool:
    return len(row) == len(TASK_COLUMNS) and JOB.fullmatch(row[2]) is not None


def _is_sample(row: list[str]) -> bool:
    return len(row) == len(SAMPLE_COLUMNS) and JOB.fullmatch(row[1]) is not None


FORMATS = (
    TraceFormat(read_headless_tasks, first_row=_is_task),
    TraceFormat(read_sample, first_row=_is_sample),
    TraceFormat(read_tasks, columns=frozenset({*TASK_COLUMNS} - {"task_type"})),
)
