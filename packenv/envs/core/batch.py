"""A batch of clusters made ready for an environment's steps."""

from __future__ import annotations

import math

import numpy as np

from packenv.cluster.state import NEVER, NONE, Cluster
from packenv.envs.core.books import forget_books
from packenv.envs.core.lineup import lineup_for
from packenv.envs.core.rules import Rules, Sizes
from packenv.envs.core.state import OVER, Batch, passage_type, turn_type, window_type
from packenv.envs.observation.actions import COMMON_SERVERS, logarithms

NOTHING: dict[str, tuple[int, ...]] = {
    **{"queue": (0, 2), "virtual_queues": (0, 2), "servers": (0, 1), "server": (0,), "cluster": (0,), "configurations": (0,)},
    **{"actions": (0, 1), "context": (0,)},
}
"""Shapes of arrays that are not shown."""


def make_batch(c: Cluster, rules: Rules, sizes: Sizes, mean_service: float, finite: bool = False) -> Batch:
    """All rows are over: the first thing to do is to begin an episode."""
    rows, servers, per_root = len(c.head), sizes.servers, math.sqrt(COMMON_SERVERS / sizes.servers)
    turn = np.zeros(rows, turn_type)
    turn["phase"] = OVER
    active = servers if rules.table.shape[1] > 0 else 0
    kept = servers if rules.books else 0
    seen = {name: np.zeros((rows, *rules.seen.get(name, shape)), np.float32) for name, shape in NOTHING.items()}
    batch = Batch(
        c=c,
        first=0,
        last=rows,
        form=rules.form,
        width=rules.width,
        guard_limit=NEVER,
        finite=int(finite),
        turn=turn,
        passage=np.zeros(rows, passage_type),
        action=np.zeros(rows, np.int64),
        window=np.zeros((rows, seen["queue"].shape[1]), window_type),
        ages=np.zeros((rows, kept, 2)),
        room_class=np.zeros((rows, kept), np.int32),
        rooms=np.zeros((rows, sizes.types + 1 if rules.books else 0), np.int32),
        active=np.full((rows, active), NONE, np.int32),
        reserved=np.zeros((rows, active), np.int64),
        table=rules.table,
        known=rules.known,
        total=c.capacity.sum(axis=0),
        scale=np.array([c.server["capacity"].max(), mean_service, per_root], np.float64),
        logarithms=logarithms(per_root),
        lineup=lineup_for(c, "actions" in rules.seen and not rules.table.shape[1] and not c.vectors),
        unread=0,
        mask=np.zeros((rows, rules.actions), np.int8),
        **seen,
    )
    forget_books(batch)
    return batch


def on_cluster(batch: Batch, c: Cluster) -> Batch:
    """The same batch on clusters that have more places."""
    return batch.replace(c=c, lineup=lineup_for(c, batch.lineup.first.shape[1] > 0))
