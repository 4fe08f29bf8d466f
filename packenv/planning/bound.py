"""A number of equal servers below which no policy meets the goals, with proof."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.outcome.measures import EXACT
from packenv.jobs import Jobs
from packenv.planning.goals import Goal
from packenv.theory.capacity.max_workload import max_workload
from packenv.workloads.workload import Workload

OUTSIDE = {"p50": 0.5, "p95": 0.05, "p99": 0.01}
"""The share of the tasks that a quantile of the wait says nothing about."""

MOST_CELLS = 2 * 10**8  # tasks × windows
MOST_LEVELS = 9  # the shortest windows are the 256th part of the arrivals


def fewest_servers(workload: Workload, goals: list[Goal], gap: float, seconds: float) -> int:
    """No policy meets the goals in the long run (a table: on these tasks) with fewer servers like the workload's first one.

    workload   with equal servers; policies do not go above their capacities
    gap        of the bracket of ρ*, within `seconds`

    A stream: with n servers less than n ρ*(1) tasks are in service on average, and rate · mean service must be. A table: the
    largest of what windows of time must hold (`window_bound`), for each goal of a quantile of the wait; a mean m has one, as at
    most half of the tasks wait for more than 2 m (Markov).
    """
    if workload.jobs is None:
        one = workload.with_(servers=workload.servers.capacity[:1], rate=workload.rate)
        return math.floor(workload.rate * workload.mean_service / max_workload(one, gap, seconds).upper + 1e-9) + 1
    if workload.jobs.predecessors is not None or workload.jobs.phase is not None:
        return 1  # tasks wait from when they are eligible, which depends on the policy
    found = 1
    for goal in goals:
        if goal.measure == "wait":
            wait, outside = (2 * goal.limit, 0.5) if goal.statistic == "mean" else (_exact(goal.limit), OUTSIDE[goal.statistic])
            found = max(found, window_bound(workload.jobs, workload.servers.units[0], math.floor(wait), outside))
    return found


def _exact(wait: float) -> float:
    """A wait that no task exceeds whose recorded one is at most `wait`: long ones are recorded by the middle of a bin."""
    return wait if wait < EXACT else wait * (1 + 2 / EXACT)


def window_bound(jobs: Jobs, capacity: NDArray[np.int64], wait: int, outside: float) -> int:
    """The fewest servers on which all tasks but a share of at most `outside` can wait for at most `wait` slots.

    capacity (D,) units of each server.

    A task that waits for at most w is in service in at least min(o(0), o(w)) slots of a window, o(s) those in which it would be
    if it started s slots after its arrival: as its start moves on, the overlap rises, stays, and falls. All but a share of the
    tasks do so; the largest products of demand and overlap are left out, as many as may be. What remains is at most
    length · capacity · n.
    Windows: the time of the arrivals, and its halves, quarters, … down to 256ths, each also moved by a half of its length.
    """
    arrival, service = jobs.arrival, jobs.service
    first, last = int(arrival[0]), int(arrival[-1]) + 1
    spared = math.floor(outside * len(jobs) + 1e-9)
    levels = min(MOST_LEVELS, max(1, int(math.log2(max(MOST_CELLS / len(jobs), 2)))))
    best = 1
    for level in range(levels):
        length = (last - first) / 2**level
        if length < 1:
            break
        for half_steps in range(2 ** (level + 1) - 1):
            start = first + int(half_steps * length / 2)
            end = start + math.ceil(length)
            here = slice(0, int(np.searchsorted(arrival, end)))  # those that have arrived
            overlap = np.minimum(
                _overlap(arrival[here], service[here], start, end), _overlap(arrival[here] + wait, service[here], start, end)
            )
            for r in np.flatnonzero(capacity > 0):
                work = overlap * jobs.demand[here, r]
                work = work[work > 0]
                if len(work) > spared:
                    kept = np.partition(work, len(work) - spared - 1)[: len(work) - spared] if spared else work
                    best = max(best, math.ceil(int(kept.sum()) / ((end - start) * int(capacity[r]))))
    return best


def _overlap(start: NDArray[np.int64], service: NDArray[np.int64], first: int, end: int) -> NDArray[np.int64]:
    """Slots of [first, end) in which tasks that start then are in service."""
    return np.maximum(np.minimum(start + service, end) - np.maximum(start, first), 0)
