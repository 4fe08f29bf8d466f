"""Never comes back."""

from typing import Any

from packenv.cluster import NONE, Cluster, fits, next_in_queue, oldest, place, server_count


class Loops:
    def schedule(self, cluster: Cluster, state: Any) -> None:
        while oldest(cluster) != NONE or True:
            pass
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
