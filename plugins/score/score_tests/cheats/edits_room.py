"""Gives every server in its copy of the cluster a room without end."""

from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class EditsRoom:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        cluster.server["room"] = 1 << 30
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
