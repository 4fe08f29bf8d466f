# worst_fit.py: a policy in plain Python
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, room_of, server_count


class WorstFit:
    """Each waiting task, in queue order, to the server with the most room."""

    def schedule(self, cluster: Cluster, state: Any) -> None:
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)  # ask before placing the task
            server = max(range(server_count(cluster)), key=lambda server: room_of(cluster, server))
            if fits(cluster, task, server):
                place(cluster, task, server)
            task = following
