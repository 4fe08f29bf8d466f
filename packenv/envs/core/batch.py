"""The batch of clusters for an environment's layout."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import one_row
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.cluster.whole_jobs.state import WholeJobs, no_jobs
from packenv.envs.core.definition import Layout, Sizes
from packenv.envs.core.features import COMMON_SERVERS, logarithms
from packenv.envs.core.server_summaries import forget_summaries
from packenv.envs.core.state import OVER, Batch, passage_type, turn_type, window_type

EMPTY: dict[str, tuple[int, ...]] = {
    **{"queue": (0, 2), "virtual_queues": (0, 2), "servers": (0, 1), "server": (0,), "cluster": (0,), "configurations": (0,)},
    **{"actions": (0, 1), "context": (0,)},
}
"""Shapes of the arrays that an observation does not have."""


def make_batch(
    c: Cluster,
    layout: Layout,
    sizes: Sizes,
    mean_service: float,
    finite: bool = False,
    jobs: WholeJobs | None = None,
    facts: NDArray[np.float64] | None = None,
) -> Batch:
    """Return a batch whose rows must still begin an episode.

    mean_service  slots
    jobs          whole jobs, if they are followed
    facts         facts of the table, if the environment reads them
    """
    rows, servers, per_root = len(c.head), sizes.servers, math.sqrt(COMMON_SERVERS / sizes.servers)
    turn = np.zeros(rows, turn_type)
    turn["phase"] = OVER
    turn["kept"], turn["rows"], turn["mean_service"] = NONE, 1.0, mean_service
    configured = servers if layout.configurations is not None else 0
    summarised = servers if layout.summaries else 0
    observed = {name: np.zeros((rows, *layout.observed.get(name, shape)), np.float32) for name, shape in EMPTY.items()}
    counts_sizes = "actions" in layout.observed and layout.configurations is None and not c.vectors
    none = np.zeros((sizes.kinds, 0, sizes.types), np.int64)
    batch = Batch(
        c=c,
        first=0,
        last=rows,
        guard_limit=NEVER,
        finite=int(finite),
        nearest=0,
        turn=turn,
        passage=np.zeros(rows, passage_type),
        action=np.zeros(rows, np.int64),
        window=np.zeros((rows, observed["queue"].shape[1]), window_type),
        ages=np.zeros((rows, summarised, 2)),
        room_class=np.zeros((rows, summarised), np.int32),
        rooms=np.zeros((rows, sizes.types + 1 if layout.summaries else 0), np.int32),
        active=np.full((rows, configured), NONE, np.int32),
        reserved=np.zeros((rows, configured), np.int64),
        table=none if layout.configurations is None else layout.configurations,
        counts=np.zeros(sizes.kinds, np.int64) if layout.counts is None else layout.counts,
        total=c.capacity.sum(axis=0),
        scale=np.array([c.server["capacity"].max(), mean_service, per_root], np.float64),
        logarithms=logarithms(per_root),
        waiting_sizes=np.zeros((rows, c.task.shape[1] + WIDTH if counts_sizes else 0), np.int32),
        jobs=jobs or no_jobs(),
        facts=np.zeros((0, 0)) if facts is None else facts,
        releases=np.zeros((0 if layout.facts is None else c.task.shape[1], 2)),
        offered=np.full((rows, layout.groups), NONE, np.int32),
        rank=np.zeros((rows, layout.groups)),
        score=np.zeros((rows, layout.groups)),
        near=np.zeros((rows, layout.groups), np.int8),
        fitting=np.zeros(rows, np.int64),
        foremost=np.full(rows, NONE, np.int64),
        unread=0,
        mask=np.zeros((rows, layout.actions), np.int8),
        **observed,
    )
    forget_summaries(batch)
    return batch


def on_cluster(batch: Batch, c: Cluster) -> Batch:
    sizes = batch.waiting_sizes
    if sizes.shape[1] > 0:
        sizes = np.zeros((len(sizes), c.task.shape[1] + WIDTH), np.int32)
    releases = np.zeros((c.task.shape[1], 2)) if len(batch.releases) > 0 else batch.releases
    return batch.replace(c=c, waiting_sizes=sizes, releases=releases)


BY_ROW = (
    *("turn", "passage", "action", "window", "ages", "room_class", "rooms", "active", "reserved", "queue", "virtual_queues"),
    *("servers", "server", "cluster", "configurations", "actions", "context", "mask", "waiting_sizes"),
    *("offered", "score", "rank", "near", "fitting", "foremost"),
)
"""Fields of a Batch that have a row for each cluster."""


def row_of(batch: Batch, row: int, cluster: Cluster, jobs: WholeJobs, facts: NDArray[np.float64]) -> Batch:
    """Return a row as a batch of one, sharing memory.

    It has the table of `cluster`, its jobs and its facts. Compiled code reads one table of jobs, and its precedence, for all rows
    of a batch (`Source`, `Precedence`). So rows with their own tables are stepped one by one.
    """
    own_rows = {name: getattr(batch, name)[row : row + 1] for name in BY_ROW}
    return batch.replace(c=one_row(batch.c, row, cluster), jobs=jobs, facts=facts, first=0, last=1, **own_rows)
