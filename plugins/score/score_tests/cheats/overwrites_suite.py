"""Reads the suite, and writes an easier one."""

from pathlib import Path
from typing import Any

import packenv_score
from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class OverwritesSuite:
    def schedule(self, cluster: Cluster, state: Any) -> None:

        suite = Path(packenv_score.__file__).parent / "suites" / "one-resource.json"
        suite.write_text(suite.read_text().replace("0.95", "0.10"))
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
