"""Machines as capacities of servers.

Google's of 2011, Alibaba's nodes of 2023 and 2026, Philly's, and Slurm's nodes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import excerpt, read_whole
from packenv.inputs.text_files import lines_of, reading
from packenv.workloads.traces.columns import Columns, decimals, headless, is_csv, is_parquet, names_of
from packenv.workloads.traces.formats import first_bytes, openb, philly, sacct, spot_gpu
from packenv.workloads.traces.formats.philly import LARGEST_SERVER, is_job_log
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
    """Return whether `machines` can read a file or folder."""
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
    """Return whether a text of `--servers` names a list of Slurm nodes."""
    return os.path.isfile(path) and sacct.is_nodes(Path(path))  # noqa: PTH113  # as in parse_servers: a text may be long


def machines(
    path: str | os.PathLike[str], resources: tuple[str, ...] | None = None, partitions: Collection[str] = ()
) -> Machines:
    """Return a trace's initial machines, their names and GPUs, if recorded.

    A list of Slurm's nodes is reduced to `partitions`, if it names them.
    """
    where = Path(path)
    columns = names_of(where) if where.is_file() and (is_parquet(where) or is_csv(where)) else []
    for form in OF_GPUS:
        if form.is_nodes(columns):
            return form.nodes(where, _known(where, form.RESOURCES, resources))
    known: tuple[str, ...]
    if is_machine_list(where):
        of_philly = read_machine_list(where)
        known, left_out = philly.RESOURCES, tuple((reason, n) for reason, n in of_philly.left_out.items() if n)
        every = Machines(of_philly.capacity, names=of_philly.names, left_out=left_out)
    elif where.is_file() and sacct.is_nodes(where):
        nodes = sacct.read_nodes(where, partitions)
        known, every = sacct.RESOURCES, Machines(nodes.capacity, names=nodes.names, left_out=nodes.left_out)
    else:
        known, every = GOOGLE_RESOURCES, _google(where, columns)
    chosen = every.capacity[:, [known.index(name) for name in _known(where, known, resources)]]
    return every._replace(capacity=chosen).only((chosen > 0).any(axis=1))


def initial_capacities(path: str | os.PathLike[str], resources: tuple[str, ...] | None = None) -> NDArray[np.float64]:
    """Return capacities (L, D) of a trace's initial machines.

    Google 2011 (cpu, memory), by machine id: a folder with `machine_events/`, or a file with columns time_s, machine_id, event,
    cpu, mem. Alibaba 2023 (cpu, memory, gpu), in the order of the file: a list of nodes with columns cpu_milli, memory_mib, gpu.
    Alibaba 2026 (cores, GPUs): columns gpu_model, gpu_capacity_num, cpu_num. Philly (gpu): `cluster_machine_list`, in the order
    of the file. Amounts are fractions of the largest machine, but cores and GPUs of 2026. `resources` names those to read, by
    default all. Machines of unknown capacity, or without any of the resources, are left out. Raises InputError if none is left,
    and for an unknown resource.
    """
    return machines(path, resources).capacity


def _known(where: Path, names: tuple[str, ...], resources: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the resources to read, or raise InputError for an unknown one."""
    for name in resources or ():
        if name not in names:
            raise InputError(
                f"{where}: {name} of the machines is not known, only {', '.join(names)}: choose resources among these"
            )
    return names if resources is None else resources


def _google(where: Path, names: list[str]) -> Machines:
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
    # Machines that were added at time 0, by number.
    initial = (time == 0) & (event == ADDED) & ~np.isnan(capacity).any(axis=1)
    if not initial.any():
        raise InputError(f"{where}: no machine with a known capacity at time 0")
    by_id = np.flatnonzero(initial)[np.argsort(machine[initial], kind="stable")]
    return Machines(capacity[by_id], names=tuple(map(str, machine[by_id].tolist())))


def _parts(folder: Path) -> list[Path]:
    return sorted((folder / "machine_events").glob("part-*-of-*.csv.gz"))


def _pair(table: Columns, first: str, second: str) -> NDArray[np.float64]:
    return np.stack([decimals(table, first), decimals(table, second)], axis=1)


MACHINE_LIST = "cluster_machine_list"
LIST_COLUMNS = ("machineid", "number of gpus", "single gpu mem")
NO_GPU, UNKNOWN_GPUS, TWICE = "machines without a GPU", "machines with an unknown number of GPUs", "machines listed before"
LIST_START = 2**8  # bytes


class MachineList(NamedTuple):
    """Capacities (L, 1) (8 GPUs: 1), names, and omissions."""

    capacity: NDArray[np.float64]
    names: tuple[str, ...]
    left_out: dict[str, int]


def is_machine_list(path: Path) -> bool:
    """Return whether a file begins with the list's column names."""
    if not path.is_file():
        return False
    first = first_bytes(path, LIST_START).decode("utf-8-sig", errors="replace").splitlines()[:1]
    return bool(first) and tuple(name.strip().lower() for name in first[0].split(",")) == LIST_COLUMNS


def beside(job_log: str) -> str | None:
    """Return the list of machines in a job log's folder, else None."""
    path = Path(job_log)
    if not path.is_file():
        return None
    file = path.with_name(MACHINE_LIST)
    return str(file) if is_machine_list(file) and is_job_log(path) else None


def read_machine_list(path: Path) -> MachineList:
    """Read the machines, at least one with GPUs."""
    gpus: dict[str, int] = {}
    left_out = dict.fromkeys((NO_GPU, UNKNOWN_GPUS, TWICE), 0)
    with reading(path):
        rows = [row for row in enumerate(csv.reader(lines_of(path)), 1) if row[1]]
    for line, row in rows[1:]:
        where = f"{path}: line {line}"
        if len(row) != len(LIST_COLUMNS):
            raise InputError(f"{where}: {len(LIST_COLUMNS)} columns are expected, not {len(row)}")
        machine, number, _ = (cell.strip() for cell in row)
        if not machine:
            raise InputError(f"{where}, machineId: is empty")
        if machine in gpus:
            left_out[TWICE] += 1
        elif not number:
            left_out[UNKNOWN_GPUS] += 1
        else:
            gpus[machine] = _integer(number, f"{where}, number of GPUs")
    capacity = [number / LARGEST_SERVER for number in gpus.values() if number]
    left_out[NO_GPU] = len(gpus) - len(capacity)
    if not capacity:
        raise InputError(f"{path}: no machine with a known number of GPUs")
    return MachineList(np.array(capacity)[:, None], tuple(name for name, number in gpus.items() if number), left_out)


def _integer(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{where}: {excerpt(text)} is not a whole number")
    return read_whole(text)
