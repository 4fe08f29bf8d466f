"""Fills the disk with its own folder."""

import os
from pathlib import Path
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class FillsTheDisk:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        with Path(os.environ["TMPDIR"], "full").open("wb") as file:
            for _ in range(1000):
                file.write(bytes(1 << 24))
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
