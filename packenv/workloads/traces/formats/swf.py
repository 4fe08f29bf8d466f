"""Standard Workload Format of parallel jobs.

Files have `;` header lines, then 18 numbers per job, -1 where unknown. A parallel job runs on many nodes, so the whole machine is
one server. Capacity 1 of `cpu` is all its processors (header MaxProcs, or MaxNodes, or else those of the largest job). Without
`servers` there is that one server. Capacity 1 of `memory` is the largest job's. Times are in seconds, and so are slots.

A job's processors are the allocated or the requested ones, whichever are more. Its memory is the memory per processor that it
requested or, if unknown, used, times the processors. By the standard that is in KB. If an amount is above 2^32 (4 TiB per
processor), the file has bytes per job, as MetaCentrum's have. The user is the tenant, 0 if unknown. The requested time is the
scheduler's estimate. The longest one is that in the header (MaxRuntime), or else the longest request.
Submission times are as recorded: preceding jobs and think times are counted, but have no effect. Jobs that failed or were
cancelled (status 0, 5) and ran are load. Lines for parts of a job (status 2 to 4) repeat the line of the job, and are dropped.
Source: Feitelson, Parallel Workloads Archive, "The Standard Workload Format", version 2.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import LARGEST_WHOLE, excerpt, read_number, read_whole
from packenv.inputs.text_files import lines_of
from packenv.workloads.traces.columns import repeated
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.times import MISSING, SECOND
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names, waits_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average cpu time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
WHICH = ("allocated", "requested")
LABELS = ("user", "group", "executable", "queue", "partition")
TIMES = ("submit time", "wait time", "run time", "requested time")
HEADER = re.compile(r"\s*;+\s*(MaxProcs|MaxNodes|MaxRuntime)\s*:\s*(.*?)\s*$", re.ASCII | re.IGNORECASE)
HEADER_NAMES = {name.lower(): name for name in ("MaxProcs", "MaxNodes", "MaxRuntime")}
REMARK = re.compile(r"\s*([(;].*|[a-z]{2}.*)?", re.ASCII | re.IGNORECASE)  # remark behind the number of a header
ENCODING = "latin-1"
PER_JOB = 300  # bytes of memory until it is in a Jobs table
COMPLETED, FIRST_PART, LAST_PART, CANCELLED, UNKNOWN = 1, 2, 4, 5, -1
PART_OF_A_JOB = "part of a job that has a line of its own"
LARGEST_KB = 2.0**32  # per processor: 4 TiB
LATEST = 2.0**53 / SECOND


def begins_with_header(path: Path) -> bool:
    """Return whether the first line of a file is a `;` line."""
    try:
        return next((line for line in lines_of(path, ENCODING) if line.strip()), "").lstrip().startswith(";")
    except InputError:
        return False


def read_swf(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per job, by default with processors only."""
    header, field = _read(path)
    submit, wait, run = (_microseconds(field[name]) for name in ("submit time", "wait time", "run time"))
    processors = np.fmax(*(np.where(field[f"{which} processors"] > 0, field[f"{which} processors"], np.nan) for which in WHICH))
    # Capacity 1: the machine's processors, and the largest job's memory.
    machine, machine_from = _machine(header, processors)
    demands, amounts = {"cpu": processors / machine}, {"cpu": machine}
    capacity = {"cpu": f"{machine:,.0f} processors"}
    memory = _first_recorded(field["requested memory"], field["used memory"])
    in_bytes = bool((memory > LARGEST_KB).any())
    total = memory / 2**10 if in_bytes else memory * processors
    largest = float(np.nanmax(total, initial=0.0))
    if largest > 0:
        demands["memory"] = total / largest
        unit = "bytes per job" if in_bytes else "KB per processor"
        amounts["memory"] = largest / 2**20
        capacity["memory"] = f"{amounts['memory']:,.4g} GiB memory, the largest job's, read as {unit}"
    preceded = int((field["preceding job"] > 0).sum())
    not_followed = f"; preceding jobs, named {preceded:,} times, are not followed" if preceded else ""
    resources = resource_names(choice, tuple(demands), ("cpu",), path)
    of_memory = f"; {capacity['memory']}" if "memory" in resources else ""

    rows = np.argsort(submit, kind="stable")
    start = submit + np.maximum(wait, 0)  # an unknown wait counts as 0: only run times matter
    waits_known, missing = waits_of(wait[run > 0] != MISSING)
    status = field["status"]
    user = field["user"]
    requested = _microseconds(field["requested time"])
    requested = np.where(requested > 0, requested, MISSING)
    return Trace(
        submit=submit[rows],
        schedule=start[rows],
        end=np.where(run == MISSING, np.where(status == CANCELLED, start, MISSING), start + run)[rows],  # no run: never started
        demand=np.stack([demands[name] for name in resources], axis=1)[rows],
        resources=resources,
        finished=np.isin(status, (COMPLETED, UNKNOWN))[rows],
        in_snapshot=np.zeros(len(rows), np.bool_),
        others={"tenant": np.maximum(user, 0).astype(np.int64)[rows]} if (user > 0).any() else {},
        requested=requested[rows] if (requested > 0).any() else None,
        partition=field["partition"][rows].astype(np.int64).astype(np.str_) if (field["partition"] > 0).any() else None,
        longest_request=max(header.get("MaxRuntime", 0) * SECOND, 0),
        unfit={TWICE: _twice(field)[rows], PART_OF_A_JOB: ((status >= FIRST_PART) & (status <= LAST_PART))[rows]},
        source=str(path),
        rows=rows + 1,
        ids=field["job number"].astype(np.int64),
        labels={name: field[name].astype(np.int64) for name in LABELS if (field[name] > 0).any()},
        processors=machine if resources[0] == "cpu" else None,
        machine={name: amounts[name] for name in resources},
        about=f"capacity 1: {', '.join(capacity[name] for name in resources)} ({machine_from}){not_followed}",
        slot_seconds="1",
        servers="1",
        waits=waits_known,
        notes=(f"a server of capacity 1 is the machine: {capacity['cpu']}, {machine_from}{of_memory}", *missing),
    )


