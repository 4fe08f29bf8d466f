"""Exits with status 0, as if all was well."""

import os
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class Exits:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        os._exit(0)
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
