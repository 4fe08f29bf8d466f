"""What was in service on which server, and when: the tasks of a schedule, and what they took to read over the network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.results.schedule import Schedule
from packenv.workloads.network import Network

Ints = NDArray[np.int64]


class InService(NamedTuple):
    """k demands, each on one server for some slots."""

    server: Ints  # (k,)
    start: Ints  # (k,) first slot
    end: Ints  # (k,) slot in which it is over
    demand: Ints  # (k, D) units


def in_service(jobs: Jobs, schedule: Schedule, network: Network | None) -> InService:
    """Of every row that started its demand; of one that read over the network also what that took on both servers."""
    rows = np.flatnonzero(schedule.start >= 0)
    found = InService(schedule.server[rows].astype(np.int64), schedule.start[rows], schedule.end[rows], jobs.demand[rows])
    if schedule.source is None or network is None:
        return found
    reading, serving = network.units(jobs.resources)
    reads = rows[schedule.source[rows] >= 0]
    return InService(
        np.concatenate([found.server, schedule.server[reads], schedule.source[reads]]),
        np.concatenate([found.start, schedule.start[reads], schedule.start[reads]]),
        np.concatenate([found.end, schedule.end[reads], schedule.end[reads]]),
        np.concatenate([found.demand, np.tile(reading, (len(reads), 1)), np.tile(serving, (len(reads), 1))]),
    )
