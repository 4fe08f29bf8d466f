"""With how many servers a random workload can have queues as short as its goals ask for: the proved bound on the queue.

With n servers no policy that does not know durations has a mean queue below `queue_bound` (packenv.theory.queue_bound), nor a
mean wait below that over the rate (Little's law). Where this is above a goal, n servers are too few, and so are fewer: what a
policy does on them it could do on n.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from packenv.errors import InputError
from packenv.planning.bracketing import least_up
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.bound import fewest_servers
from packenv.planning.search import with_servers
from packenv.policy import find_policy, needs_of
from packenv.simulation import setting_of
from packenv.theory.queue_bound.queue_bound import queue_bound
from packenv.workloads.servers import MOST_SERVERS
from packenv.workloads.workload import Workload

BLIND = "policy that does not know durations"


class Fewest(NamedTuple):
    """No policy, or none that does not know durations, meets the goals with fewer servers."""

    servers: int
    whom: str = "policy"  # or BLIND


def fewest_for(workload: Workload, goals: list[Goal], policies: Sequence[Any], gap: float, seconds: float) -> Fewest:
    """The best bound that holds for all of these policies (names or objects); `gap`, `seconds` as of `fewest_servers`."""
    stable = fewest_servers(workload, goals, gap, seconds)
    if workload.jobs is not None or any(knows_durations(policy, workload) for policy in policies):
        return Fewest(stable)
    short = fewest_for_queue(workload, goals, stable, seconds)
    return Fewest(short, BLIND) if short > stable else Fewest(stable)


def knows_durations(policy: Any, workload: Workload) -> bool:
    """Whether a policy (a name, or an object) may look at how long tasks take, or at tasks that have not arrived."""
    needs = needs_of(find_policy(policy) if isinstance(policy, str) else policy, setting_of(workload))
    return needs.durations or needs.table


def fewest_for_queue(workload: Workload, goals: Sequence[Goal], stable: int, seconds: float) -> int:
    """The least number from `stable` on of which `queue_bound` does not prove that a goal on the mean queue or wait is missed.

    A policy that knows durations may do with fewer. `stable` itself where nothing is proved of such workloads (only of Poisson
    and Bernoulli arrivals and geometric service), and no more than is proved within about so many seconds.
    """
    limits = [goal.limit * (workload.rate if goal.is_time else 1) for goal in goals if _of_mean(goal)]
    if not limits:
        return stable
    until = time.monotonic() + seconds

    def permits(servers: int) -> bool:
        if time.monotonic() > until:
            return True
        try:
            return queue_bound(with_servers(workload, servers)).value <= min(limits)
        except InputError:  # of such workloads nothing is proved, or the load is so near to ρ* that its bracket leaves it open
            return True

    return least_up(stable, MOST_SERVERS, permits, lambda servers: None)


def _of_mean(goal: Goal) -> bool:
    return goal.statistic == "mean" and goal.measure in ("wait", "queue")
