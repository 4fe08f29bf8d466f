"""Entitled tasks: how many of each type a server's active configuration lets start, and how they start (PAPERS §6).

A change of the active configuration preempts nothing: tasks beyond the new one finish. A task of type j starts where fewer
than the configuration's k_j tasks of that type are in service and there is room for the size of the type, which it occupies;
the longest queue first, so that no short queue takes what a task of a long one leaves. Backfilled tasks count for their type;
they occupy the type's size if it is in the configuration, so that another one of that type fits in their place, else their own.
With `few`, a type of which at most so many tasks wait is left to backfilling: queues of that length do not matter for stability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    NONE,
    Cluster,
    head_of_line,
    hold,
    jobs_of_type,
    kind_of,
    largest_fitting,
    next_with_room,
    now,
    place,
    queue_length,
    room_of,
    size_of,
    waiting,
    wake_at,
)
from packenv.compiled.decorators import compiled
from packenv.theory.rounded_program import RoundedProgram

Ints = NDArray[np.int64]


class Entitled(NamedTuple):
    """The active configuration of each of L servers, as pairs (type, number of tasks), the larger types first."""

    size: Ints  # (T,) units, descending: what a task of each type occupies
    least: Ints  # (T,) units: the smallest size of each type
    type: NDArray[np.int32]  # (L, W)
    number: NDArray[np.int32]  # (L, W)
    types: NDArray[np.int32]  # (L,) how many types the active configuration has: 0 before the first one

    def active_configuration(self, server: int, types: int) -> Ints | None:
        """(types,) tasks of each type in the server's active configuration; None before its first."""
        n = int(self.types[server])
        if n == 0:
            return None
        counts = np.zeros(types, np.int64)
        counts[self.type[server, :n]] = self.number[server, :n]
        return counts


def nothing_entitled(program: RoundedProgram, capacity: Ints) -> Entitled:
    """No server has an active configuration yet; `capacity` (L,) units."""
    shape = len(capacity), max(1, min(len(program.sizes), int(capacity.max()) // int(program.sizes[-1])))
    return Entitled(
        program.sizes, program.least, np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(len(capacity), np.int32)
    )


@compiled
def fill_all(cluster: Cluster, own: Entitled, few: int, backfill: bool, before: int) -> None:
    """After the entitled tasks of all servers: backfill every server in index order, if asked to.

    `before`: how many tasks waited before the entitled ones started. What starts may end a claim on the room of a server
    that was served before, so the next slot is looked at too.
    """
    if backfill:
        server = next_with_room(cluster, 0)
        while server != NONE:
            fill_idle(cluster, own, server, few)
            server = next_with_room(cluster, server + 1)
    if 0 < waiting(cluster) < before:
        wake_at(cluster, now(cluster) + 1)


@compiled
def serve_entitled(cluster: Cluster, own: Entitled, server: int, few: int) -> None:
    """Start the missing tasks of the active configuration that have room, of the longest queue first, each the head of line."""
    kind = kind_of(cluster, server)
    while True:
        longest, first = 0, NONE
        for n in range(own.types[server]):
            j = own.type[server, n]
            length = queue_length(cluster, kind, j)
            if length > longest and own.size[j] <= room_of(cluster, server) and is_missing(cluster, own, server, kind, n, few):
                longest, first = length, j
        if first == NONE:
            break
        start(cluster, head_of_line(cluster, kind, first), server, own.size[first])


@compiled
def start(cluster: Cluster, task: int, server: int, size: int) -> None:
    """Start a task that occupies `size` units."""
    place(cluster, task, server)
    hold(cluster, task, size)


@compiled
def is_missing(cluster: Cluster, own: Entitled, server: int, kind: int, n: int, few: int) -> bool:
    """Whether more than `few` tasks of the n-th type of the active configuration wait, and fewer than it says are in service."""
    j = own.type[server, n]
    return queue_length(cluster, kind, j) > few and jobs_of_type(cluster, server, j) < own.number[server, n]


@compiled
def fill_idle(cluster: Cluster, own: Entitled, server: int, few: int) -> None:
    """Backfill: best fit from the whole queue, in the room on which no waiting entitled task has a claim."""
    limit = spare_room(cluster, own, server, few)
    while waiting(cluster) > 0:
        task = largest_fitting(cluster, limit)
        if task == NONE:
            break
        j = active_type(own, server, size_of(cluster, task))
        if j == NONE:
            place(cluster, task, server)
        elif own.size[j] <= limit:
            start(cluster, task, server, own.size[j])
        else:  # the tasks of this type do not fit
            limit = own.least[j] - 1
            continue
        limit = spare_room(cluster, own, server, few)


@compiled
def active_type(own: Entitled, server: int, size: int) -> int:
    """The type of a size, if it is in the active configuration."""
    for n in range(own.types[server]):
        j = own.type[server, n]
        if own.least[j] <= size <= own.size[j]:
            return j
    return NONE


@compiled
def spare_room(cluster: Cluster, own: Entitled, server: int, few: int) -> int:
    """The largest size that may be backfilled, in units; none if negative.

    All that fits, if no entitled task waits for room. Else what leaves in service a task beyond the configuration whose
    departure alone makes room for the smallest entitled task: that one then starts after one service on average, at most.
    """
    room, least = room_of(cluster, server), smallest_missing(cluster, own, server, few)
    if least == 0:
        return room
    return min(room, room + largest_beyond(cluster, own, server) - least)


@compiled
def smallest_missing(cluster: Cluster, own: Entitled, server: int, few: int) -> int:
    """The size of the smallest type of which entitled tasks wait for room, in units; 0 if there is none."""
    for n in range(own.types[server] - 1, -1, -1):
        if is_missing(cluster, own, server, kind_of(cluster, server), n, few):
            return own.size[own.type[server, n]]
    return 0


@compiled
def largest_beyond(cluster: Cluster, own: Entitled, server: int) -> int:
    """A lower bound on the largest size among types of which more are in service than entitled, in units; 0 without any."""
    n = 0
    for j in range(own.size.shape[0]):
        entitled = 0
        if n < own.types[server] and own.type[server, n] == j:
            entitled = own.number[server, n]
            n += 1
        if jobs_of_type(cluster, server, j) > entitled:
            return own.least[j]
    return 0
