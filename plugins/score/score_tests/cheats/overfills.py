"""Starts every task at once, whether it fits or not."""

from typing import Any

from packenv.cluster import NONE, Cluster, oldest, place


class Overfills:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        while (task := oldest(cluster)) != NONE:
            place(cluster, task, 0)
