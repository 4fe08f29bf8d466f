"""What the largest tasks of a trace cost: the least number of servers without them, on the same other tasks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.errors import InputError
from packenv.planning.search import AskRuns, Search
from packenv.units import to_units


class WithoutLargest(NamedTuple):
    """The least number of servers if tasks above a limit run elsewhere."""

    servers: int
    tasks: int  # that were left out
    work: float  # their share of Σ demand · service, of the resource of which it is largest


def without_largest(search: Search, servers: int, limit: float, ask: AskRuns) -> WithoutLargest:
    """The least number, looked for from `servers` on, without the tasks that need more than `limit` of a resource.

    The tasks are left out, neither split nor cut down, so that the jobs of the others stay as they are.
    """
    jobs = search.workload.jobs
    if jobs is None:
        raise InputError("a limit on demands is for traces: the laws of a workload say what tasks there are")
    kept = np.asarray((jobs.demand <= to_units(limit)).all(axis=1), np.bool_)
    if not kept.any():
        raise InputError("no task is as small as the limit on demands")
    other = search.of(search.workload.with_(jobs=jobs.only(kept)))
    found = other.least_near(servers, 1, other.seeds_of(range(search.seeds)), ask)
    work = jobs.demand * jobs.service[:, None].astype(np.float64)
    every = work.sum(axis=0)
    share = float((work[~kept].sum(axis=0)[every > 0] / every[every > 0]).max())
    return WithoutLargest(found, int((~kept).sum()), share)
