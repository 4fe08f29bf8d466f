"""Writes into every pipe that it finds, before its answer."""

import os
from contextlib import suppress
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class WritesIntoThePipe:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        for pipe in range(3, 64):
            with suppress(OSError):
                os.write(pipe, b"\1" * 64)
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
