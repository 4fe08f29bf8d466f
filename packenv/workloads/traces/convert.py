"""Writer of Jobs tables in the user's format (packenv.workloads.traces.user).

Reading a file gives the same Jobs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from packenv.errors import InputError
from packenv.files import atomic_path
from packenv.jobs import Jobs, Ragged
from packenv.workloads.traces.columns import is_parquet
from packenv.workloads.traces.trace import OPTIONAL


def write_jobs(jobs: Jobs, path: str | os.PathLike[str], resources: tuple[str, ...] | None = None) -> None:
    """Write a Jobs table as .parquet, .csv or .csv.gz.

    The file appears whole or not at all. Columns are `arrival, size[, size_1, …], service[, job, …]`, or `resources` for the
    sizes. Sizes are units / packenv.units.UNIT in double precision, which is read back as the same units. Predecessors and home
    servers are lists in Parquet, and separated by spaces in CSV. Raises InputError for another file name, or a folder that
    cannot be written to.
    """
    where = Path(path)
    if not where.name.lower().endswith((".parquet", ".csv", ".csv.gz")):
        raise InputError(f"{where}: the name of a converted trace ends in .parquet, .csv or .csv.gz")
    table = table_of(jobs, resources)
    with atomic_path(where) as temporary:
        if is_parquet(where):
            pq.write_table(table, temporary, compression="zstd")
        else:
            compression = "gzip" if where.name.lower().endswith(".gz") else None
            with pa.output_stream(temporary, compression=compression) as stream:
                pc_csv.write_csv(_without_lists(table), stream, pc_csv.WriteOptions(quoting_style="needed"))


def table_of(jobs: Jobs, resources: tuple[str, ...] | None = None) -> pa.Table:
    """Return the columns of a Jobs table as an Arrow table."""
    names = resources or ("size", *(f"size_{r}" for r in range(1, jobs.resources)))
    sizes = {name: jobs.amounts[:, r] for r, name in enumerate(names)}
    columns: dict[str, Any] = {"arrival": jobs.arrival, **sizes, "service": jobs.service}
    for name in OPTIONAL:
        column = getattr(jobs, name)
        if isinstance(column, Ragged):
            columns[name] = pa.LargeListArray.from_arrays(column.offsets, column.values)
        elif name == "gang" and column is not None:
            columns[name] = pa.array(column, mask=column < 0)  # an empty cell is no gang
        elif column is not None:
            columns[name] = column
    return pa.table(columns)


def _without_lists(table: pa.Table) -> pa.Table:
    for place, (name, type_) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        if pa.types.is_large_list(type_):
            cells = table[name].combine_chunks()
            words = pa.LargeListArray.from_arrays(cells.offsets, cells.values.cast(pa.string()))
            table = table.set_column(place, name, pc.binary_join(words, " "))
    return table
