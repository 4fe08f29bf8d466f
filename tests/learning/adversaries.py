"""Policies that are as bad as can be, for the guard to make good."""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import BY_INDEX, BY_SIZE, NONE, Cluster, Needs, jobs_in, largest_fitting, place, server_count, smallest_size
from packenv.policy import Setting, schedules


class AlwaysWait(NamedTuple):
    """Starts nothing, ever."""

    number: int = 0

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=0)


@schedules(AlwaysWait)
def schedule_nothing(policy: AlwaysWait, cluster: Cluster, state: tuple[()]) -> None:
    pass


class SmallestOnEmpty(NamedTuple):
    """Serves one job at a time: the smallest, on a server that is empty."""

    number: int = 1

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_SIZE | BY_INDEX)


@schedules(SmallestOnEmpty)
def schedule_smallest(policy: SmallestOnEmpty, cluster: Cluster, state: tuple[()]) -> None:
    for server in range(server_count(cluster)):
        if jobs_in(cluster, server) == 0 and cluster.head[cluster.e].waiting > 0:
            task = largest_fitting(cluster, smallest_size(cluster))
            if task != NONE:
                place(cluster, task, server)
