"""`read_trace`: a trace in any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from packenv.errors import ArgumentError, InputError
from packenv.files import atomic_path
from packenv.inputs.text_files import from_standard_input
from packenv.jobs import Jobs, Ragged
from packenv.options.fields import takes
from packenv.options.shared import AS_IT_IS, Reading
from packenv.workloads.traces.columns import INDEX, check_names, is_csv, is_parquet, names_of, plain_types, reading_table
from packenv.workloads.traces.formats import TraceFormat, trace_formats
from packenv.workloads.traces.machines import is_machines
from packenv.workloads.traces.times import TIME_UNITS
from packenv.workloads.traces.trace import OPTIONAL, Trace, Wanted
from packenv.workloads.traces.user import read_user

TABLE = Path("table")
"""Name in messages for a table without a file."""


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Return whether a path may be a trace or a table."""
    where = Path(path)
    return _is_table(where) or _format_of(where) is not None


@takes(Reading, "reading", without=("slot_seconds", "estimates", "devices", "gangs", "speedup"))
def read_trace(source: Any, resources: Wanted = None, reading: Reading = AS_IT_IS) -> Trace:
    """Read the trace at a path.

    Its name, its columns or its content show its format.

    source     a path, or a table in one of the user's own forms: an Arrow table, or anything that becomes one (a frame of pandas
               or polars, a mapping of columns)
    resources  the names of the resources to read, "all", or None for the usual ones of the format: all, except Google's disk, and
               only the processors of Standard Workload Format
    reading    how to read its rows

    `columns` may also be a mapping: {"submit_time_s": "Submitted", "cpu": "Cores"}. If it names a resource, only named resources
    are read.

    Formats: those of `packenv.workloads.traces.formats` (Google 2011 and 2019, Alibaba 2018, 2023, 2025 and 2026, Azure 2020,
    Philly, SWIM, Standard Workload Format, Slurm's sacct, job lines of Hawk and Eagle), and your own Parquet or CSV files
    (`packenv.workloads.traces.user`).
    Raises InputError, naming file, row and column, if the format is unknown or a value is malformed.
    """
    recorded = _read(source, resources, reading)
    if (partitions := (reading.partition.split(",") if isinstance(reading.partition, str) else reading.partition)) is not None:
        recorded = recorded.of_partitions(partitions)
    return recorded if reading.finished_only is None else recorded.only_finished(reading.finished_only)


def _read(source: Any, resources: Wanted, reading: Reading) -> Trace:
    if reading.time_unit is not None and reading.time_unit not in TIME_UNITS:
        raise ArgumentError(f"`time_unit` must be one of {', '.join(TIME_UNITS)}, not {reading.time_unit!r}")
    if not isinstance(source, (str, os.PathLike)):
        table = arrow_table(source)
        return read_user(TABLE, table.column_names, resources, reading, table)
    where = Path(from_standard_input(source))
    if not where.exists():
        raise InputError(f"{where}: no such file")
    # Formats by name or content.
    form = _format_of(where)
    if form is not None and not _is_table(where):
        _check_own(where, reading)
        return form.read(where, resources)
    if is_machines(where):
        raise InputError(f"{where}: machines, not tasks: they go with --servers")
    if where.is_dir() and not _is_table(where):
        raise InputError(f"{where}: the folder has neither *.parquet nor task_events/part-*-of-*.csv.gz")
    if not _is_table(where):
        endings = ", ".join(ending for form in trace_formats() for ending in form.endings)
        kinds = f".parquet, .csv, .csv.gz, .tsv, {endings}, or a folder with task_events"
        raise InputError(f"{where}: not a trace by its name ({kinds}), nor any of the forms known by their content")
    # Tables by their columns, otherwise in the user's form.
    names = names_of(where)
    if not names:
        raise InputError(f"{where}: the file is empty")
    form = None if reading.columns else format_of_columns(names)
    if form is not None:
        _check_own(where, reading)
    with reading_table(where):
        return read_user(where, names, resources, reading) if form is None else form.read(where, resources)


def format_of_columns(names: list[str]) -> TraceFormat | None:
    """Find the format of a table by its columns or its first row."""
    for form in trace_formats():
        if (form.columns and form.columns <= {*names}) or (form.first_row and form.first_row(names)):
            return form
    return None


def _check_own(path: Path, reading: Reading) -> None:
    for name in ("columns", "time_unit"):
        if getattr(reading, name) is not None:
            raise ArgumentError(f"{path}: `{name}` does not go with a trace whose format sets it")


def _is_table(path: Path) -> bool:
    return is_parquet(path) if path.is_dir() else path.is_file() and (is_parquet(path) or is_csv(path))


def _format_of(path: Path) -> TraceFormat | None:
    """Find the format of a path by name, else content."""
    if path.is_dir():
        return next((form for form in trace_formats() if form.folder and form.folder(path)), None)
    if not path.is_file() or _is_table(path):
        return None
    named = (form for form in trace_formats() if path.name.lower().endswith(form.endings))
    by_content = (form for form in trace_formats() if form.content and form.content(path))
    return next(named, None) or next(by_content, None)


def _is_readable(column: Any) -> bool:
    try:
        pa.array(column)
    except (TypeError, ValueError, pa.ArrowException):
        return False
    return True


def arrow_table(source: Any) -> pa.Table:
    """Return an Arrow table, without unnamed indexes."""
    try:
        table = source if isinstance(source, pa.Table) else pa.table(dict(source) if isinstance(source, Mapping) else source)
    except (TypeError, ValueError, pa.ArrowException) as error:
        what = f"a table of type {type(source).__name__}"
        if isinstance(source, Mapping):
            what += next((f", column {name}," for name, column in source.items() if not _is_readable(column)), "")
        raise InputError(f"{what} cannot be read: {' '.join(str(error).split())}") from None
    check_names(TABLE, table.column_names)
    table = plain_types(TABLE, table.drop_columns([name for name in table.column_names if INDEX.fullmatch(name)]))
    views = [name for name, type_ in zip(table.column_names, table.schema.types, strict=True) if pa.types.is_string_view(type_)]
    for name in views:  # as polars has texts
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    return table


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
