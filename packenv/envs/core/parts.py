"""Rows that play tables of their own, each as a batch of one in the memory of the whole batch.

Compiled code knows one table, and who waits for whom in it, for all rows of a batch (`Source`, `Precedence`). Where tables
are drawn by seed the rows are therefore stepped one by one; whoever looks at the whole batch sees all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv.cluster.fields import one_row
from packenv.cluster.state import Cluster
from packenv.envs.core.state import Batch

BY_ROW = (
    *("turn", "passage", "action", "window", "ages", "room_class", "rooms", "active", "reserved", "queue", "virtual_queues"),
    *("servers", "server", "cluster", "configurations", "actions", "context", "mask", "lineup"),
)
"""What a batch keeps for each of its rows beside the clusters."""


def part_of(batch: Batch, row: int, own: Cluster) -> Batch:
    """Row `row` as a batch of one, on the table for which the cluster `own` has been built."""
    own_rows = {name: _only(getattr(batch, name), row) for name in BY_ROW}
    return batch.replace(c=one_row(batch.c, row, own), first=0, last=1, **own_rows)


def _only(value: Any, row: int) -> Any:
    """One row of an array, or of all arrays of a frame: a view."""
    if isinstance(value, np.ndarray):
        return value[row : row + 1]
    return value.replace(**{name: _only(getattr(value, name), row) for name in value._fields})
