"""Alibaba's trace of 2025 of recommendation models (DLRM).

Instances have five resources, as published (CSV) or in Parquet: cores, GPUs, a share of the network card (RDMA, %), memory (GiB)
and disk (GiB). Times are in seconds, empty before the trace began or after it ended. The nodes are not published, so amounts are
in units of the largest request of the file in each resource. The limit on instances of an application on one node is left out.
Source: Yang et al., "GPU-disaggregated serving", NSDI 2025; github.com/alibaba/clusterdata, cluster-trace-gpu-v2025.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.times import MISSING, microseconds
from packenv.workloads.traces.trace import TWICE, Trace, Wanted, resource_names

RESOURCES = ("cpu", "gpu", "rdma", "memory", "disk")
REQUESTS = {name: f"{name}_request" for name in RESOURCES}
UNITS = {"cpu": " cores", "gpu": " GPU", "rdma": " % of the network card", "memory": " GiB memory", "disk": " GiB disk"}
TIMES = ("creation_time", "scheduled_time", "deletion_time")
INSTANCE = "instance_sn"
APPLICATION = ("app_name", "app_id")  # as published, and numbered


def read_instances(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per instance, with its application as the tenant.

    An instance without a creation time was there when the trace began. One without a deletion time has not finished.
    """
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    table = Columns.read(path, [INSTANCE, *REQUESTS.values(), *TIMES, *APPLICATION])
    created, scheduled, deleted = (microseconds(table, name, MISSING) for name in TIMES)
    demand = np.stack([decimals(table, REQUESTS[name]) for name in resources], axis=1)
    largest = np.nanmax(demand, axis=0, initial=0.0)
    initial = created == MISSING
    submit = np.where(initial, 0, created)
    rows = np.argsort(submit, kind="stable")
    application = next((name for name in APPLICATION if name in table), None)
    amounts = ", ".join(f"{amount:g}{UNITS[name]}" for name, amount in zip(resources, largest, strict=True))
    tenant = {} if application is None else {"tenant": _numbered(table, application)[rows]}
    return Trace(
        submit=submit[rows],
        schedule=scheduled[rows],
        end=deleted[rows],
        demand=(demand / np.where(largest > 0, largest, 1))[rows],
        resources=resources,
        finished=deleted[rows] != MISSING,
        in_snapshot=initial[rows],
        unfit={TWICE: table.repeated(INSTANCE, *table.names)[rows]},
        others=tenant,
        source=str(path),
        rows=rows + 1,
        about=f"capacity 1: the largest request, {amounts}",
    )


def _numbered(table: Columns, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(pc.index_in(table.column(name), value_set=pc.unique(table.column(name))), np.int64)


FORMATS = (TraceFormat(read_instances, columns=frozenset({*REQUESTS.values(), *TIMES})),)
