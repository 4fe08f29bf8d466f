"""A number of equal servers below which no policy meets the goals, with proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from packenv.cluster.outcome.measures import EXACT
from packenv.planning.goals import Goal, share_of
from packenv.planning.lower_bounds.cost_proof import WaitLimit, fewest
from packenv.planning.lower_bounds.table_cost import TableCost
from packenv.theory.capacity.max_workload import max_workload
from packenv.workloads.workload import Workload

LONGEST = 2.0**60  # slots: longer waits bound nothing


def fewest_servers(workload: Workload, goals: list[Goal], gap: float, seconds: float) -> int:
    """No policy meets the goals in the long run (a table: on these tasks) with fewer servers like the workload's first one.

    workload   with equal servers; policies do not go above their capacities
    gap        of the bracket of ρ*, within `seconds`

    A stream: with n servers less than n ρ*(1) tasks are in service on average, and rate · mean service must be. A table: the
    largest of what windows of time must hold, for each goal of the wait (`table_cost`).
    """
    if workload.jobs is None:
        one = workload.with_(servers=workload.servers.capacity[:1], rate=workload.rate)
        return math.floor(workload.rate * workload.mean_service / max_workload(one, gap, seconds).upper + 1e-9) + 1
    found = 1
    for limit in wait_limits(workload, goals):
        search = TableCost(workload.jobs, workload.servers.units[:1], (Fraction(1),), limit)
        search.run(gap, seconds)
        found = max(found, fewest(search.value))
    return found


def wait_limits(workload: Workload, goals: Sequence[Goal]) -> list[WaitLimit]:
    """What the goals on the wait say about the tasks of a table."""
    jobs = workload.jobs
    if jobs is None or jobs.predecessors is not None or jobs.phase is not None:
        return []  # tasks wait from when they are eligible, which depends on the policy
    found = []
    for goal in goals:
        share = share_of(goal.statistic)
        if goal.measure == "wait" and share is None:
            found.append(WaitLimit(math.floor(min(goal.limit * len(jobs) * (1 + 1e-12) + 1e-9, LONGEST)), None))
        elif goal.measure == "wait" and share is not None:
            wait = goal.limit if goal.statistic == "max" else _exact(goal.limit)  # the largest is recorded as it is
            found.append(WaitLimit(math.floor(min(wait, LONGEST)), math.floor((1 - share) * len(jobs))))
    return found


def _exact(wait: float) -> float:
    """A wait that no task exceeds whose recorded one is at most `wait`: long ones are recorded by the middle of a bin."""
    return wait if wait < EXACT else wait * (1 + 2 / EXACT)
