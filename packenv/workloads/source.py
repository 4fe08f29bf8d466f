"""Where the simulator's rows come from: a Jobs table, or a random workload that makes the table chunk by chunk.

`Source` is one compiled type for both, with a leading axis for the clusters of a batch, so the simulator is
compiled once. A table is a single chunk that is never refilled; all clusters of a batch share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.compile import compiled
from packenv.jobs import Jobs
from packenv.workloads.sampling import NO_LAWS, Laws, fill_chunk, stream_type

CHUNK = 1024


class Source(NamedTuple):
    """Rows first_row .. first_row + filled - 1 of each cluster's Jobs table (first axis: cluster)."""

    stream: NDArray[np.void]  # (E,) stream_type: where the chunk lies and how the next one is drawn
    arrival: NDArray[np.int64]  # (E, n) slots
    demand: NDArray[np.int64]  # (E, n, D) units
    service: NDArray[np.int64]  # (E, n) slots
    job: NDArray[np.int64]  # (E, n) job of the task; (E, 0) if every task is its own job
    laws: Laws


def table_source(jobs: Jobs) -> Source:
    """The whole table as one chunk."""
    stream = np.zeros(1, stream_type)
    stream["filled"] = len(jobs)
    stream["ended"] = 1
    job = jobs.job if jobs.job is not None else np.zeros(0, np.int64)
    return Source(stream, jobs.arrival[None], jobs.demand[None], jobs.service[None], job[None], NO_LAWS)


@compiled
def refill(source: Source, e: int) -> None:
    """Replace cluster e's used-up chunk by the next one."""
    stream = source.stream[e]
    stream.first_row += stream.filled
    stream.filled = fill_chunk(source.laws, stream, source.arrival[e], source.demand[e], source.service[e], source.job[e])
