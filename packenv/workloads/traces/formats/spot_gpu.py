"""Alibaba's trace of 2026 of jobs on GPUs, partly on spot capacity.

Jobs and nodes are as published (CSV) or in Parquet. A job has `worker_num` workers that each ask for `cpu_request` cores and
`gpu_request` GPUs, or a part of one, of kind `gpu_model`. A worker is a task, the workers of a job a gang, and its organisation
the tenant. Times are in seconds. A job arrives at `submit_time` and runs for `duration`. Its wait is not recorded. Amounts are
cores and GPUs.
Source: github.com/alibaba/clusterdata, cluster-trace-v2026-spot-gpu.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from packenv.errors import InputError
from packenv.inputs.memory import Memory
from packenv.workloads.traces.columns import Columns, decimals
from packenv.workloads.traces.formats import TraceFormat
from packenv.workloads.traces.gpus import gpu_needs, gpus_of_nodes, names_of_nodes
from packenv.workloads.traces.times import microseconds
from packenv.workloads.traces.trace import TWICE, Machines, Trace, Wanted, resource_names

RESOURCES = ("cpu", "gpu")
REQUESTS = {"cpu": "cpu_request", "gpu": "gpu_request"}
MODEL, WORKERS, SUBMIT, DURATION, OWNER = "gpu_model", "worker_num", "submit_time", "duration", "organization"
JOB = "job_name"
CAPACITIES = {"cpu": "cpu_num", "gpu": "gpu_capacity_num"}
NAME = "node_name"
NODE_COLUMNS = frozenset({MODEL, *CAPACITIES.values()})
PER_TASK = 200  # bytes of memory
ABOUT = "amounts are cores and GPUs; a job's workers are its tasks, and start together"


def is_nodes(names: list[str]) -> bool:
    """Return whether a file with these columns is a list of nodes."""
    return set(names) >= NODE_COLUMNS


def read_jobs(path: Path, choice: Wanted = None) -> Trace:
    """Read a task per worker."""
    resources = resource_names(choice, RESOURCES, RESOURCES, path)
    table = Columns.read(path, (JOB, *REQUESTS.values(), MODEL, WORKERS, SUBMIT, DURATION, OWNER))
    workers = table.whole(WORKERS)
    table.require(workers >= 1, WORKERS, "{} workers")
    Memory(path).reserve(PER_TASK * int(workers.sum()))
    submit, duration = microseconds(table, SUBMIT, None), microseconds(table, DURATION, None)
    devices, kinds = gpu_needs(table, REQUESTS["gpu"], MODEL)
    order = np.argsort(submit, kind="stable")
    job = np.repeat(order, workers[order])  # the row of each worker's job
    demand = np.stack([decimals(table, REQUESTS[name]) for name in resources], axis=1)
    return Trace(
        submit=submit[job],
        schedule=submit[job],
        end=(submit + duration)[job],
        demand=demand[job],
        resources=resources,
        finished=None,
        in_snapshot=np.zeros(len(job), np.bool_),
        unfit={TWICE: table.repeated(JOB, *table.names)[job]},
        job=job,
        others={"gang": job} | ({"tenant": table.names_numbered(OWNER)[job]} if OWNER in table else {}),
        source=str(path),
        rows=job + 1,
        about=ABOUT,
        devices=devices[job],
        device_kinds=kinds,
        device_shares="gpu" in resources and bool((devices[:, 1] > 0).any()),
    )


def nodes(path: Path, resources: tuple[str, ...]) -> Machines:
    """Return the nodes with their cores and GPUs."""
    table = Columns.read(path, (MODEL, *CAPACITIES.values(), NAME))
    amounts = np.stack([decimals(table, CAPACITIES[name]) for name in resources], axis=1)
    for r, name in enumerate(resources):
        table.require(~np.isnan(amounts[:, r]), CAPACITIES[name], "is empty")
    there = (amounts > 0).any(axis=1)
    if not there.any():
        raise InputError(f"{path}: no node has any {' or '.join(resources)}")
    devices, kinds = gpus_of_nodes(table, CAPACITIES["gpu"], MODEL)
    return Machines(amounts, devices, kinds, names_of_nodes(table, NAME)).only(there)


FORMATS = (TraceFormat(read_jobs, columns=frozenset({*REQUESTS.values(), WORKERS, SUBMIT, DURATION})),)
