"""Ends the process that simulates, before it has a score."""

import os
import signal
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class KillsTheParent:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
