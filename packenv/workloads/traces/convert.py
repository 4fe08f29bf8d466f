"""Jobs tables as files in the user's form (packenv.workloads.traces.user), so that reading one gives the same Jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.jobs import Jobs
from packenv.units import UNIT
from packenv.workloads.traces.columns import is_csv, is_parquet


def write_jobs(jobs: Jobs, path: str | os.PathLike[str]) -> None:
    """Write `arrival, size[, size_1, …], service[, job, …]` as .parquet, .csv or .csv.gz: whole, or not at all.

    Sizes are units / packenv.units.UNIT in double precision, which reads back as the same units. Raises InputError for
    another file name, a folder that cannot be written to, or columns that the form does not have.
    """
    where = Path(path)
    if not (is_parquet(where) or is_csv(where)):
        raise InputError(f"{where}: the name of a converted trace ends in .parquet, .csv or .csv.gz")
    if jobs.predecessors is not None or jobs.home is not None:
        raise InputError(f"{where}: a trace file cannot hold predecessors or home servers")
    table = table_of(jobs)
    with atomic_path(where) as temporary:
        if is_parquet(where):
            pq.write_table(table, temporary, compression="zstd")
        else:
            compression = "gzip" if where.name.lower().endswith(".gz") else None
            with pa.output_stream(temporary, compression=compression) as stream:
                pc_csv.write_csv(table, stream, pc_csv.WriteOptions(quoting_style="needed"))


def table_of(jobs: Jobs) -> pa.Table:
    """The columns of the file."""
    sizes = {"size" if r == 0 else f"size_{r}": jobs.demand[:, r] / UNIT for r in range(jobs.resources)}
    columns = {"arrival": jobs.arrival, **sizes, "service": jobs.service}
    for name in ("job", "value", "tenant", "estimate", "remote_overhead"):
        if getattr(jobs, name) is not None:
            columns[name] = getattr(jobs, name)
    return pa.table(columns)
