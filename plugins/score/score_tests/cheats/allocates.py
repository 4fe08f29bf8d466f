"""Takes all memory, so that the process that simulates is ended."""

from typing import Any

import numpy as np

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class Allocates:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        self.kept = [np.ones(1 << 28) for _ in range(1000)]
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
