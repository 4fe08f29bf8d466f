"""With how many servers a table's tasks can use them as much as a goal asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from packenv.planning.goals import Goal
from packenv.workloads.servers import MOST_SERVERS
from packenv.workloads.workload import Workload

CLOSE = 1e-9  # for floats


def most_used(workload: Workload, goals: Sequence[Goal]) -> int:
    """With more servers like the first one no policy meets a goal on the utilisation; MOST_SERVERS without such a goal.

    The work of a table, Σ demand · service, is done in no less time than until its last task would end if none waited.
    """
    limit = max((goal.limit for goal in goals if goal.measure == "utilisation"), default=0.0)
    jobs = workload.jobs
    if jobs is None or limit == 0:
        return MOST_SERVERS
    work = (jobs.demand * jobs.service[:, None].astype(np.float64)).sum(axis=0)  # (D,)
    room = workload.servers.units[0] * float((jobs.arrival + jobs.service).max())
    used = [own / one for own, one in zip(work.tolist(), room.tolist(), strict=True) if one > 0]
    return min(MOST_SERVERS, math.floor(max(used) / limit * (1 + CLOSE)))
