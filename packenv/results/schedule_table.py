"""Place and time of each task: columns, and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.files import atomic_path, check_ending

if TYPE_CHECKING:
    from packenv.results.result import Result
    from packenv.workloads.workload import Workload

from packenv.options.shared import SCHEDULE_FILES


def schedule_table(workload: Workload, results: Sequence[Result]) -> Any:
    """Return an Arrow table of tasks, times in slots.

    Needs runs with schedules. Columns: task (row of the Jobs table), job (the row itself without jobs), arrival, start and server
    (null: never started), end (slot in which it left; null: not within the run). Tasks from a file have row and id (see
    `Records`), and start_time and end_time, if its clock is not slots. Optional columns: source (server of the data, null at
    home) if reads take resources, devices ("0 3", of its server) if servers have them, policy and seed for several runs.
    """
    import pyarrow as pa

    records, slot_seconds = workload.provenance.file_records, workload.slot_seconds
    of_file = {} if records is None else records.columns()
    tables = []
    for result in results:
        assert result.schedule is not None
        start, server, end, source, devices = result.schedule
        jobs = workload.played_jobs(result.seed, len(start))
        # Columns of every run, null where a task did not start or end.
        columns: dict[str, Any] = {
            "task": np.arange(len(start)),
            "job": np.arange(len(start)) if jobs.job is None else jobs.job[: len(start)],
            **{name: column[: len(start)] for name, column in of_file.items()},
            "arrival": jobs.arrival[: len(start)],
            "start": pa.array(start, mask=start < 0),
            "server": pa.array(server, mask=start < 0),
            "end": pa.array(end, mask=~ended(result, end)),
        }
        # Times on the file's clock.
        if records is not None and records.began is not None and slot_seconds is not None:
            columns["start_time"] = records.times(start, start < 0, slot_seconds)
            columns["end_time"] = records.times(end, ~ended(result, end), slot_seconds)
        # Columns of some runs: sources, devices, policy and seed.
        if source is not None:
            columns["source"] = pa.array(source, mask=source < 0)
        if devices is not None:
            columns["devices"] = pa.array(_numbers_of_bits(devices), mask=start < 0)
        if len(results) > 1:
            columns["policy"] = pa.array([result.policy] * len(start)).dictionary_encode()
            columns["seed"] = np.full(len(start), result.seed)
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


def write_schedule(path: str | os.PathLike[str], workload: Workload, results: Sequence[Result]) -> None:
    """Write `schedule_table` as SCHEDULE_FILES, whole or not. Raises InputError for other endings."""
    check_ending(path, SCHEDULE_FILES, "a schedule is one of")
    table = schedule_table(workload, results)
    with atomic_path(path) as temporary:
        if Path(path).suffix.lower() == ".csv":
            from pyarrow import csv

            csv.write_csv(table, temporary)
        else:
            from pyarrow import parquet

            parquet.write_table(table, temporary)


def ended(result: Result, end: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark tasks that completed by the run's last slot."""
    within = (end >= 0) & (end <= result.slots)
    before = within & (end < result.slots)
    in_last = np.count_nonzero(within) == result.completed
    # `completed` may count other pods than the rows of a cluster's queue. A run without later ends includes its last slot.
    in_last = in_last or (np.count_nonzero(before) != result.completed and not (end > result.slots).any())
    return within if in_last else before


def _numbers_of_bits(bits: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return each word's set bits as text: "0 3"."""
    sets, place = np.unique(bits, return_inverse=True)
    texts = [" ".join(str(bit) for bit in range(word.bit_length()) if word >> bit & 1) for word in sets.tolist()]
    return np.array(texts, np.object_)[place.ravel()]


class Schedule(NamedTuple):
    """Start, server and end of each row, -1 if never started."""

    start: NDArray[np.int64]  # (rows,) slots
    server: NDArray[np.int32]  # (rows,)
    end: NDArray[np.int64]  # (rows,) slots; later than the run's last slot if the task was still in service then
    source: NDArray[np.int32] | None = None  # (rows,) server from which it reads, -1 at home; None if reads take no resources
    devices: NDArray[np.int64] | None = None  # (rows,) of its server that it has, as bits; None if servers have no devices