def _twice(field: dict[str, Floats]) -> NDArray[np.bool_]:
    return repeated([*field.values()]) & (field["job number"] > 0)


def _read(path: Path) -> tuple[dict[str, int], dict[str, Floats]]:
    header, jobs_follow = _header(path)
    if not jobs_follow:
        raise InputError(f"{path}: the file is empty")
    try:
        table = np.loadtxt(_counted(path), comments=";", usecols=range(len(FIELDS)), ndmin=2)
    except InputError:
        raise
    except ValueError:
        raise _first_problem(path) from None
    field = dict(zip(FIELDS, table.T, strict=True))
    out_of_range = any((field[name] > LATEST).any() for name in TIMES) or (field["submit time"] < 0).any()
    if out_of_range or not (np.abs(table) <= LARGEST_WHOLE).all():
        raise _first_problem(path)
    return header, field


def _counted(path: Path) -> Iterator[str]:
    memory = Memory(path)
    for line in lines_of(path, ENCODING):
        memory.reserve(PER_JOB)
        yield line


def _header(path: Path) -> tuple[dict[str, int], bool]:
    """Return the header's numbers by name, and whether jobs follow."""
    header: dict[str, int] = {}
    jobs_follow = False
    for number, line in enumerate(lines_of(path, ENCODING), 1):
        if ";" not in line:
            jobs_follow = jobs_follow or bool(line.strip())
        elif match := HEADER.match(line):
            name, text = HEADER_NAMES[match[1].lower()], match[2]
            if text[:1].isdigit() or text[:1] in ("+", "-"):
                word = re.split(r"[\s(;]", text, maxsplit=1)[0]
                try:
                    if not REMARK.fullmatch(text[len(word) :]):
                        raise InputError(f"{excerpt(text)} is not a whole number")
                    value = read_whole(word, -LARGEST_WHOLE, int(LATEST) if name == "MaxRuntime" else LARGEST_WHOLE)
                except InputError as problem:
                    raise InputError(f"{path}: line {number}: {name} {problem}") from None
                header[name] = max(value, header.get(name, value))
        else:
            jobs_follow = jobs_follow or bool(line.partition(";")[0].strip())
    return header, jobs_follow


def _first_problem(path: Path) -> InputError:
    for number, line in enumerate(lines_of(path, ENCODING), 1):
        text = line.partition(";")[0]
        if text.strip() and (problem := _problem(text)):
            return InputError(f"{path}: line {number}: {problem}")
    return InputError(f"{path}: cannot be read as Standard Workload Format")


def _problem(line: str) -> str | None:
    fields = line.split()[: len(FIELDS)]
    for name, word in zip(FIELDS, fields, strict=False):
        try:
            value = read_number(word)
        except InputError as problem:
            return f"{name} {problem}"
        if name == "submit time" and value < 0:
            return f"{name} {word} is negative"
        if abs(value) > (LATEST if name in TIMES else LARGEST_WHOLE):
            return f"{name} {word} is too large"
    return None if len(fields) == len(FIELDS) else f"{len(fields)} numbers, not {len(FIELDS)}"


def _first_recorded(first: Floats, second: Floats) -> Floats:
    """Return the first known amount (n,), NaN if both are unknown."""
    return np.where(first > 0, first, np.where(second > 0, second, np.nan))


def _machine(header: dict[str, int], processors: Floats) -> tuple[float, str]:
    """Return the processors of capacity 1, and their source."""
    for name in ("MaxProcs", "MaxNodes"):
        if header.get(name, 0) > 0:
            return float(header[name]), f"header {name}"
    return float(np.nanmax(processors, initial=1.0)), "the largest job's, for the header has neither MaxProcs nor MaxNodes"


def _microseconds(seconds: Floats) -> Ints:
    return np.where(seconds < 0, MISSING, np.rint(seconds * SECOND)).astype(np.int64)


FORMATS = (TraceFormat(read_swf, endings=(".swf", ".swf.gz"), content=begins_with_header),)
