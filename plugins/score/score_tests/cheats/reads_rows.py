"""Reads the rows of the table that are still to arrive."""

from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class ReadsRows:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        stream, head = cluster.source.stream[0], cluster.head[0]
        if stream["first_row"] + stream["filled"] > head["next_row"]:
            raise RuntimeError("found tasks that are still to arrive")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
