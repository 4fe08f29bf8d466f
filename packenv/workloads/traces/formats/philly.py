"""Microsoft's trace of training jobs on Philly: `cluster_job_log` (JSON).

A job has attempts, and an attempt has servers with GPUs. The last attempt of a job counts, as in Google's trace, whether it
passed, failed or was killed. It becomes a task for each of its servers, all of one job and of one gang: they start together, on
any servers. A virtual cluster is the tenant. Times are local times of the clusters, as written. The hour that came twice, on 5
November 2017, is ambiguous. Time 0 is the first submission.
Source: Jeon et al., "Analysis of large-scale multi-tenant GPU clusters for DNN training workloads", USENIX ATC 2019;
github.com/msr-fiddle/philly-traces.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.inputs.json_files import PER_BYTE, parse_json
from packenv.inputs.memory import Memory
from packenv.inputs.numbers import excerpt
from packenv.inputs.text_files import read_text, reading
from packenv.workloads.traces.formats import TraceFormat, first_bytes
from packenv.workloads.traces.times import MISSING, SECOND
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names

RESOURCES = ("gpu",)
LARGEST_SERVER = 8  # GPUs
ABOUT = "capacity 1: a server of 8 GPUs; a job on several servers is a task on each, and they start together"
NEVER_STARTED, NO_GPU = "never started", "no GPU recorded"
PASSED, STATUSES = "Pass", ("Pass", "Killed", "Failed")
FORM, LENGTH = "%Y-%m-%d %H:%M:%S", len("2017-10-07 01:12:09")
START = re.compile(rb'\s*\[\s*\{[^\[\]{}]*"(attempts|jobid|submitted_time)"\s*:')
SNIFFED = 2**12  # bytes


class Job(NamedTuple):
    """Relevant properties of a job, with times in seconds or None."""

    row: int
    submitted: int
    start: int | None
    end: int | None
    gpus: list[int]  # on each of its servers
    passed: bool
    cluster: str
    earlier: int  # attempts before the last one


def is_job_log(path: Path) -> bool:
    """Return whether a file begins like this trace's list of jobs."""
    return START.match(first_bytes(path, SNIFFED)) is not None


def read_job_log(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per server of a job's last attempt."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    with reading(path):
        Memory(path).reserve(PER_BYTE * path.stat().st_size)
        text = read_text(path)
    try:
        records = parse_json(text)
    except InputError as problem:
        raise InputError(f"{path}: {problem}") from None
    if not isinstance(records, list) or not records:
        raise InputError(f"{path}: a list of jobs is expected, with at least one")
    twice = _repeated(records)
    jobs = sorted((_job(path, row, job) for row, job in enumerate(records, 1) if row not in twice), key=lambda job: job.submitted)
    first = jobs[0].submitted
    tasks = [(job, gpus) for job in jobs for gpus in job.gpus or [0]]
    clusters = {name: number for number, name in enumerate(dict.fromkeys(job.cluster for job in jobs))}
    number_of = {job.row: number for number, job in enumerate(jobs)}
    earlier = sum(job.earlier for job in jobs)

    def column(times: list[int | None]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([MISSING if time is None else (time - first) * SECOND for time in times], np.int64)

    gpus = np.array([amount for _, amount in tasks], np.float64)
    start = column([job.start for job, _ in tasks])
    numbers = np.array([number_of[job.row] for job, _ in tasks], np.int64)
    return Trace(
        submit=column([job.submitted for job, _ in tasks]),
        schedule=start,
        end=column([job.end for job, _ in tasks]),
        demand=gpus[:, None] / LARGEST_SERVER,
        resources=resources,
        finished=np.array([job.passed and job.end is not None for job, _ in tasks]),
        in_snapshot=np.zeros(len(tasks), np.bool_),
        job=numbers,
        others={"tenant": np.array([clusters[job.cluster] for job, _ in tasks], np.int64), "gang": numbers},
        source=str(path),
        rows=np.array([job.row for job, _ in tasks], np.int64),
        origin=datetime(1970, 1, 1) + timedelta(seconds=first),
        about=ABOUT + (f"; {earlier:,} attempts before the last one of a job are left out" if earlier else ""),
        dropped={TWICE: len(twice)} if twice else {},
        unfit={NEVER_STARTED: start == MISSING, NO_GPU: gpus == 0},
    )


def _repeated(records: list[Any]) -> set[int]:
    """Return rows, from 1, of jobs that equal an earlier one."""
    twice: set[int] = set()
    known: dict[str, Any] = {}
    for row, job in enumerate(records, 1):
        number = job.get("jobid") if isinstance(job, dict) else None
        if isinstance(number, str) and known.setdefault(number, job) is not job and known[number] == job:
            twice.add(row)
    return twice


def _job(path: Path, row: int, job: Any) -> Job:
    where = f"{path}: job {row}"
    if not isinstance(job, dict):
        raise InputError(f"{where}: is not an object with submitted_time, status and attempts")
    submitted = _time(job.get("submitted_time"), f"{where}, submitted_time")
    if submitted is None:
        raise InputError(f"{where}, submitted_time: is missing")
    status, attempts = job.get("status"), job.get("attempts")
    if status not in STATUSES:
        raise InputError(f"{where}, status: {excerpt(str(status))} is none of {', '.join(STATUSES)}")
    if not isinstance(attempts, list) or not all(isinstance(attempt, dict) for attempt in attempts):
        raise InputError(f"{where}, attempts: a list of objects is expected")
    last = attempts[-1] if attempts else {}
    start, end = (_time(last.get(name), f"{where}, {name}") for name in ("start_time", "end_time"))
    if start is not None and start < submitted:
        start = None  # a fault of the log: the attempt cannot have begun before the job was there
    return Job(
        row, submitted, start, end, _gpus(last.get("detail", []), where), status == PASSED, str(job.get("vc")), len(attempts[:-1])
    )


def _gpus(detail: Any, where: str) -> list[int]:
    if not isinstance(detail, list):
        raise InputError(f"{where}, detail: a list of servers is expected")
    numbers = []
    for server in detail:
        gpus = server.get("gpus") if isinstance(server, dict) else None
        if not isinstance(gpus, list):
            raise InputError(f"{where}, detail: a server has a list of gpus")
        numbers.append(len(gpus))
    return [number for number in numbers if number]


def _time(text: Any, where: str) -> int | None:
    """Convert a time to seconds, as if UTC, or None."""
    if text is None or text in ("", "None"):
        return None
    try:
        if not (isinstance(text, str) and len(text) == LENGTH and text.isascii()):
            raise ValueError
        return int((datetime.strptime(text, FORM) - datetime(1970, 1, 1)).total_seconds())
    except ValueError:
        raise InputError(f"{where}: {excerpt(str(text))} is not a time such as 2017-10-07 01:12:09") from None


FORMATS = (TraceFormat(read_job_log, content=is_job_log),)
