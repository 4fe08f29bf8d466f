"""Reads in the queue of events when tasks will end, and waits for the next end."""

from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class ReadsEnds:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        head = cluster.head[0]
        ends = cluster.events[0, : head["events"], 0]
        if (ends < head["now"] + 1_000_000).any():
            raise RuntimeError("found ends")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
