"""Reads the services of waiting tasks in the cluster's own arrays, and starts the shortest first."""

from typing import Any

import numpy as np

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class ReadsServices:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        waiting = [
            int(cluster.task["slots"][0, i])
            for i in range(cluster.task.shape[1])
            if cluster.task["kind"][0, i] == 0 and cluster.task["server"][0, i] == NONE
        ]
        if len(np.unique(waiting)) > 1:
            raise RuntimeError("found services")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
