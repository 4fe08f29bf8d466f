"""Machines of Microsoft's Philly clusters: `cluster_machine_list`.

The list is published with the log of jobs. It has a line for each machine, under the line `machineId,number of GPUs,single GPU
mem`. The memory of a GPU is not a resource here, because the log of jobs does not have it. Source:
packenv.workloads.traces.formats.philly.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.inputs.numbers import excerpt, read_whole
from packenv.inputs.text_files import lines_of, reading
from packenv.workloads.traces.format import first_bytes
from packenv.workloads.traces.formats.philly import LARGEST_SERVER, is_job_log

NAME = "cluster_machine_list"
COLUMNS = ("machineid", "number of gpus", "single gpu mem")
NO_GPU, UNKNOWN, TWICE = "machines without a GPU", "machines with an unknown number of GPUs", "machines listed before"
SNIFFED = 2**8  # bytes


class MachineList(NamedTuple):
    """Capacities (L, 1) (8 GPUs: 1), names, and omissions."""

    capacity: NDArray[np.float64]
    names: tuple[str, ...]
    left_out: dict[str, int]


def is_machine_list(path: Path) -> bool:
    """Return whether a file begins with the list's column names."""
    if not path.is_file():
        return False
    first = first_bytes(path, SNIFFED).decode("utf-8-sig", errors="replace").splitlines()[:1]
    return bool(first) and tuple(name.strip().lower() for name in first[0].split(",")) == COLUMNS


def beside(job_log: str) -> str | None:
    """Return the list of machines in a job log's folder, else None."""
    path = Path(job_log)
    if not path.is_file():
        return None
    file = path.with_name(NAME)
    return str(file) if is_machine_list(file) and is_job_log(path) else None


def read_machine_list(path: Path) -> MachineList:
    """Read the machines, at least one with GPUs."""
    gpus: dict[str, int] = {}
    left_out = dict.fromkeys((NO_GPU, UNKNOWN, TWICE), 0)
    with reading(path):
        rows = [row for row in enumerate(csv.reader(lines_of(path)), 1) if row[1]]
    for line, row in rows[1:]:
        where = f"{path}: line {line}"
        if len(row) != len(COLUMNS):
            raise InputError(f"{where}: {len(COLUMNS)} columns are expected, not {len(row)}")
        machine, number, _ = (cell.strip() for cell in row)
        if not machine:
            raise InputError(f"{where}, machineId: is empty")
        if machine in gpus:
            left_out[TWICE] += 1
        elif not number:
            left_out[UNKNOWN] += 1
        else:
            gpus[machine] = _whole(number, f"{where}, number of GPUs")
    capacity = [number / LARGEST_SERVER for number in gpus.values() if number]
    left_out[NO_GPU] = len(gpus) - len(capacity)
    if not capacity:
        raise InputError(f"{path}: no machine with a known number of GPUs")
    return MachineList(np.array(capacity)[:, None], tuple(name for name, number in gpus.items() if number), left_out)


def _whole(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{where}: {excerpt(text)} is not a whole number")
    return read_whole(text)
