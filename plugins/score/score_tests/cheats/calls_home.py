"""Sends what it sees to another machine, and asks it."""

import socket
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class CallsHome:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
