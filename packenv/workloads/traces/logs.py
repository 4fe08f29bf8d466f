"""Logs of a system: arrivals, starts and ends of tasks (`packenv verdict`).

Slurm's sacct and Standard Workload Format have the readers of `packenv.workload`. Other forms are
tables      CSV or Parquet with submit_time_s and one or both of start_time_s and end_time_s, dates or numbers
vLLM        output of `vllm bench serve --save-result --save-detailed` (vllm/benchmarks/serve.py)
GuideLLM    its benchmarks.json, of version 0.3 or later (src/guidellm/benchmark/schemas); a log for each benchmark in it
A request of the last two starts with its first token. Standard input, `-`, is any of these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.text import counted_by_reason, number
from packenv.errors import ArgumentError, InputError
from packenv.inputs.json_files import read_json
from packenv.inputs.text_files import from_standard_input, shown_path
from packenv.options.shared import Reading
from packenv.workloads.traces.columns import Columns, is_csv, is_parquet, names_of
from packenv.workloads.traces.formats import first_bytes
from packenv.workloads.traces.formats.sacct import RUNNING, WAITING
from packenv.workloads.traces.read import format_of_columns, read_trace
from packenv.workloads.traces.times import MISSING, SECOND, times
from packenv.workloads.traces.trace import Trace

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NAMES = ("submit_time_s", "start_time_s", "end_time_s")
UNITS, SAME_UNIT, SAME_UNITS = (60, 1e3, 3600, 1e6, 1e9), 0.02, 0.1
"""Ratios of two units of time. Columns with such a ratio, up to a share, in a share of the rows count different units."""
CLOSED_KINDS = ("concurrent", "synchronous", "throughput")
"""Strategies of GuideLLM that send a request when another one is answered, or all at once."""


@dataclass(frozen=True, eq=False)
class Log:
    """Times in seconds (n,), in order of arrival; NaN where unknown.

    lost    left without service, at its end, or at its arrival where that is unknown
    closed  arrivals are known to wait for completions
    """

    name: str
    arrival: Floats
    start: Floats
    end: Floats
    lost: Bools
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
    start = np.full(n, np.nan) if starts is None else _seconds(name, "starts", starts)
    end = np.full(n, np.nan) if ends is None else _seconds(name, "ends", ends)
    gone = np.zeros(n, np.bool_) if lost is None else np.asarray(lost, np.bool_)
    if not len(start) == len(end) == len(gone) == n:
        raise InputError(f"{name}: {n:,} arrivals, {len(start):,} starts, {len(end):,} ends, {len(gone):,} of lost: they differ")
    if n < 2:
        raise InputError(f"{name}: {n} arrivals are too few for a log")
    # The first bad row.
    checks = [(~np.isfinite(arrival), "the arrival is missing")]
    for what, column in (("starts", start), ("ends", end)):
        ratio = np.divide(column, arrival, out=np.ones(n), where=(arrival > 0) & (column > 0))
        for unit in (*UNITS, *(1 / unit for unit in UNITS)):
            other = np.abs(ratio / unit - 1) < SAME_UNIT
            problem = f"{what} are about {number(unit)} times the arrivals: give all times in one unit"
            checks.append((other & (other.mean() > SAME_UNITS), problem))
    checks.append((np.diff(arrival, prepend=arrival[0]) < 0, "it arrives before the row above: sort the log by arrival"))
    checks.append((start < arrival, "it starts before it arrives"))
    checks.append((end < np.fmax(start, arrival), "it ends before it starts"))
    for bad, problem in checks:
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(f"{name}: row {row + 1 if rows is None else rows[row]}: {problem}")
    has_start, has_end = ~np.isnan(start), ~np.isnan(end)
    if not (has_start | has_end).any():
        raise InputError(f"{name}: starts and ends are missing, so there is no queue to judge")
    # In a log with starts, a task that ends without one gave up.
    gone = gone | (~has_start & has_end & has_start.any())
    still = [int((~has_end & ~gone & begun).sum()) for begun in (has_start, ~has_start)]
    lines = [*notes]
    if gone.any():
        lines.append(f"{int(gone.sum()):,} of {n:,} left without service: a queue that loses stays short at any load")
    if has_end.any() and any(still):
        lines.append(f"when the log ends, {still[0]:,} still run and {still[1]:,} still wait")
    return Log(name, arrival, start, np.where(gone & ~has_end, arrival, end), gone, closed, tuple(lines))


def read_logs(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    partition: str | Sequence[str] | None = None,
) -> list[Log]:
    """Return the logs in a file, one for each benchmark.

    Raises InputError, naming file, row and column.
    """
    where, given_names = Path(from_standard_input(path)), columns or {}
    if where.is_file() and first_bytes(where, 64).lstrip().startswith(b"{"):
        return _benchmarks(where)
    in_file = names_of(where) if where.is_file() and (is_csv(where) or is_parquet(where)) else []
    names = {ours: given_names.get(ours, ours) for ours in NAMES if given_names.get(ours, ours) in in_file}
    # Our columns, or a workload log.
    if NAMES[0] in names and len(names) > 1:
        table = Columns.read(where, [*names.values()]).table.select([*names.values()]).rename_columns([*names])
        known = times(Columns(where, table, names), [*names], time_unit or "s")
        at = {ours: _known(column) for ours, column in zip(names, known, strict=True)}
        return [log_of(shown_path(where), at[NAMES[0]], at.get(NAMES[1]), at.get(NAMES[2]))]
    if in_file and (names or given_names or format_of_columns(in_file) is None):
        missing = NAMES[1] if NAMES[0] in names else NAMES[0]
        either = f"{missing} or {NAMES[2]}" if NAMES[0] in names else missing
        raise ArgumentError(
            f"{where}: column {either} is missing: a verdict needs arrivals, and starts or ends",
            f"; name your column: `columns` {missing}=YOURS", None,
        )  # fmt: skip
    trace = read_trace(where, reading=Reading(columns=columns, time_unit=time_unit, partition=partition))  # type: ignore[arg-type]
    return [_of_trace(trace, shown_path(where))]


def _of_trace(trace: Trace, name: str) -> Log:
    """Return the jobs of a workload log, without parts of jobs.

    Jobs that were cancelled in the queue are lost.
    """
    if not trace.waits:
        raise InputError(f"{name}: it has no start of each task, so there is no queue to judge")
    unfit = dict(trace.unfit)
    runs, queued = (unfit.pop(reason, None) for reason in (RUNNING, WAITING))
    usable = ~np.any([*unfit.values(), np.zeros(len(trace), np.bool_)], axis=0)
    waits = trace.schedule != MISSING
    ended = waits & (trace.end != MISSING)
    given_up = ended & (trace.end <= trace.schedule)
    if runs is not None and queued is not None:  # sacct says how jobs ended: one without an end that does not run took no time
        ended, given_up = waits & ~runs, np.zeros(len(trace), np.bool_)
    start = np.where(given_up, MISSING, trace.schedule)
    end = np.where(ended, np.maximum(trace.end, trace.schedule), MISSING)
    left_out = counted_by_reason({reason: int(which.sum()) for reason, which in unfit.items()})
    submit, start, end = (_known(column[usable]) for column in (trace.submit, start, end))
    rows = None if trace.rows is None else trace.rows[usable]
    return log_of(name, submit, start, end, given_up[usable], rows, notes=(f"left out: {left_out}",) if left_out else ())


def _benchmarks(path: Path) -> list[Log]:
    """Return the logs in a benchmark result of LLM servers."""
    content = read_json(path)
    try:
        if "benchmarks" in content:
            return [
                _guidellm(f"{shown_path(path)} benchmark {n}", benchmark) for n, benchmark in enumerate(content["benchmarks"], 1)
            ]
        if "start_times" in content and "ttfts" in content:
            errors = content.get("errors") or [""] * len(content["ttfts"])
            requests = zip(content["start_times"], content["ttfts"], content["itls"], errors, strict=True)
            rows = [
                (at, None, None, True) if error else (at, at + first, at + first + float(np.sum(gaps)), False)
                for at, first, gaps, error in requests
            ]
            return [_of_requests(shown_path(path), rows, content.get("max_concurrency") is not None)]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InputError(f"{path}: not as the benchmark writes it: {type(problem).__name__} {problem}") from None
    needs = "start_times and ttfts (vllm bench serve --save-result --save-detailed), or benchmarks (GuideLLM)"
    raise InputError(f"{path}: the JSON has no {needs}")


def _guidellm(name: str, content: Mapping[str, Any]) -> Log:
    strategy = (content.get("config") or content.get("args") or {}).get("strategy") or {}
    kind = str(strategy.get("type_") or strategy.get("kind") or strategy) if isinstance(strategy, Mapping) else str(strategy)
    rows = []
    for status in ("successful", "incomplete", "errored"):
        for request in content["requests"].get(status) or ():
            at = (request.get("info") or {}).get("timings") or {}
            sent = at.get("targeted_start") or request.get("request_start_time") or request.get("start_time")
            first = at.get("first_token_iteration") or at.get("first_iteration") or request.get("first_token_time")
            end = request.get("request_end_time") or request.get("end_time")
            ends = {"successful": (first or end, end), "incomplete": (first, None), "errored": (None, end)}
            rows.append((sent, *ends[status], status == "errored"))
    return _of_requests(f"{name} ({kind})", rows, kind.startswith(CLOSED_KINDS))


def _of_requests(name: str, rows: Sequence[tuple[Any, ...]], closed: bool) -> Log:
    """Return the log of requests: when sent, first token, end, and failure."""
    sent, first, end, failed = np.array(rows, np.float64).reshape(-1, 4).T
    order = np.argsort(sent, kind="stable")
    return log_of(name, sent[order], first[order], end[order], failed[order] > 0, order + 1, closed)


def _seconds(name: str, what: str, column: ArrayLike) -> Floats:
    """Return a column of numbers or dates as seconds (dates since 1970)."""
    array = np.asarray(column)
    try:
        if array.dtype.kind == "O":
            array = np.array([np.nan if value is None else value for value in array])
        if array.dtype.kind == "M":
            return np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.int64) / SECOND)
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {what} are neither numbers nor dates: {str(column)[:40]!r}") from None


def _known(microseconds: NDArray[np.int64]) -> Floats:
    """Return seconds (n,), NaN where missing."""
    return np.where(microseconds == MISSING, np.nan, microseconds / SECOND)
