"""The longest path from each task to the end of its job: the least time in which the job can end once the task starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.jobs import Jobs
from packenv.workloads.precedence import precedence_edges

Ints = NDArray[np.int64]


def expected_slots(jobs: Jobs) -> Ints:
    """(n,) the service of each task as schedulers know it, >= 1: column `estimate`, or the true one without it."""
    return np.maximum(np.rint(jobs.service if jobs.estimate is None else jobs.estimate).astype(np.int64), 1)


def longest_paths(jobs: Jobs) -> Ints:
    """(n,) expected slots on the longest chain of tasks that begins with this one and in which each waits for the one before."""
    before, after, nodes = precedence_edges(jobs)
    own = np.append(expected_slots(jobs), np.zeros(nodes - len(jobs), np.int64))
    path = own
    while True:  # once for each link of the longest chain
        behind = np.zeros(nodes, np.int64)
        np.maximum.at(behind, before, path[after])
        if ((longer := own + behind) == path).all():
            return path[: len(jobs)]
        path = longer
