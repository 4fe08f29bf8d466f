"""Leaves a thread behind."""

import threading
import time
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class LeavesThreads:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        threading.Thread(target=time.sleep, args=(3600,)).start()
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
