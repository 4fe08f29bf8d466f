"""Jobs that are in service when a run starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.events import take_place
from packenv.cluster.in_service import occupy
from packenv.cluster.queue.by_type import find_box
from packenv.cluster.slots import scalar_size
from packenv.cluster.state import TASK, Cluster
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.workloads.in_service import InService


def start_initial(c: Cluster, jobs: InService, slotted: bool) -> None:
    """Put the jobs into service before slot 0, the n-th as row -1 - n; on slotted servers each takes a whole slot of a server.

    Raises InputError for a job that is larger than its server's slots.
    """
    if slotted:
        least = c.server["least"][c.e, jobs.server]
        too_large = np.flatnonzero((least > 0) & (_scalar(jobs.demand, c.scale) > least))
        if len(too_large):
            n = int(too_large[0])
            raise InputError(f"initial job {n} is larger than a slot of server {jobs.server[n]}")
    _start_all(c, jobs.demand, jobs.server, jobs.remaining, slotted)


def _scalar(demand: NDArray[np.int64], scale: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) scalar sizes of jobs, as packenv.cluster.slots.scalar_size."""
    sizes = -(-demand * scale.max(initial=1) // np.maximum(scale, 1))
    return np.asarray(sizes.max(axis=1, initial=0), np.int64)


@compiled
def _start_all(
    c: Cluster, demand: NDArray[np.int64], server: NDArray[np.int64], remaining: NDArray[np.int64], slotted: bool
) -> None:
    """Put all jobs into service; each takes its size of the room, or a whole slot of a slotted server."""
    for n in range(demand.shape[0]):
        i = take_place(c)
        task = c.task[c.e, i]
        task.kind, task.row, task.job, task.since = TASK, -1 - n, -1 - n, 0
        if c.demand.shape[1] == 0:
            task.size = demand[n, 0]
        else:
            for r in range(demand.shape[1]):
                c.demand[c.e, i, r] = demand[n, r]
            task.size = scalar_size(c, i)
            if c.types.box.shape[0] > 0:
                find_box(c, i)
        occupy(c, i, server[n], c.server[c.e, server[n]].least if slotted else task.size, remaining[n])
