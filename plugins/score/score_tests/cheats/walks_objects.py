"""Walks all objects for Jobs tables, and for seeds."""

import gc
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count
from packenv.jobs import Jobs


class WalksObjects:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        for thing in gc.get_objects() if cluster.head["now"][0] < 50 else ():
            if isinstance(thing, Jobs) and len(thing) > 1 and thing.service.max() > 1:
                raise RuntimeError("found a table of jobs")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
