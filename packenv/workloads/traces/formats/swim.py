"""Facebook samples of SWIM: jobs with bytes read, shuffled and written.

Samples are as published (.tsv) or in Parquet. A line holds job, submission (s), gap since the previous job, bytes read, shuffled
and written and, in one sample, the path that the job reads. The data have no tasks, durations or places. The reader adds:

maps     one task for every 128 MiB read, at least one; they write the output of the job if nothing is shuffled
reduces  one task for every GB shuffled, at most 999, after all maps have ended; they write the output of the job
seconds  1 to start, and 32 MB/s for everything read and written; a map away from its data reads at 8 MB/s
demands  a server of capacity 1 runs four tasks at one time
places   of blocks are drawn by seed (packenv.workloads.named.blocks.Placed); the same part of the same path is one block

Source: Chen, Ganapathi, Griffith, Katz, "The case for evaluating MapReduce performance using workload suites", MASCOTS 2011;
github.com/SWIMProjectUCB/SWIM.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import is_number, read_number, read_whole
from packenv.inputs.text_files import lines_of
from packenv.workloads.traces.columns import Columns
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.times import LATEST, SECOND
from packenv.workloads.traces.trace import Trace, Wanted, resource_names

Ints = NDArray[np.int64]

BLOCK = 128 * 2**20
PER_REDUCE, MOST_REDUCES = 10**9, 999
START, SPEED, REMOTE_SPEED = 1.0, 32e6, 8e6  # seconds, bytes per second
TASKS_AT_ONCE = 4
MOST_TASKS = 50_000_000
PER_LINE, PER_TASK = 600, 250  # bytes of memory until they are in a Jobs table
RESOURCES = ("slots",)
DAY = 86_400

AMOUNTS = ("map_input_bytes", "shuffle_bytes", "reduce_output_bytes")
FIELDS = ("job", "submit_time_s", "gap", *AMOUNTS)
ABOUT = (
    "capacity 1: four tasks at once. Made up, for the data have none: tasks (128 MiB read, 1 GB shuffled), durations (1 s, and "
    "32 MB/s; 8 MB/s away from home), places of blocks (drawn by seed)"
)


class Lines(NamedTuple):
    """Columns of a sample, a row for each job."""

    submit: NDArray[np.float64]  # (jobs,) s
    read: Ints  # (jobs,) bytes
    shuffled: Ints
    written: Ints
    path: Ints  # (jobs,) number of the path that it reads


def read_table(path: Path, choice: Wanted = None) -> Trace:
    """Read samples in Parquet or CSV, day by day."""
    columns = Columns.read(path, ["submit_time_s", *AMOUNTS, "input_path_id", "sample"])
    submit = columns.numbers("submit_time_s")
    columns.require((submit >= 0) & (submit * SECOND < LATEST), "submit_time_s", "{} is not a time")
    amounts = [columns.whole(name) for name in AMOUNTS]
    for name, amount in zip(AMOUNTS, amounts, strict=True):
        columns.require(amount >= 0, name, "{} is negative")
    path_of = columns.whole("input_path_id") if "input_path_id" in columns else np.arange(len(columns))
    days = columns.whole("sample") if "sample" in columns else np.zeros(len(columns), np.int64)
    return _trace(Lines(submit + DAY * days, amounts[0], amounts[1], amounts[2], path_of), path, choice)


def is_native(row: list[str]) -> bool:
    """Return whether a headless line has a name and numbers, as published."""
    return len(FIELDS) <= len(row) <= len(FIELDS) + 1 and all(is_number(word) for word in row[1:3]) and not is_number(row[0])


def read_native(path: Path, choice: Wanted = None) -> Trace:
    """Read a sample as published."""
    rows: list[tuple[float, ...]] = []
    paths: dict[str, int] = {}
    memory = Memory(path)
    for number, line in enumerate(lines_of(path), 1):
        if line.strip():
            memory.reserve(PER_LINE + len(line))
            fields = line.rstrip("\r\n").split("\t")
            name = fields[len(FIELDS)] if len(fields) > len(FIELDS) else f"line {number}"
            rows.append((*_row(fields, f"{path}: line {number}"), paths.setdefault(name, len(paths))))
    if not rows:
        raise InputError(f"{path}: the file is empty")
    submit, *amounts = zip(*rows, strict=True)
    read, shuffled, written, path_of = (np.array(column, np.int64) for column in amounts)
    return _trace(Lines(np.array(submit, np.float64), read, shuffled, written, path_of), path, choice)


def _row(fields: list[str], where: str) -> tuple[float, ...]:
    if not len(FIELDS) <= len(fields) <= len(FIELDS) + 1:
        raise InputError(f"{where}: {len(fields)} fields, not {len(FIELDS)} or {len(FIELDS) + 1}, separated by tabs")
    values = []
    for name in FIELDS[1:]:
        word = fields[FIELDS.index(name)]
        try:
            value = read_number(word) if name in ("submit_time_s", "gap") else read_whole(word)
        except InputError as problem:
            raise InputError(f"{where}: {name} {problem}") from None
        if not 0 <= value < (LATEST / SECOND if isinstance(value, float) else LATEST):
            raise InputError(f"{where}: {name} {word} is negative or too large")
        values.append(value)
    return (values[0], *values[2:])


def _trace(lines: Lines, path: Path, choice: Wanted) -> Trace:
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    order = np.argsort(lines.submit, kind="stable")
    lines = Lines(lines.submit[order], lines.read[order], lines.shuffled[order], lines.written[order], lines.path[order])
    # Number of tasks of each job.
    maps = np.maximum(-(-lines.read // BLOCK), 1)
    reduces = np.minimum(-(-lines.shuffled // PER_REDUCE), MOST_REDUCES)
    total = int(maps.sum() + reduces.sum())
    if total > MOST_TASKS:
        raise InputError(f"{path}: {total} tasks, more than {MOST_TASKS}, are too many for a table")
    Memory(path).reserve(PER_TASK * total)
    # Rows of tasks, with the bytes that each reads and writes.
    counts = np.column_stack([maps, reduces]).ravel()  # tasks of each phase: maps of job 0, its reduces, maps of job 1, …
    phase_of = np.repeat(np.arange(len(counts)), counts)
    job, phase = phase_of // 2, phase_of % 2
    number = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)  # of each task in its phase
    reads = np.where(phase == 0, np.clip(lines.read[job] - number * BLOCK, 0, BLOCK), lines.shuffled[job] // counts[phase_of])
    writes = np.where((phase == 1) | (reduces[job] == 0), lines.written[job] // counts[phase_of], 0)
    submit = np.rint(lines.submit[job] * SECOND).astype(np.int64)
    has_block = (phase == 0) & (reads > 0)
    longer = np.where(has_block, reads * (1 / REMOTE_SPEED - 1 / SPEED), 0.0)
    return Trace(
        submit=submit,
        schedule=submit,
        end=submit + np.rint((START + (reads + writes) / SPEED) * SECOND).astype(np.int64),
        demand=np.full((total, 1), 1 / TASKS_AT_ONCE),
        resources=resources,
        finished=None,
        in_snapshot=np.zeros(total, np.bool_),
        job=job,
        others={"phase": phase},
        blocks=_numbers(lines.path[job], number, has_block),
        remote=np.rint(longer * SECOND).astype(np.int64),
        source=str(path),
        rows=order[job] + 1,
        about=ABOUT,
    )


def _numbers(path: Ints, part: Ints, has_block: NDArray[np.bool_]) -> Ints:
    """Number the parts of paths (n,), -1 without a block."""
    numbers = np.full(len(path), -1)
    parts = int(part[has_block].max(initial=0)) + 1
    numbers[has_block] = np.unique(path[has_block] * parts + part[has_block], return_inverse=True)[1].ravel()
    return numbers


FORMATS = (
    TraceFormat(read_native, first_row=is_native),
    TraceFormat(read_table, columns=frozenset({"submit_time_s", *AMOUNTS})),
)
