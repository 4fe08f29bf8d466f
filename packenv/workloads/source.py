"""Source of tasks for the simulator: a Jobs table, or random chunks.

`Source` is one compiled type for both, so the simulator is compiled once. Its first axis is the cluster of a batch. A Jobs
table is a single chunk that is never refilled and that all clusters share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import apart
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.jobs import Jobs, gang_spans
from packenv.workloads.devices import NO_DEVICES, Devices
from packenv.workloads.laws.encoding import Laws
from packenv.workloads.network import NOWHERE, Locality
from packenv.workloads.sampling import NO_LAWS, begin, fill_chunk, stream_type

CHUNK = 1024
LARGEST_BATCH = 2**20  # rows of all clusters together: with many clusters chunks are shorter, down to LEAST_CHUNK
LEAST_CHUNK = 64
NO_GANGS = np.zeros((1, 0, 2), np.int64)
NO_ESTIMATES = np.zeros(0, np.int64)


class Source(Frame):
    """Rows first_row .. first_row + filled - 1 of each cluster."""

    stream: NDArray[np.void]  # (E,) stream_type: the place of the chunk, and the state from which the next one is drawn
    arrival: NDArray[np.int64]  # (E, n) slots
    demand: NDArray[np.int64]  # (E, n, D) units
    service: NDArray[np.int64]  # (E, n) slots
    job: NDArray[np.int64]  # (E, n) job of the task; (E, 0) if every task is its own job
    laws: Laws
    locality: Locality  # where the data of a table's rows lie
    devices: Devices  # of the servers, and needed by a table's rows
    gangs: NDArray[np.int64]  # (1, n, 2) `packenv.jobs.gang_spans`; (1, 0, 2) of a table without gangs, and of random tasks
    estimate: NDArray[np.int64]  # (n,) estimated slots of a table's rows; (0,) without estimates


def table_source(jobs: Jobs, locality: Locality = NOWHERE, devices: Devices = NO_DEVICES) -> Source:
    """Return a Jobs table as one chunk, with its locality and devices."""
    stream = np.zeros(1, stream_type)
    stream["filled"] = len(jobs)
    stream["ended"] = 1
    job = jobs.job if jobs.job is not None else np.zeros(0, np.int64)
    arrival, demand, service, job = (np.ascontiguousarray(data)[None] for data in (jobs.arrival, jobs.demand, jobs.service, job))
    return Source(
        stream=stream,
        arrival=arrival,
        demand=demand,
        service=service,
        job=job,
        laws=NO_LAWS,
        locality=locality,
        devices=devices,
        gangs=NO_GANGS if jobs.gang is None else gang_spans(jobs.gang)[None],
        estimate=NO_ESTIMATES if jobs.estimate is None else np.maximum(np.rint(jobs.estimate).astype(np.int64), 1),
    )


def random_source(laws: Laws, seeds: Sequence[int], rate: float, batches: bool, chunk: int | None = None) -> Source:
    """Return one cluster per seed, at `rate` jobs per slot.

    Jobs have one task each unless `batches`. A `chunk` has few enough rows by default for a small batch. Raises InputError for no
    seed, or one out of range.
    """
    clusters = len(seeds)
    if clusters == 0:
        raise InputError("a batch needs at least 1 seed")
    rows = chunk if chunk is not None else max(LEAST_CHUNK, min(CHUNK, LARGEST_BATCH // clusters))
    if rows < 1:
        raise InputError(f"a chunk needs at least 1 row, not {rows}")
    stream = np.zeros(clusters, stream_type)
    for e, seed in enumerate(seeds):
        if int(seed) != seed or not 0 <= int(seed) < 2**63:
            raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, not {seed}")
        begin(stream[e], int(seed), rate)
    return Source(
        stream=stream,
        arrival=np.zeros((clusters, rows), np.int64),
        demand=np.zeros((clusters, rows, laws.vector.shape[1]), np.int64),
        service=np.zeros((clusters, rows), np.int64),
        job=np.zeros((clusters, rows if batches else 0), np.int64),
        laws=laws,
        locality=NOWHERE,
        devices=NO_DEVICES,
        gangs=NO_GANGS,
        estimate=NO_ESTIMATES,
    )


@apart
def refill(source: Source, e: int) -> None:
    """Replace the used-up chunk of cluster e by the next one."""
    stream = source.stream[e]
    stream.first_row += stream.filled
    stream.filled = fill_chunk(source.laws, stream, source.arrival[e], source.demand[e], source.service[e], source.job[e])
