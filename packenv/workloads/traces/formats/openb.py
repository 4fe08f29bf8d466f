"""Alibaba's GPU cluster trace of 2023 ("openb"): pods and nodes.

Files are as published (CSV) or in Parquet. A pod asks for cores (milli), memory (MiB) and GPUs: `num_gpu` times `gpu_milli`
thousandths. Times are in seconds. Amounts are in units of the trace's largest node in each resource. A pod has a part of one GPU
of a node, or several whole ones. `gpu_spec` names the kinds that it accepts, "V100M16|V100M32", and a node's kind is its `model`.
If only GPUs count, or only the largest demand, they are one amount.
Source: Weng et al., "Beware of fragmentation", USENIX ATC 2023; github.com/alibaba/clusterdata, cluster-trace-gpu-v2023.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import MILLI
from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.gpus import gpus_of_nodes, names_of_nodes
from packenv.workloads.traces.times import MISSING, microseconds
from packenv.workloads.traces.trace import TWICE, Machines, Trace, Wanted, resource_names

LARGEST_NODE = {"cpu": 128_000, "memory": 1_048_576, "gpu": 8}  # milli, MiB, GPUs
RESOURCES = tuple(LARGEST_NODE)
NODE_COLUMNS = ("cpu_milli", "memory_mib", "gpu")
NAME, POD, MODEL, SPEC = "sn", "name", "model", "gpu_spec"
OTHER_NODE_COLUMNS = (NAME, MODEL)
TIMES = ("creation_time", "scheduled_time", "deletion_time")
POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", *TIMES)
NEVER_SCHEDULED = "never scheduled"
ABOUT = "capacity 1: the largest node, 128 cores, 1 TiB and 8 GPUs"


def is_nodes(names: list[str]) -> bool:
    """Return whether a file with these columns is a list of nodes."""
    return set(names) - set(OTHER_NODE_COLUMNS) == set(NODE_COLUMNS)


def read_pods(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per pod, in service from scheduling until deletion."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    table = Columns.read(path, (POD, *POD_COLUMNS, SPEC))
    number, milli = table.whole("num_gpu", 0), table.whole("gpu_milli", 0)
    devices, kinds = _devices(table, number, milli)
    gpus = number * milli / MILLI
    amounts = {"cpu": decimals(table, "cpu_milli"), "memory": decimals(table, "memory_mib"), "gpu": gpus}
    created, scheduled, deleted = (
        microseconds(table, name, missing) for name, missing in zip(TIMES, (None, MISSING, MISSING), strict=True)
    )
    rows = np.argsort(created, kind="stable")
    return Trace(
        submit=created[rows],
        schedule=scheduled[rows],
        end=deleted[rows],
        demand=np.stack([amounts[name] / LARGEST_NODE[name] for name in resources], axis=1)[rows],
        resources=resources,
        finished=deleted[rows] != MISSING,
        in_snapshot=np.zeros(len(rows), np.bool_),
        unfit={TWICE: table.repeated(POD, *table.names)[rows], NEVER_SCHEDULED: scheduled[rows] == MISSING},
        source=str(path),
        rows=rows + 1,
        about=ABOUT,
        devices=devices[rows],
        device_kinds=kinds,
        devices_per_unit=LARGEST_NODE["gpu"],
        device_shares="gpu" in resources and bool(((number > 0) & (milli > 0) & (milli < MILLI)).any()),
    )


def _devices(table: Columns, number: NDArray[np.int64], milli: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return pods' GPU needs (n, 3), and the names of the kinds."""
    for name, column in (("num_gpu", number), ("gpu_milli", milli)):
        table.require(column >= 0, name, "{} is negative")
    table.require((number == 0) | (milli > 0), "gpu_milli", "a pod with GPUs has {} of each")
    table.require((milli <= MILLI) | (number == 0), "gpu_milli", "{} is more than a whole GPU, 1000")
    table.require((number <= 1) | (milli == MILLI), "gpu_milli", "{} of each of several GPUs: a part is of one GPU")
    accepted, kinds = table.kinds(SPEC) if SPEC in table else (np.zeros(len(number), np.int64), ())
    share = np.where((number == 1) & (milli < MILLI), milli, 0)
    return np.stack([number, share, accepted], axis=1), kinds


def nodes(path: Path, resources: tuple[str, ...]) -> Machines:
    """Return the nodes' resources, in units of the largest, and any GPUs."""
    table = Columns.read(path, (*NODE_COLUMNS, *OTHER_NODE_COLUMNS))
    amounts = np.stack([decimals(table, name) for name in NODE_COLUMNS], axis=1)
    for r, name in enumerate(NODE_COLUMNS):
        table.require(~np.isnan(amounts[:, r]), name, "is empty")
    amounts = (amounts / list(LARGEST_NODE.values()))[:, [RESOURCES.index(name) for name in resources]]
    there = (amounts > 0).any(axis=1)
    if not there.any():
        raise InputError(f"{path}: no node has any {' or '.join(resources)}")
    if "gpu" not in resources or len(resources) == 1:
        return Machines(amounts, names=names_of_nodes(table, NAME)).only(there)
    devices, models = gpus_of_nodes(table, "gpu", MODEL)
    return Machines(amounts, devices, models, names_of_nodes(table, NAME)).only(there)


FORMATS = (TraceFormat(read_pods, columns=frozenset(POD_COLUMNS)),)
