"""A number of equal servers below which no policy meets the goals."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from packenv.cluster.measures import EXACT
from packenv.errors import InputError
from packenv.jobs import Ints
from packenv.planning.goals import Goal, share_of
from packenv.planning.kinds import MOST_KINDS
from packenv.planning.lower_bounds.cost_proof import WaitLimit, fewest
from packenv.planning.lower_bounds.device_columns import with_device_columns
from packenv.planning.lower_bounds.table_cost import TableCost
from packenv.planning.search import least_up, with_servers
from packenv.policy import find_policy, needs_of
from packenv.simulation import setting_of
from packenv.theory.capacity.linear_program import Floats
from packenv.theory.capacity.max_workload import max_workload
from packenv.theory.queue_bound.queue_bound import queue_bound
from packenv.workloads.gangs import which_fit
from packenv.workloads.servers import MOST_SERVERS
from packenv.workloads.workload import Workload

CLOSE = 1e-9  # by which a row may be missed, for floats
LONGEST = 2.0**60  # slots: longer waits bound nothing
BLIND = "policy that does not know durations"


def fewest_servers(workload: Workload, goals: list[Goal], gap: float, seconds: float, there: int = 0) -> int:
    """Return a number of servers below which no policy meets the goals.

    The bound is for the long run of a stream, and for these tasks of a table. The workload's first `there` servers exist
    anyway, and all others are like the next one.
    workload   policies do not exceed the capacities of its servers
    gap        of the bracket of ρ*, within `seconds`
    A stream: n servers serve less than n ρ*(1) tasks on average, and must serve rate · mean service. A table: the largest
    bound from windows of time, including devices, over the goals on the wait (`table_cost`, `device_columns`).
    """
    if workload.jobs is None:
        if workload.has_gangs:
            raise InputError("a plan for random gangs is one for a table of them: Workload.tabulated(seed, slots)")
        if there:
            return _fewest_that_support(workload, gap, seconds, there)
        single = workload.with_(servers=workload.servers.capacity[:1], rate=workload.rate)
        return math.floor(workload.rate * workload.mean_service / max_workload(single, gap, seconds).upper + 1e-9) + 1
    least = fewest_that_hold(workload, there)
    kinds, counts = _kinds_there(workload, there)
    if len(kinds) > MOST_KINDS:
        return least
    jobs, capacity = with_device_columns(workload.jobs, workload.servers.only(kinds))
    for limit in wait_limits(workload, goals):
        search = TableCost(jobs, capacity, (Fraction(1),) * len(kinds), limit)
        search.run(gap, seconds)
        least = max(least, there + _fewest_more(*search.necessary(), counts) if there else fewest(search.value))
    return least


def _kinds_there(workload: Workload, there: int) -> tuple[list[int], Ints]:
    """Return a server of each existing kind and the next, and counts."""
    servers = workload.servers
    rows = servers.units if servers.devices is None else np.column_stack([servers.units, servers.devices])
    _, kinds, counts = np.unique(rows[:there], axis=0, return_index=True, return_counts=True)
    return [*kinds.tolist(), there], np.append(counts, 0)


def _fewest_more(supply: Floats, need: Floats, counts: Ints) -> int:
    """Return the least number of the last kind that satisfies all rows.

    `counts` of the other kinds exist. Rows that the last kind cannot help are ignored.
    """
    missing, supply_each = need * (1 - CLOSE) - supply @ counts, supply[:, -1]
    helped = (supply_each > 0) & (missing > 0)
    return math.ceil((missing[helped] / supply_each[helped]).max(initial=0))


def _fewest_that_support(workload: Workload, gap: float, seconds: float, there: int) -> int:
    """Return the least number not proved too few, within `seconds`."""
    load, until = workload.rate * workload.mean_service, time.monotonic() + seconds

    def may_support(servers: int) -> bool:
        return time.monotonic() > until or max_workload(with_servers(workload, servers, there), gap, seconds).upper > load - CLOSE

    return least_up(there, MOST_SERVERS, may_support, lambda servers: None)


def fewest_that_hold(workload: Workload, there: int = 0) -> int:
    """Return a number below which some task or gang never fits."""
    jobs = workload.jobs
    if jobs is None or (jobs.gang is None and there == 0):
        return max(there, 1)

    def hold(servers: int) -> bool:
        held = workload.servers.only(np.minimum(np.arange(servers), there))
        return bool(which_fit(jobs.scaled(held.scale), held).all())

    return least_up(max(there, 1), MOST_SERVERS, hold, lambda servers: None)


def wait_limits(workload: Workload, goals: Sequence[Goal]) -> list[WaitLimit]:
    """Return the goals on the wait as limits on the tasks of a table."""
    jobs = workload.jobs
    if jobs is None or jobs.predecessors is not None or jobs.phase is not None:
        return []  # tasks wait from when they are eligible, which depends on the policy
    limits, waits = [], int(jobs.leads.sum())
    for goal in goals:
        share = share_of(goal.statistic)
        if goal.measure == "wait" and share is None:
            limits.append(WaitLimit(math.floor(min(goal.limit * waits * (1 + 1e-12) + 1e-9, LONGEST)), None))
        elif goal.measure == "wait" and share is not None:
            wait = goal.limit if goal.statistic == "max" else _exact(goal.limit)  # the largest is recorded as it is
            limits.append(WaitLimit(math.floor(min(wait, LONGEST)), math.floor((1 - share) * waits)))
    return limits


def _exact(wait: float) -> float:
    """Return an upper bound on a wait recorded as a bin's middle."""
    return wait if wait < EXACT else wait * (1 + 2 / EXACT)


