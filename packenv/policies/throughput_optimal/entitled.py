"""Active configurations of servers, and their missing tasks (PAPERS §6).

A type is an interval of sizes, or with several resources a box of demand vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_DEMAND,
    BY_INDEX,
    BY_LINE,
    BY_MIX,
    BY_SIZE,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
    hold,
    hold_box,
    jobs_of_type,
    kind_of,
    place,
    queue_length,
    room_of,
)
from packenv.cluster.servers import scalar_capacity
from packenv.compiled.decorators import compiled
from packenv.theory.rounded_boxes import RoundedProgram

Ints = NDArray[np.int64]


class Entitled(NamedTuple):
    """Active configurations of L servers, as pairs (type, number), larger first."""

    size: Ints  # (T, P) units, descending: what a task of each type occupies of each resource; P = 1 for scalar sizes
    least: Ints  # (T, P) units: the least demands of each type
    type: NDArray[np.int32]  # (L, W)
    number: NDArray[np.int32]  # (L, W)
    types: NDArray[np.int32]  # (L,) how many types the active configuration has: 0 before the first one
    limit: Ints  # (P,) scratch, boxes: the largest demands that may be backfilled
    lowest: Ints  # (P,) scratch, boxes: the least of each resource that some waiting task, or its box, needs

    def active_configuration(self, server: int, types: int) -> Ints | None:
        """Return the server's tasks by type, (types,), or None at first."""
        n = int(self.types[server])
        if n == 0:
            return None
        counts = np.zeros(types, np.int64)
        counts[self.type[server, :n]] = self.number[server, :n]
        return counts


def needs_of_types(program: RoundedProgram, backfill: bool, scalar: int = 0) -> Needs:
    """Return a program's orders, `scalar` ones too for intervals of size."""
    orders = BY_TYPE | BY_LINE | BY_MIX
    if program.boxes:
        return Needs(orders=orders | (BY_DEMAND if backfill else 0), vectors=True, types=program.sizes)
    return Needs(orders=orders | scalar | (BY_SIZE | BY_INDEX if backfill else 0), types=program.sizes)


def packed_capacity(program: RoundedProgram, capacity: Ints) -> Ints:
    """Return packed capacity: (L, D) if types are boxes, else (L,)."""
    return capacity if program.boxes else scalar_capacity(capacity)


def nothing_entitled(program: RoundedProgram, capacity: Ints) -> Entitled:
    """Return the state without active configurations, for (L, D) units."""
    if program.listed is not None:
        most = int(np.count_nonzero(program.listed.counts, axis=1).max())
    else:
        most = min(len(program.sizes), int(scalar_capacity(capacity).max()) // int(program.sizes[-1]))
    shape = len(capacity), max(1, most)
    size, least = (boxes.reshape(len(boxes), -1) for boxes in (program.sizes, program.least))
    types, number = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    scratch = np.zeros(size.shape[1], np.int64)
    return Entitled(size, least, types, number, np.zeros(len(capacity), np.int32), scratch, scratch.copy())


@compiled
def has_room(cluster: Cluster, entitled: Entitled, server: int, j: int) -> bool:
    """Whether what a task of type j occupies fits."""
    if cluster.vectors:
        return within(entitled.size[j], cluster.free[cluster.e, server])
    return entitled.size[j, 0] <= room_of(cluster, server)


@compiled
def within(demand: Ints, room: Ints) -> bool:
    for r in range(demand.shape[0]):
        if demand[r] > room[r]:
            return False
    return True


@compiled
def start(cluster: Cluster, entitled: Entitled, task: int, server: int, j: int) -> None:
    """Start a task of type j, which occupies its type's size."""
    place(cluster, task, server)
    if cluster.vectors:
        hold_box(cluster, task)
    else:
        hold(cluster, task, entitled.size[j, 0])


@compiled
def lacks(cluster: Cluster, entitled: Entitled, server: int, kind: int, n: int, few: int) -> bool:
    """Return whether the n-th type of the configuration lacks tasks.

    More than `few` of its tasks must wait, and fewer than its number be in service.
    """
    j = entitled.type[server, n]
    return queue_length(cluster, kind, j) > few and jobs_of_type(cluster, server, j) < entitled.number[server, n]


@compiled
def smallest_entitled(cluster: Cluster, entitled: Entitled, server: int, few: int) -> int:
    """Return the smallest type with entitled waiting tasks, or NONE."""
    for n in range(entitled.types[server] - 1, -1, -1):
        if lacks(cluster, entitled, server, kind_of(cluster, server), n, few):
            return entitled.type[server, n]
    return NONE


@compiled
def next_beyond(cluster: Cluster, entitled: Entitled, server: int, first: int) -> int:
    """Return the next type from `first` with more tasks than entitled, or NONE."""
    n = 0
    for j in range(entitled.size.shape[0]):
        number = 0
        if n < entitled.types[server] and entitled.type[server, n] == j:
            number = entitled.number[server, n]
            n += 1
        if j >= first and jobs_of_type(cluster, server, j) > number:
            return j
    return NONE
