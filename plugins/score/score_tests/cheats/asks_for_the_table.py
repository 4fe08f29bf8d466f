"""Says that it needs the table of all jobs."""

from typing import Any

from packenv.cluster import NONE, Cluster, Needs, fits, next_in_queue, oldest, place, server_count


class AsksForTheTable:
    def needs(self, setting: Any) -> Needs:
        return Needs(orders=64, table=True)

    def schedule(self, cluster: Cluster, state: Any) -> None:
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