class Fewest(NamedTuple):
    """A number of servers below which no policy of `scope` meets the goals."""

    servers: int
    scope: str = "policy"  # the policies that it holds for: this, or BLIND


def fewest_for(
    workload: Workload, goals: list[Goal], policies: Sequence[Any], gap: float, seconds: float, there: int = 0
) -> Fewest:
    """Return the best bound for all policies, names or objects."""
    stable = fewest_servers(workload, goals, gap, seconds, there)
    if workload.jobs is not None or any(knows_durations(policy, workload) for policy in policies):
        return Fewest(stable)
    short = fewest_for_queue(workload, goals, stable, seconds, there)
    return Fewest(short, BLIND) if short > stable else Fewest(stable)


def knows_durations(policy: Any, workload: Workload) -> bool:
    """Return whether a policy may see durations or future tasks."""
    needs = needs_of(find_policy(policy) if isinstance(policy, str) else policy, setting_of(workload))
    return needs.durations or needs.table


def fewest_for_queue(workload: Workload, goals: Sequence[Goal], stable: int, seconds: float, there: int = 0) -> int:
    """Return the least number from `stable` on that `queue_bound` does not rule out.

    Without known durations no policy has a mean queue below packenv.theory.queue_bound on n servers, nor a mean wait below it
    divided by the rate (Little's law). If this exceeds a goal, n servers are too few, and so are fewer.
    Policies that know durations may need fewer. Returns `stable` if nothing is proved for the workload (bounds need Poisson or
    Bernoulli arrivals and geometric service). Ends after about `seconds`.
    """
    limits = [goal.limit * (workload.rate if goal.is_time else 1) for goal in goals if _of_mean(goal)]
    if not limits:
        return stable
    until = time.monotonic() + seconds

    def permits(servers: int) -> bool:
        if time.monotonic() > until:
            return True
        try:
            return queue_bound(with_servers(workload, servers, there)).value <= min(limits)
        except InputError:  # no bound for such workloads, or the load is within the bracket of ρ*
            return True

    return least_up(stable, MOST_SERVERS, permits, lambda servers: None)


def _of_mean(goal: Goal) -> bool:
    return goal.statistic == "mean" and goal.measure in ("wait", "queue")
