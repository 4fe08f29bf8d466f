# smallest_first.py: a compiled policy
from typing import Any, NamedTuple

from packenv import Setting, schedules
from packenv.cluster import (
    BY_ROOM,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    largest_fitting,
    now,
    place,
    size_of,
    smallest_size,
    tightest_server,
    waiting,
    wake_at,
)


class SmallestFirst(NamedTuple):
    """The smallest waiting task first, to the tightest server; at most `starts` tasks in a slot."""

    starts: int = 100

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_SIZE | BY_ROOM)  # the orders that the functions below ask for


@schedules(SmallestFirst)
def schedule(policy: SmallestFirst, cluster: Cluster, state: Any) -> None:
    for _ in range(policy.starts):
        if waiting(cluster) == 0:
            return
        task = largest_fitting(cluster, smallest_size(cluster))  # a task of the smallest waiting size
        server = tightest_server(cluster, size_of(cluster, task))
        if server == NONE:
            return
        place(cluster, task, server)
    wake_at(cluster, now(cluster) + 1)  # a timer: call `schedule` in the next slot, too
