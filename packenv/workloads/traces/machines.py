"""Reads machines as capacities of servers: Google's of 2011, Alibaba's nodes of 2023, Philly's, and Slurm's nodes."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.workloads.traces.columns import Columns, decimals, headless, is_csv, is_parquet, names_of
from packenv.workloads.traces.formats import openb, philly, sacct, spot_gpu
from packenv.workloads.traces.philly_machines import is_machine_list, read_machine_list
from packenv.workloads.traces.trace import Machines

COLUMNS = {
    "time": pa.int64(),
    "machine": pa.int64(),
    "event": pa.int64(),
    "platform": pa.string(),
    "cpu": pa.float64(),
    "memory": pa.float64(),
}
FOLDED_COLUMNS = ("time_s", "machine_id", "event", "cpu", "mem")
GOOGLE_RESOURCES = ("cpu", "memory")
ADDED = 0
OF_GPUS = (openb, spot_gpu)  # forms whose nodes have GPUs of some kind


def is_machines(path: str | os.PathLike[str]) -> bool:
    """Whether `initial_capacities` can read the file or folder. Raises InputError for a damaged file."""
    where = Path(path)
    if where.is_dir():
        return bool(_parts(where))
    if is_machine_list(where) or (where.is_file() and sacct.is_nodes(where)):
        return True
    if not (where.is_file() and (is_parquet(where) or is_csv(where))):
        return False
    names = names_of(where)
    return set(FOLDED_COLUMNS) <= set(names) or any(form.is_nodes(names) for form in OF_GPUS)


def is_slurm(path: str) -> bool:
    """Whether a text of `--servers` names a list of Slurm's nodes."""
    return os.path.isfile(path) and sacct.is_nodes(Path(path))  # noqa: PTH113  # as in parse_servers: a text may be long


def nodes_of(path: str, partitions: Collection[str], resources: tuple[str, ...] | None = None) -> Machines:
    """As `machines`, of a list of Slurm's nodes: those of these partitions, where it says of which they are."""
    where = Path(path)
    return Machines(_columns(where, sacct.RESOURCES, sacct.read_nodes(where, partitions).capacity, resources))


def machines(path: str | os.PathLike[str], resources: tuple[str, ...] | None = None) -> Machines:
    """The machines that are there at the start of a trace (`initial_capacities`), and their GPUs if the file has them."""
    where = Path(path)
    columns = names_of(where) if where.is_file() and (is_parquet(where) or is_csv(where)) else []
    for form in OF_GPUS:
        if form.is_nodes(columns):
            return form.nodes(where, _known(where, form.RESOURCES, resources))
    return Machines(initial_capacities(where, resources))


def initial_capacities(path: str | os.PathLike[str], resources: tuple[str, ...] | None = None) -> NDArray[np.float64]:
    """Capacities (L, D) of the machines that are there at the start of a trace, as fractions of the largest one.

    Google's cluster of 2011 (cpu, memory), by machine id: a folder with `machine_events/`, or a file with columns time_s,
    machine_id, event, cpu, mem. Alibaba's of 2023 (cpu, memory, gpu), in the order of the file: a list of nodes with columns
    cpu_milli, memory_mib, gpu. Its of 2026 (cores, GPUs): columns gpu_model, gpu_capacity_num, cpu_num. Philly's (gpu):
    `cluster_machine_list`, in the order of the file. `resources`: names of the resources to read, by default all. Machines of
    unknown capacity, or without any of the resources, are left out. Raises InputError if none is left, and for an unknown
    resource.
    """
    where = Path(path)
    return _columns(where, *_capacities(where), resources)


def _columns(
    where: Path, names: tuple[str, ...], capacity: NDArray[np.float64], resources: tuple[str, ...] | None
) -> NDArray[np.float64]:
    """The columns of these resources, of the machines that have any of them."""
    chosen = capacity[:, [names.index(name) for name in _known(where, names, resources)]]
    return np.asarray(chosen[(chosen > 0).any(axis=1)], np.float64)


def machines_left_out(servers: str, partitions: Collection[str] | None = None) -> dict[str, int]:
    """How many machines of a text of `--servers` were left out for which reason, if it names Philly's or Slurm's."""
    where = Path(servers)
    if is_machine_list(where):
        return read_machine_list(where).left_out
    if not is_slurm(servers):
        return {}
    _, out, elsewhere = sacct.read_nodes(where, partitions)
    reasons = {f"nodes that take no jobs: {sacct.shown_states(out)}": len(out), "nodes of other partitions": len(elsewhere)}
    return {reason: count for reason, count in reasons.items() if count}


def _known(where: Path, names: tuple[str, ...], resources: tuple[str, ...] | None) -> tuple[str, ...]:
    """The resources to read, of those with `names`. Raises InputError for an unknown one."""
    for name in resources or ():
        if name not in names:
            raise InputError(
                f"{where}: {name} of the machines is not known, only {', '.join(names)}: choose resources among these"
            )
    return names if resources is None else resources


def _capacities(where: Path) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The names of the resources, and (L, D) capacities."""
    if is_machine_list(where):
        return philly.RESOURCES, read_machine_list(where).capacity
    if where.is_file() and sacct.is_nodes(where):
        return sacct.RESOURCES, sacct.read_nodes(where).capacity
    names = names_of(where) if is_parquet(where) or is_csv(where) else []
    for form in OF_GPUS:
        if form.is_nodes(names):
            return form.RESOURCES, form.nodes(where, form.RESOURCES).capacity
    return _google(where, names)


def _google(where: Path, names: list[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    if names:
        missing = [name for name in FOLDED_COLUMNS if name not in names]
        if missing:
            raise InputError(f"{where}: needs columns {', '.join(FOLDED_COLUMNS)}; has {', '.join(names)}")
        table = Columns.read(where, FOLDED_COLUMNS)
        columns = [(table.numbers("time_s"), table.whole("machine_id"), table.whole("event"), _pair(table, "cpu", "mem"))]
    else:
        files = [headless(part, COLUMNS, ("platform",)) for part in _parts(where)]
        columns = [(f.numbers("time"), f.whole("machine"), f.whole("event"), _pair(f, "cpu", "memory")) for f in files]
    if not columns:
        raise InputError(f"{where}: no machine_events in this folder")
    time, machine, event, capacity = (np.concatenate(column) for column in zip(*columns, strict=True))
    initial = (time == 0) & (event == ADDED) & ~np.isnan(capacity).any(axis=1)
    if not initial.any():
        raise InputError(f"{where}: no machine with a known capacity at time 0")
    return GOOGLE_RESOURCES, capacity[initial][np.argsort(machine[initial], kind="stable")]


def _parts(folder: Path) -> list[Path]:
    return sorted((folder / "machine_events").glob("part-*-of-*.csv.gz"))


def _pair(table: Columns, first: str, second: str) -> NDArray[np.float64]:
    return np.stack([decimals(table, first), decimals(table, second)], axis=1)
