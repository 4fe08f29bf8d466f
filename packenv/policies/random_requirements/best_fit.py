"""Best-fit scheduling: BF-J, BF-S and BF-J/S.

Source: Psychas & Ghaderi, arXiv 1901.05998, §IV; PAPERS §1.5. BF-J/S supports at least half of the maximum workload for geometric
service and sizes bounded away from 0 (Theorem 2). After each of the three, no waiting task fits on any server.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import (
    BY_AGE,
    BY_DEMAND,
    BY_INDEX,
    BY_QUEUE,
    BY_ROOM,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    behind,
    best_server,
    fill,
    first_server,
    fits,
    follows,
    freed_count,
    freed_server,
    has_gangs,
    in_gang,
    largest_room,
    may_fit,
    new_count,
    new_task,
    next_in_queue,
    oldest,
    oldest_fitting,
    place,
    server_count,
    size_of,
    smallest_size,
    start_best_fit,
    tightest_server,
    waiting,
)
from packenv.compiled.decorators import apart, compiled
from packenv.policies.random_requirements.stalling import in_model, share_below, stall_half_empty
from packenv.policy import Setting, schedules, takes_over


def _needs(setting: Setting, scalar: int, stall: bool) -> Needs:
    """Return `scalar` orders for one resource, else groups by demand."""
    vectors = setting.capacity.shape[1] > 1
    orders = BY_DEMAND | BY_QUEUE if vectors else scalar
    return Needs(orders=orders | (BY_SIZE if stall else 0), vectors=vectors, rejects=True, devices=vectors)


class BestFit(NamedTuple):
    """Fill freed servers, then place new tasks by best fit.

    This is BF-J/S of §IV: BF-S on the servers with completions in this slot, then BF-J for the tasks that arrived in it.
    Gangs come first, the oldest of those whose tasks all have room. Each task, in row order, goes where BF-J puts it.
    """

    stall: bool = False

    def needs(self, setting: Setting) -> Needs:
        needs = _needs(setting, BY_SIZE | BY_ROOM, self.stall)
        queue = BY_QUEUE if setting.workload.has_gangs else 0
        return needs._replace(orders=needs.orders | queue, gangs=not self.stall)

    def guarantee(self, setting: Setting) -> float:
        """Return ½ if sizes are bounded away from 0 (Theorem 2), else 0."""
        bounded = share_below(setting, 1) == 0
        return 1 / 2 if bounded and in_model(setting, self.stall) else 0.0


@schedules(BestFit)
def schedule_best_fit(policy: BestFit, cluster: Cluster, state: tuple[()]) -> None:
    if has_gangs(cluster):
        start_gangs(cluster)
    for n in range(freed_count(cluster)):
        fill(cluster, freed_server(cluster, n))
    # In a long queue even the smallest task rarely fits.
    if cluster.orders & BY_DEMAND or (waiting(cluster) > 0 and smallest_size(cluster) <= largest_room(cluster)):
        place_new(cluster)
    if policy.stall:
        stall_half_empty(cluster)


@takes_over(BestFit)
def take_over_best_fit(policy: BestFit, cluster: Cluster, state: tuple[()]) -> None:
    """Fill all servers once. Later slots fill only those with completions."""
    for server in range(server_count(cluster)):
        fill(cluster, server)


@apart
def start_gangs(cluster: Cluster) -> None:
    """Place gangs by BF-J in queue order. Only new ones if nothing was freed."""
    if freed_count(cluster) > 0:
        task = oldest(cluster)
        while task != NONE:
            following = behind(cluster, task)
            if in_gang(cluster, task):
                start_best_fit(cluster, task)
            task = following
    else:
        for n in range(new_count(cluster)):
            task = new_task(cluster, n)
            if task != NONE and in_gang(cluster, task) and not follows(cluster, task):
                start_best_fit(cluster, task)


@compiled
def place_new(cluster: Cluster) -> None:
    """Put each new task on the tightest server with room, if any."""
    for n in range(new_count(cluster)):
        task = new_task(cluster, n)
        if task != NONE and not in_gang(cluster, task) and may_fit(cluster, task):
            server = best_server(cluster, task)
            if server != NONE:
                place(cluster, task, server)


class BestFitServers(NamedTuple):
    """Fill each server with the largest tasks that fit.

    This is BF-S of §IV. Servers go in index order, each until no task fits.
    """

    stall: bool = False

    def needs(self, setting: Setting) -> Needs:
        return _needs(setting, BY_SIZE | BY_INDEX, self.stall)


@schedules(BestFitServers)
def schedule_best_fit_servers(policy: BestFitServers, cluster: Cluster, state: tuple[()]) -> None:
    server = next_server(cluster, 0)
    while server != NONE:
        fill(cluster, server)
        server = next_server(cluster, server + 1)
    if policy.stall:
        stall_half_empty(cluster)


@compiled
def next_server(cluster: Cluster, start: int) -> int:
    """Return the first server from `start` where a task may fit, or NONE."""
    if waiting(cluster) == 0:
        return NONE
    if cluster.orders & BY_DEMAND:
        return next_changed_server(cluster, start)
    return first_server(cluster, smallest_size(cluster), start)


@compiled
def next_changed_server(cluster: Cluster, start: int) -> int:
    """Return the next server with completions or room for new tasks.

    For several resources. It searches from `start`, and returns NONE at the end. Nothing fitted anywhere at the end of the last
    slot, so nothing fits on the servers left out.
    """
    for server in range(start, server_count(cluster)):
        if cluster.server[cluster.e, server].freed == cluster.head[cluster.e].now:
            return server
        for n in range(new_count(cluster)):
            task = new_task(cluster, n)
            if task != NONE and fits(cluster, task, server):
                return server
    return NONE


class BestFitJobs(NamedTuple):
    """Put each waiting task on the tightest server with room.

    This is BF-J of §IV. Tasks go in queue order.
    """

    stall: bool = False

    def needs(self, setting: Setting) -> Needs:
        return _needs(setting, BY_AGE | BY_ROOM, self.stall)


@compiled
def place_all(cluster: Cluster) -> None:
    """BF-J for the whole queue, in queue order."""
    task = oldest(cluster)
    while task != NONE:
        following = next_in_queue(cluster, task)
        server = best_server(cluster, task)
        if server != NONE:
            place(cluster, task, server)
        task = following


@schedules(BestFitJobs)
def schedule_best_fit_jobs(policy: BestFitJobs, cluster: Cluster, state: tuple[()]) -> None:
    if cluster.orders & BY_DEMAND:
        if freed_count(cluster) > 0:
            place_all(cluster)
        else:  # no older task fitted in the last slot, and no room came free since
            place_new(cluster)
    else:
        task = oldest_fitting(cluster, largest_room(cluster))
        while task != NONE:
            place(cluster, task, tightest_server(cluster, size_of(cluster, task)))
            task = oldest_fitting(cluster, largest_room(cluster))
    if policy.stall:
        stall_half_empty(cluster)
