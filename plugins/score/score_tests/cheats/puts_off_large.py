"""Starts the few largest tasks only when nothing else is left to be done, so that no run leaves one for ever."""

from typing import Any, NamedTuple

from packenv import Setting, schedules
from packenv.cluster import BY_ROOM, BY_SIZE, NONE, Cluster, Needs, largest_fitting, place, size_of, tightest_server


class PutsOffLarge(NamedTuple):
    share: float = 0.985

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_SIZE | BY_ROOM)


@schedules(PutsOffLarge)
def schedule(policy: PutsOffLarge, cluster: Cluster, state: Any) -> None:
    limit = int((1.0 if cluster.head[0].in_service == 0 else policy.share) * 0.9 * 3 * 2**20)
    while True:
        task = largest_fitting(cluster, limit)
        while task != NONE and tightest_server(cluster, size_of(cluster, task)) == NONE:
            task = largest_fitting(cluster, size_of(cluster, task) - 1)
        if task == NONE:
            return
        place(cluster, task, tightest_server(cluster, size_of(cluster, task)))
