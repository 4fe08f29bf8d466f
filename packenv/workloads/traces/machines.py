"""The machines of Google's cluster of 2011, from its native folder or from a Parquet file of machine events."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.workloads.traces.columns import Columns, decimals, headless, is_parquet

COLUMNS = {
    "time": pa.int64(),
    "machine": pa.int64(),
    "event": pa.int64(),
    "platform": pa.string(),
    "cpu": pa.float64(),
    "memory": pa.float64(),
}
ADDED = 0


def initial_capacities(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """Capacities (L, 2) in cpu and memory of the machines there at time 0, as fractions of the largest, in order of id.

    `path` is a folder that holds `machine_events/`, or a Parquet file with columns time_s, machine_id, event, cpu, mem.
    Machines whose capacity is not known are left out. Raises InputError if there is none.
    """
    where = Path(path)
    if is_parquet(where):
        table = Columns.read(where, ["time_s", "machine_id", "event", "cpu", "mem"])
        if len(table.names) < 5:
            raise InputError(f"{where}: needs columns time_s, machine_id, event, cpu, mem; has {', '.join(table.names)}")
        columns = [(table.numbers("time_s"), table.whole("machine_id"), table.whole("event"), _pair(table, "cpu", "mem"))]
    else:
        files = [headless(part, COLUMNS, ("platform",)) for part in sorted((where / "machine_events").glob("part-*-of-*.csv.gz"))]
        columns = [(f.numbers("time"), f.whole("machine"), f.whole("event"), _pair(f, "cpu", "memory")) for f in files]
    if not columns:
        raise InputError(f"{where}: no machine_events in this folder")
    time, machine, event, capacity = (np.concatenate(column) for column in zip(*columns, strict=True))
    there = (time == 0) & (event == ADDED) & ~np.isnan(capacity).any(axis=1)
    if not there.any():
        raise InputError(f"{where}: no machine with a known capacity at time 0")
    return np.asarray(capacity[there][np.argsort(machine[there], kind="stable")], np.float64)


def _pair(table: Columns, first: str, second: str) -> NDArray[np.float64]:
    return np.stack([decimals(table, first), decimals(table, second)], axis=1)
