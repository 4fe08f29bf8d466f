"""Recorded workloads: from files to Jobs tables (PAPERS §1.1). Importing this package loads pyarrow, so import it late.

`read_trace("trace.csv").jobs(slot_seconds="0.1", speedup="1.3", sizes="max")` is a NamedTuple (jobs, dropped, t0).
"""

from __future__ import annotations

import os
from pathlib import Path

from packenv.errors import InputError
from packenv.workloads.traces import dlrm, google2011, job_lines, openb, swf, swim
from packenv.workloads.traces.columns import is_csv, is_parquet, names_of
from packenv.workloads.traces.convert import write_jobs
from packenv.workloads.traces.machines import initial_capacities, is_machines
from packenv.workloads.traces.table import Conversion, Trace, Wanted
from packenv.workloads.traces.user import SlotTrace, read_user

__all__ = ["Conversion", "SlotTrace", "Trace", "Wanted", "initial_capacities", "is_trace", "read_trace", "write_jobs"]

FOLDED_FORMS = (
    (google2011.is_folded, google2011.read_folded),
    (openb.is_pods, openb.read_pods),
    (dlrm.is_instances, dlrm.read_instances),
    (job_lines.is_job_rows, job_lines.read_job_rows),
    (swim.is_swim, swim.read_table),
)


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Whether `path` looks like a trace: Google's folder, a table, TSV or job lines by name, or Standard Workload Format."""
    where = Path(path)
    if where.is_dir():
        return bool(google2011.parts(where))
    by_name = (is_parquet, is_csv, swim.is_native, job_lines.is_job_lines)
    return where.is_file() and (any(named(where) for named in by_name) or swf.is_swf(where))


def read_trace(path: str | os.PathLike[str], resources: Wanted = None) -> Trace | SlotTrace:
    """The trace at `path`, in whichever known form it is by its columns or content.

    The folder of Google's cluster trace of 2011 (with `task_events/`), SWIM's samples (.tsv), Standard Workload Format and
    the job lines of Hawk and Eagle (both also gzipped), and as Parquet or CSV: job lines and SWIM's too, Google's folded to a row
    per task, Alibaba's pods of 2023 and instances of 2025, and the user's own (packenv.workloads.traces.user). `resources`:
    names of those to take, "all", or None for the usual ones (all, but without Google's disk, and of Standard Workload Format
    the processors alone).
    Raises InputError, naming file, row and column, if it is none of these or holds a malformed value.
    """
    where = Path(path)
    if not where.exists():
        raise InputError(f"{where}: no such file")
    if is_machines(where) and not google2011.parts(where):
        raise InputError(f"{where}: machines, not tasks: they go with --servers")
    if where.is_dir():
        if not google2011.parts(where):
            raise InputError(f"{where}: the folder has no task_events/part-*-of-*.csv.gz")
        return google2011.read_folder(where, resources)
    if swim.is_native(where):
        return swim.read_native(where, resources)
    if not (is_parquet(where) or is_csv(where)):
        if job_lines.is_job_lines(where):
            return job_lines.read_job_lines(where, resources)
        if swf.is_swf(where):
            return swf.read_swf(where, resources)
        kinds = ".parquet, .csv, .csv.gz, .tsv, .tr, .tr.gz, or a folder with task_events"
        raise InputError(f"{where}: not a trace by its name ({kinds}), nor Standard Workload Format by its content")
    names = names_of(where)
    if not names:
        raise InputError(f"{where}: the file is empty")
    for is_form, read in FOLDED_FORMS:
        if is_form(names):
            return read(where, resources)
    return read_user(where, names, resources)
