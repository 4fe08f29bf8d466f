"""Job lines of Hawk and Eagle's simulator (.tr, PAPERS §4).

A line is `arrival n_tasks mean d1 d2 …`, in seconds. Every duration is a task, which takes one slot of a server. The mean is the
scheduler's estimate of all durations of the job. Parquet has a row for each job and columns submit_time_s, num_tasks,
mean_task_duration_s and task_duration_s (lists). Jobs may be in any order.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import excerpt, is_number, read_number
from packenv.inputs.text_files import lines_of
from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.times import LATEST, SECOND
from packenv.workloads.traces.trace import Trace, Wanted, resource_names

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HEAD = ("arrival", "n_tasks", "mean")
COLUMNS = ("submit_time_s", "num_tasks", "mean_task_duration_s", "task_duration_s")
RESOURCES = ("slot",)
SLOT_SECONDS = "0.0005"
"""The one-way network delay of PAPERS §4: the shortest time that matters in these traces."""

ABOUT = "capacity 1: a slot of a server, which every task takes whole"
LARGEST = LATEST / SECOND
PER_TASK = 150  # bytes of memory until it is in a Jobs table


def read_job_lines(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per duration."""
    numbers, width, line = array("d"), array("q"), array("q")
    memory = Memory(path)
    for number, text in enumerate(lines_of(path), 1):
        fields = text.split()
        if fields:
            memory.reserve(PER_TASK * len(fields))
            try:
                numbers.extend(map(float, fields) if text.isascii() and "_" not in text else map(read_number, fields))
            except ValueError:
                raise InputError(f"{path}: line {number}: {_not_a_number(fields)}") from None
            width.append(len(fields))
            line.append(number)
    if not width:
        raise InputError(f"{path}: the file is empty")
    values, widths = np.array(numbers), np.array(width)
    _check_lines(path, values, widths, np.array(line))
    # Separate the heads of lines from durations.
    first = np.cumsum(widths) - widths
    arrival, count, mean = (values[first + n] for n in range(len(HEAD)))
    durations = np.delete(values, np.concatenate([first + n for n in range(len(HEAD))]))
    return _trace(path, arrival, count.astype(np.int64), mean, durations, choice)


def read_job_rows(path: Path, choice: Wanted = None) -> Trace:
    """Read the Parquet form."""
    table = Columns.read(path, COLUMNS)
    if not len(table):
        raise InputError(f"{path}: the file is empty")
    arrival, count, mean = decimals(table, COLUMNS[0]), table.whole(COLUMNS[1]), decimals(table, COLUMNS[2])
    lists = table.column(COLUMNS[3]).combine_chunks()
    is_list = pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)
    if not is_list or not pa.types.is_floating(lists.type.value_type):
        raise InputError(f"{path}: column {COLUMNS[3]} holds {lists.type}, not lists of seconds")
    length = np.asarray(lists.value_lengths().fill_null(0), np.int64)
    table.require(arrival < LARGEST, COLUMNS[0], "{} is not a time")
    table.require((count >= 1) & (count == length), COLUMNS[1], "{} is not the number of durations, or 0")
    table.require((mean > 0) & (mean < LARGEST), COLUMNS[2], "{} is not above 0")
    flat = lists.flatten()
    seconds = flat.cast(pa.float64()).fill_null(np.nan).to_numpy()
    bad = ~((seconds >= 0) & (seconds < LARGEST))
    if bad.any():
        row = int(np.repeat(np.arange(len(length)), length)[np.argmax(bad)])
        raise table.error(row, COLUMNS[3], "a duration is missing, negative or too large")
    durations = decimals(Columns(path, pa.table({COLUMNS[3]: flat})), COLUMNS[3])
    return _trace(path, arrival, count, mean, durations, choice)


def _trace(path: Path, arrival: Floats, count: Ints, mean: Floats, durations: Floats, choice: Wanted) -> Trace:
    """Return the tasks in order of arrival, count[j] for job j."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    by_arrival = np.argsort(arrival, kind="stable")
    row = np.argsort(np.repeat(np.argsort(by_arrival), count), kind="stable")
    job = np.repeat(np.arange(len(count)), count[by_arrival])
    submit, estimates = (_microseconds(of[by_arrival])[job] for of in (arrival, mean))
    n = len(job)
    return Trace(
        submit=submit,
        schedule=submit,
        end=submit + _microseconds(durations[row]),
        demand=np.ones((n, 1)),
        resources=resources,
        finished=None,
        in_snapshot=np.zeros(n, np.bool_),
        job=job,
        requested=estimates,
        source=str(path),
        rows=by_arrival[job] + 1,
        about=ABOUT,
        slot_seconds=SLOT_SECONDS,
    )


def _check_lines(path: Path, values: Floats, widths: Ints, line: Ints) -> None:
    first = np.cumsum(widths) - widths
    owner = np.repeat(np.arange(len(widths)), widths)
    bad_line = np.zeros(len(widths), np.bool_)
    bad_line[owner[~((values >= 0) & (values < LARGEST))]] = True
    bad_line |= widths <= len(HEAD)
    full = ~bad_line
    count, mean = values[first[full] + 1], values[first[full] + 2]
    bad_line[full] = (count != widths[full] - len(HEAD)) | (mean == 0)
    if bad_line.any():
        n = int(np.argmax(bad_line))
        raise InputError(f"{path}: line {line[n]}: {_problem(values[first[n] : first[n] + widths[n]])}")


def _problem(job: Floats) -> str:
    names = [*HEAD, *(f"duration {n + 1}" for n in range(len(job) - len(HEAD)))]
    for name, value in zip(names, job.tolist(), strict=False):
        if not np.isfinite(value):
            return f"{name} {value} is not a finite number"
        if value < 0:
            return f"{name} {value:g} is negative"
        if value >= LARGEST:
            return f"{name} {value:g} is too large"
    if len(job) <= len(HEAD):
        return f"{len(job)} numbers; a job has {', '.join(HEAD)} and a duration for each task"
    if job[1] != len(job) - len(HEAD):
        return f"{len(job) - len(HEAD)} durations for n_tasks {job[1]:g}"
    return "mean 0 is not above 0"


def _not_a_number(fields: list[str]) -> str:
    names = [*HEAD, *(f"duration {n + 1}" for n in range(len(fields)))]
    name, word = next((name, word) for name, word in zip(names, fields, strict=False) if not is_number(word))
    return f"{name} {excerpt(word)} is not a number"


def _microseconds(seconds: Floats) -> Ints:
    return np.rint(seconds * SECOND).astype(np.int64)


FORMATS = (
    TraceFormat(read_job_lines, endings=(".tr", ".tr.gz")),
    TraceFormat(read_job_rows, columns=frozenset(COLUMNS)),
)
