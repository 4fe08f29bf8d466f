"""Logs of a system: arrivals, starts and ends of tasks (`packenv verdict`).

Slurm's sacct and Standard Workload Format have the readers of `packenv.workload`. Other forms are
tables      CSV or Parquet with submit_time_s and one or both of start_time_s and end_time_s, dates or numbers
vLLM        output of `vllm bench serve --save-result --save-detailed` (vllm/benchmarks/serve.py)
GuideLLM    its benchmarks.json, of version 0.3 or later (src/guidellm/benchmark/schemas); a log for each benchmark in it
A request of the last two starts with its first token. Standard input, `-`, is any of these.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.text import counted_by_reason
from packenv.errors import ArgumentError, InputError
from packenv.inputs.json_files import read_json
from packenv.options.shared import Reading
from packenv.workloads.traces.columns import Columns, is_csv, is_parquet
from packenv.workloads.traces.format import first_bytes
from packenv.workloads.traces.formats.sacct import RUNNING, WAITING
from packenv.workloads.traces.read import read_trace
from packenv.workloads.traces.times import MISSING, SECOND, times
from packenv.workloads.traces.trace import Trace

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NAMES = ("submit_time_s", "start_time_s", "end_time_s")
UNITS, SAME_UNIT = (60, 1e3, 3600, 1e6, 1e9), 0.02
"""Ratios of two units of time; times of two columns with such a ratio, up to this share, count different units."""
CLOSED_KINDS = ("concurrent", "synchronous", "throughput")
"""Strategies of GuideLLM that send a request when another one is answered, or all at once."""


@dataclass(frozen=True, eq=False)
class Log:
    """Times in seconds (n,), in order of arrival; NaN where unknown.

    `closed`: arrivals are known to wait for completions.
    """

    name: str
    arrival: Floats
    start: Floats
    end: Floats
    lost: Bools  # left without service, at its end, or at its arrival where that is unknown
    closed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def has_starts(self) -> bool:
        return bool((~np.isnan(self.start)).any())

    @property
    def has_ends(self) -> bool:
        return bool((~np.isnan(self.end)).any())


def log_of(
    name: str,
    arrivals: ArrayLike,
    starts: ArrayLike | None = None,
    ends: ArrayLike | None = None,
    lost: ArrayLike | None = None,
    rows: NDArray[np.int64] | None = None,
    closed: bool = False,
    notes: tuple[str, ...] = (),
) -> Log:
    """Check a log, with its name and row in errors."""
    arrival = _seconds(name, "arrivals", arrivals)
    n = len(arrival)
    start, end = (np.full(n, np.nan) if column is None else _seconds(name, what, column)
                  for what, column in (("starts", starts), ("ends", ends)))  # fmt: skip
    gone = np.zeros(n, np.bool_) if lost is None else np.asarray(lost, np.bool_)
    if not len(start) == len(end) == len(gone) == n:
        raise InputError(f"{name}: {n:,} arrivals, {len(start):,} starts, {len(end):,} ends, {len(gone):,} of lost: they differ")

    def check(bad: Bools, problem: str) -> None:
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(f"{name}: row {i + 1 if rows is None else rows[i]}: {problem}")

    check(~np.isfinite(arrival), "the arrival is missing")
    if n < 2:
        raise InputError(f"{name}: {n} arrivals are no log")
    for what, column in (("starts", start), ("ends", end)):
        both = (arrival > 0) & (column > 0)
        times = float(np.median(column[both] / arrival[both])) if both.any() else 1.0
        if any(abs(times / ratio - 1) < SAME_UNIT for unit in UNITS for ratio in (unit, 1 / unit)):
            raise InputError(f"{name}: {what} are about {times:.3g} times the arrivals: give all times in one unit")
    check(np.diff(arrival, prepend=arrival[0]) < 0, "it arrives before the row above: sort the log by arrival")
    check(start < arrival, "it starts before it arrives")
    check(end < np.where(np.isnan(start), arrival, start), "it ends before it starts")
    if np.isnan(start).all() and np.isnan(end).all():
        raise InputError(f"{name}: neither starts nor ends are known, so there is no queue to judge")
    if not np.isnan(start).all():  # an end without a start is given up
        gone = gone | (np.isnan(start) & ~np.isnan(end))
    running, waiting = np.isnan(end) & ~np.isnan(start) & ~gone, np.isnan(start) & np.isnan(end) & ~gone
    lines = [*notes]
    if gone.any():
        lines.append(f"{int(gone.sum()):,} of {n:,} left without service: a queue that loses stays short at any load")
    if (~np.isnan(end)).any() and (running.any() or waiting.any()):
        lines.append(f"when the log ends, {int(running.sum()):,} still run and {int(waiting.sum()):,} still wait")
    end = np.where(gone & np.isnan(end), arrival, end)
    return Log(name, arrival, start, end, gone, closed, tuple(lines))


def read_logs(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    partition: str | Sequence[str] | None = None,
) -> list[Log]:
    """Return the logs in a file, one for each benchmark.

    Raises InputError, naming file, row and column.
    """
    if str(path) == "-":
        return _standard_input(columns, time_unit, partition)
    where = Path(path)
    if where.is_file() and first_bytes(where, 64).lstrip().startswith(b"{"):
        return _benchmarks(where)
    table = where.is_file() and (is_csv(where) or is_parquet(where))
    if table:
        found = Columns.read(where)
        theirs = {ours: name for ours, name in (columns or {}).items() if ours in NAMES}
        names = {ours: theirs.get(ours, ours) for ours in NAMES if theirs.get(ours, ours) in found}
        if "submit_time_s" in names and len(names) > 1:
            import pyarrow as pa

            used = Columns(where, pa.table([found.raw(name) for name in names.values()], names=[*names]), theirs)
            at = dict(zip(names, (_known(column) for column in times(used, [*names], time_unit)), strict=True))
            return [log_of(str(path), at["submit_time_s"], at.get("start_time_s"), at.get("end_time_s"))]
    reading = Reading(columns=columns, time_unit=time_unit, partition=partition)  # type: ignore[arg-type]
    trace = read_trace(where, reading=reading) if not table or not names else None
    if trace is None or trace.table is not None:
        missing = "start_time_s or end_time_s" if table and "submit_time_s" in names else "submit_time_s"
        advice = f"; under names of its own with `columns` {missing.split(' or ')[0]}=THEIRS"
        raise ArgumentError(f"{where}: column {missing} is missing: a verdict needs arrivals, and starts or ends", advice, None)
    return [_of_trace(trace, str(path))]


def _of_trace(trace: Trace, name: str) -> Log:
    """Return the jobs of a workload log, without parts of jobs.

    Jobs that were cancelled in the queue are lost.
    """
    if not trace.waits:
        raise InputError(f"{name}: it does not say when each task started, so there is no queue to judge")
    waits = trace.schedule != MISSING
    ended = waits & (trace.end != MISSING)
    began = ended & (trace.end > trace.schedule)
    unfit = dict(trace.unfit)
    runs, queued = (unfit.pop(reason, None) for reason in (RUNNING, WAITING))
    kept = ~np.any([*unfit.values(), np.zeros(len(trace), np.bool_)], axis=0)
    given_up = ended & ~began
    if runs is not None and queued is not None:  # sacct says how jobs ended: one without an end that does not run took no time
        ended, given_up = waits & ~runs, np.zeros(len(trace), np.bool_)
    start = np.where(given_up, MISSING, trace.schedule)[kept]
    end = np.where(ended, np.maximum(trace.end, trace.schedule), MISSING)[kept]
    left_out = counted_by_reason({reason: int(which.sum()) for reason, which in unfit.items()})
    rows = None if trace.rows is None else trace.rows[kept]
    notes = (f"left out: {left_out}",) if left_out else ()
    return log_of(name, _known(trace.submit[kept]), _known(start), _known(end), given_up[kept], rows, notes=notes)


def _benchmarks(path: Path) -> list[Log]:
    """Return the logs in a benchmark result of LLM servers."""
    content = read_json(path)
    try:
        if "benchmarks" in content:
            return [_guidellm(path, n, item) for n, item in enumerate(content["benchmarks"], 1)]
        if "start_times" in content and "ttfts" in content:
            return [_vllm(path, content)]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InputError(f"{path}: not as the benchmark writes it: {type(problem).__name__} {problem}") from None
    needs = "start_times and ttfts (vllm bench serve --save-result --save-detailed), or benchmarks (GuideLLM)"
    raise InputError(f"{path}: the JSON has no {needs}")


def _vllm(path: Path, content: Mapping[str, Any]) -> Log:
    sent, first = (np.array(content[key], np.float64) for key in ("start_times", "ttfts"))
    failed = np.array([bool(text) for text in content.get("errors") or [""] * len(sent)], np.bool_)
    start = np.where(failed, np.nan, sent + first)
    end = np.array([at + float(np.sum(gaps)) for at, gaps in zip(start, content["itls"], strict=True)])
    order = np.argsort(sent, kind="stable")
    closed = content.get("max_concurrency") is not None
    return log_of(str(path), sent[order], start[order], end[order], failed[order], order + 1, closed)


def _guidellm(path: Path, number: int, content: Mapping[str, Any]) -> Log:
    config = content.get("config") or content.get("args") or {}
    strategy = config.get("strategy") or {}
    kind = str(strategy.get("type_") or strategy.get("kind") or strategy) if isinstance(strategy, Mapping) else str(strategy)
    rows = []
    for status in ("successful", "incomplete", "errored"):
        for request in content["requests"].get(status) or ():
            at = (request.get("info") or {}).get("timings") or {}
            sent = at.get("targeted_start") or request.get("request_start_time") or request.get("start_time")
            first = at.get("first_token_iteration") or at.get("first_iteration") or request.get("first_token_time")
            end = request.get("request_end_time") or request.get("end_time")
            done = status == "successful"
            rows.append((sent, (first or (None if not done else end)) if status != "errored" else None,
                         end if status != "incomplete" else None, status == "errored"))  # fmt: skip
    times_ = np.array([row[:3] for row in rows], np.float64).reshape(-1, 3)
    order = np.argsort(times_[:, 0], kind="stable")
    at, lost = times_[order], np.array([row[3] for row in rows], np.bool_)[order]
    name = f"{path} benchmark {number} ({kind})"
    return log_of(name, at[:, 0], at[:, 1], at[:, 2], lost, order + 1, any(kind.startswith(word) for word in CLOSED_KINDS))


def _standard_input(columns: Mapping[str, str] | None, time_unit: str | None, partition: Any) -> list[Log]:
    """Save standard input as a file with a suitable ending."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        first = first_bytes(path, 2**12)
        table = first[:4] == b"PAR1" or not (b"|" in first.split(b"\n", 1)[0] or first.lstrip()[:1] in (b";", b"{"))
        named = path.with_suffix(".parquet" if first[:4] == b"PAR1" else ".csv") if table else path
        path.rename(named)
        try:
            return [log_with_name(log, "standard input") for log in read_logs(named, columns, time_unit, partition)]
        except InputError as problem:
            raise InputError(str(problem).replace(str(named), "standard input")) from None


def log_with_name(log: Log, name: str) -> Log:
    from dataclasses import replace

    return replace(log, name=name)


def _seconds(name: str, what: str, column: ArrayLike) -> Floats:
    """Return a column of numbers or dates as seconds (dates since 1970)."""
    array = np.asarray(column)
    try:
        if array.dtype.kind == "M":
            return np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.int64) / SECOND)
        if array.dtype.kind == "O":
            array = np.array([np.nan if value is None else value for value in array])
            return _seconds(name, what, array) if array.dtype.kind == "M" else array.astype(np.float64)
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {what} are neither numbers nor dates: {str(column)[:40]!r}") from None


def _known(microseconds: NDArray[np.int64]) -> Floats:
    """Return seconds (n,), NaN where missing."""
    return np.where(microseconds == MISSING, np.nan, microseconds / SECOND)
