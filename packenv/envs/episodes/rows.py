"""Batches of one row, in the memory of the whole batch, for workloads that draw a table of jobs for every seed.

Compiled code reads one table of jobs, and its precedence, for all rows of a batch (`Source`, `Precedence`). Rows with
tables of their own are therefore stepped one by one; everything else reads the arrays of the whole batch.
"""

from __future__ import annotations

from packenv.cluster.fields import one_row
from packenv.cluster.state import Cluster
from packenv.cluster.whole_jobs.state import WholeJobs
from packenv.envs.core.state import Batch

BY_ROW = (
    *("turn", "passage", "action", "window", "ages", "room_class", "rooms", "active", "reserved", "queue", "virtual_queues"),
    *("servers", "server", "cluster", "configurations", "actions", "context", "mask", "waiting_sizes"),
    *("offered", "score", "rank", "near", "fitting", "foremost"),
)
"""Fields of a Batch that have a row for each cluster."""


def row_of(batch: Batch, row: int, own: Cluster, jobs: WholeJobs) -> Batch:
    """Row `row` as a batch of one, with the table that the cluster `own` was built for, and its jobs."""
    own_rows = {name: getattr(batch, name)[row : row + 1] for name in BY_ROW}
    return batch.replace(c=one_row(batch.c, row, own), jobs=jobs, first=0, last=1, **own_rows)
