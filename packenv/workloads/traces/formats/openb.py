"""Alibaba's GPU cluster trace of 2023 ("openb"): pods and the nodes they ran on, as published (CSV) or in Parquet.

A pod asks for cores (milli), memory (MiB) and GPUs: `num_gpu` times `gpu_milli` thousandths. Times are in seconds. Amounts
are in units of the trace's largest node in each resource. The GPUs of a node count as one amount, so that a pod on several
GPUs, or on a part of one, is a demand on their sum; types of GPU are left out.
Source: Weng et al., "Beware of fragmentation", USENIX ATC 2023; github.com/alibaba/clusterdata, cluster-trace-gpu-v2023.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.format import TraceFormat
from packenv.workloads.traces.table import MISSING, Trace, Wanted, microseconds, resource_names

LARGEST_NODE = {"cpu": 128_000, "memory": 1_048_576, "gpu": 8}  # milli, MiB, GPUs
RESOURCES = tuple(LARGEST_NODE)
NODE_COLUMNS = ("cpu_milli", "memory_mib", "gpu")
OTHER_NODE_COLUMNS = ("sn", "model")
TIMES = ("creation_time", "scheduled_time", "deletion_time")
POD_COLUMNS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", *TIMES)
NEVER_SCHEDULED = "never scheduled"
ABOUT = "capacity 1: the largest node, 128 cores, 1 TiB and 8 GPUs; a pod's GPUs, or part of one, are a demand on the node's sum"


def is_nodes(names: list[str]) -> bool:
    """Whether a file with these columns is a list of nodes."""
    return set(names) - set(OTHER_NODE_COLUMNS) == set(NODE_COLUMNS)


def read_pods(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per pod, in service from when it was scheduled until it was deleted. Raises InputError."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    table = Columns.read(path, POD_COLUMNS)
    number, milli = decimals(table, "num_gpu"), decimals(table, "gpu_milli")
    gpus = number * milli / 1000
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
        unfit={NEVER_SCHEDULED: scheduled[rows] == MISSING},
        source=str(path),
        rows=rows + 1,
        about=ABOUT,
        device_shares="gpu" in resources and bool(((number > 0) & (milli > 0) & (milli < 1000)).any()),
    )


def node_capacities(path: Path) -> NDArray[np.float64]:
    """(L, 3) cpu, memory and GPUs of the nodes, in units of the largest. Raises InputError."""
    table = Columns.read(path, NODE_COLUMNS)
    amounts = np.stack([decimals(table, name) for name in NODE_COLUMNS], axis=1)
    for r, name in enumerate(NODE_COLUMNS):
        table.require(~np.isnan(amounts[:, r]), name, "is empty")
    return np.asarray(amounts / list(LARGEST_NODE.values()), np.float64)


FORMATS = (TraceFormat(read_pods, columns=frozenset(POD_COLUMNS)),)
