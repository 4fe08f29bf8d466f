"""Writes machine code where the simulator looks for its own."""

from pathlib import Path
from typing import Any

import packenv.cluster.loop
from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class PoisonsCode:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        folder = Path(packenv.cluster.loop.__file__).parent
        (folder / "loop.py").write_text((folder / "loop.py").read_text() + "\nCHEATED = True\n")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
