"""Jobs that are in service when a run starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.events import take_place
from packenv.cluster.in_service import occupy
from packenv.cluster.queue.by_type import find_box
from packenv.cluster.slots import scalar_size
from packenv.cluster.state import TASK, Cluster
from packenv.compiled.decorators import compiled
from packenv.errors import InputError


class InService(NamedTuple):
    """A job that is in service when the run starts."""

    demand: tuple[int, ...]  # units
    server: int
    remaining: int  # slots, >= 1: it leaves at the start of slot `remaining`


def start_initial(c: Cluster, jobs: tuple[InService, ...], slotted: bool) -> None:
    """Put the jobs into service before slot 0, the n-th as row -1 - n; on slotted servers each takes a whole slot of a server.

    Raises InputError for a job that is larger than its server's slots.
    """
    for n, job in enumerate(jobs):
        if slotted and _scalar(job, c.scale) > c.server["least"][c.e, job.server] > 0:
            raise InputError(f"initial job {n} is larger than a slot of server {job.server}")
        _start(c, n, np.array(job.demand, np.int64), job.server, job.remaining, slotted)


def _scalar(job: InService, scale: NDArray[np.int64]) -> int:
    """Scalar size of a job, as packenv.cluster.slots.scalar_size."""
    most = int(scale.max())
    return max(-(-demand * most // int(largest)) for demand, largest in zip(job.demand, scale, strict=True) if demand > 0)


@compiled
def _start(c: Cluster, n: int, demand: NDArray[np.int64], server: int, remaining: int, slotted: bool) -> None:
    """Put job n into service; it takes its size of the room, or a whole slot of a slotted server."""
    i = take_place(c)
    task = c.task[c.e, i]
    task.kind, task.row, task.job, task.since = TASK, -1 - n, -1 - n, 0
    if c.demand.shape[1] == 0:
        task.size = demand[0]
    else:
        for r in range(len(demand)):
            c.demand[c.e, i, r] = demand[r]
        task.size = scalar_size(c, i)
        if c.types.box.shape[0] > 0:
            find_box(c, i)
    occupy(c, i, server, c.server[c.e, server].least if slotted else task.size, remaining)
