"""Adaptive J (PAPERS §1.3): the number of levels of the universal partition, from the sizes seen so far.

J is decided after the n-th task for n = check, 2·check, 4·check, …, changes in the next slot, and never decreases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.events import wake_at
from packenv.cluster.queue.by_type import retype, set_levels
from packenv.cluster.state import Cluster
from packenv.compiled.decorators import compiled

MOST_LEVELS = 16
SEEN, CHECK, NOW, NEXT = 0, 1, 2, 3


class Levels(NamedTuple):
    """The current and the next J, and the counts of sizes that decide it."""

    number: NDArray[np.int64]  # (4,) tasks seen, next check, current J, J from the next slot on
    below: NDArray[np.int64]  # (MOST_LEVELS + 2,) tasks by the largest J with size <= 2^-J of the largest server


def first_levels(levels: int, check: int) -> Levels:
    """The counts before the first task: J = levels, first check after `check` tasks."""
    return Levels(np.array([0, check, levels, levels]), np.zeros(MOST_LEVELS + 2, np.int64))


@compiled
def adapt(c: Cluster, levels: Levels, occupy: bool) -> None:
    """Change to the J that was decided, then count this slot's new tasks. `occupy`: jobs take at least 2^-J of a server."""
    if levels.number[NEXT] > levels.number[NOW]:
        levels.number[NOW] = levels.number[NEXT]
        divide(c, levels.number[NOW], occupy)
    capacity = 0
    for server in range(c.server.shape[1]):
        capacity = max(capacity, c.server[c.e, server].capacity)
    for n in range(c.head[c.e].fresh):
        see(levels, capacity, c.task[c.e, c.fresh[c.e, n]].size)
    if levels.number[NEXT] > levels.number[NOW]:
        wake_at(c, c.head[c.e].now + 1)


@compiled
def see(levels: Levels, capacity: int, size: int) -> None:
    """Count a size; if it is the check's, decide the J of the next slot."""
    depth = 0
    while depth < MOST_LEVELS and size << (depth + 1) <= capacity:
        depth += 1
    levels.below[depth] += 1
    levels.number[SEEN] += 1
    if levels.number[SEEN] == levels.number[CHECK]:
        levels.number[CHECK] *= 2
        smaller = levels.below[MOST_LEVELS]
        j = MOST_LEVELS
        while j > 2 and 100 * (smaller + levels.below[j - 1]) <= levels.number[SEEN]:
            j -= 1
            smaller += levels.below[j]
        levels.number[NEXT] = max(levels.number[NEXT], j)


@compiled
def divide(c: Cluster, levels: int, occupy: bool) -> None:
    """Give each kind of server its number of levels, and assign all tasks to the new types."""
    most = 0
    for server in range(c.server.shape[1]):
        most = max(most, c.server[c.e, server].capacity)
    for server in range(c.server.shape[1]):
        record = c.server[c.e, server]
        own = levels
        while own > 2 and record.capacity << (levels - own + 1) <= most:
            own -= 1
        if occupy:
            record.least = record.capacity >> own
        if c.types.count[c.e, record.kind] != 2 * own:
            set_levels(c, record.kind, record.capacity, own)
    retype(c)
