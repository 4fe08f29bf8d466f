"""Starts a task twice, on two servers."""

from typing import Any

from packenv.cluster import NONE, Cluster, oldest, place


class StartsTwice:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        task = oldest(cluster)
        if task != NONE:
            place(cluster, task, 0)
            place(cluster, task, 1)
