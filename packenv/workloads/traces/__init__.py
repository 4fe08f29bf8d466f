"""Recorded workloads: from files to Jobs tables (PAPERS §1.1). Importing this package loads pyarrow, so import it late.

`read_trace("trace.csv").jobs(slot_seconds="0.1", speedup="1.3", sizes="max")` is a NamedTuple (jobs, dropped, t0).
"""

from __future__ import annotations

import os
from pathlib import Path

from packenv.errors import InputError
from packenv.workloads.traces import google2011
from packenv.workloads.traces.columns import is_csv, is_parquet, names_of
from packenv.workloads.traces.convert import write_jobs
from packenv.workloads.traces.machines import initial_capacities
from packenv.workloads.traces.table import Conversion, Trace
from packenv.workloads.traces.user import SlotTrace, read_user

__all__ = ["Conversion", "SlotTrace", "Trace", "initial_capacities", "is_trace", "read_trace", "write_jobs"]


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Whether `path` exists and is named like a trace: a folder of Google's task events, or a Parquet or CSV file."""
    where = Path(path)
    if where.is_dir():
        return bool(google2011.parts(where))
    return where.is_file() and (is_parquet(where) or is_csv(where))


def read_trace(path: str | os.PathLike[str], resources: tuple[str, ...] | None = None) -> Trace | SlotTrace:
    """The trace at `path`, in whichever known form it is; `resources` names the columns of demands to take.

    Known forms: the folder of Google's cluster trace of 2011 (with `task_events/`), the same folded to a row per task
    (Parquet or CSV), and the user's own Parquet or CSV (packenv.workloads.traces.user).
    Raises InputError, naming file, row and column, if it is none of these or holds a malformed value.
    """
    where = Path(path)
    if not where.exists():
        raise InputError(f"{where}: no such file")
    if where.is_dir():
        if not google2011.parts(where):
            raise InputError(f"{where}: the folder has no task_events/part-*-of-*.csv.gz")
        return google2011.read_folder(where, resources or google2011.DEFAULT_RESOURCES)
    if not (is_parquet(where) or is_csv(where)):
        raise InputError(f"{where}: not a trace by its name: .parquet, .csv, .csv.gz, or a folder with task_events")
    names = names_of(where)
    if not names:
        raise InputError(f"{where}: the file is empty")
    if google2011.is_folded(names):
        return google2011.read_folded(where, resources or google2011.DEFAULT_RESOURCES)
    return read_user(where, names, resources)
