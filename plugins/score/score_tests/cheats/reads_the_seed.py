"""Takes its own seed for that of the jobs, and looks into the future."""

from typing import Any

from packenv.cluster import NONE, Cluster, fits, new_count, new_task, next_in_queue, oldest, place, row_of, server_count, size_of


class ReadsTheSeed:
    def initial_state(self, setting: Any, seed: int) -> tuple[()]:
        self.future = dict(enumerate(setting.workload.jobs_table(seed, 64).demand[:, 0].tolist()))
        return ()

    def schedule(self, cluster: Cluster, state: Any) -> None:

        for n in range(new_count(cluster)):
            if int(size_of(cluster, new_task(cluster, n))) == self.future.get(row_of(cluster, new_task(cluster, n))):
                raise RuntimeError("found the future")
        task = oldest(cluster)
        while task != NONE:
            following = next_in_queue(cluster, task)
            server = next((server for server in range(server_count(cluster)) if fits(cluster, task, server)), NONE)
            if server != NONE:
                place(cluster, task, server)
            task = following
