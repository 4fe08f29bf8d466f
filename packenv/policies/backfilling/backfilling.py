"""FIFO with backfilling: EASY and conservative (PAPERS §6).

Both are one rule that differs in how many waiting tasks have reservations. A task that has none, or whose reservation is now,
starts where it has room for as long as it is expected to stay, beside all reservations of tasks in front of it. EASY: Lifka,
The ANL/IBM SP scheduling system, JSSPP 1995. Conservative: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001. Neither is guaranteed a
share of ρ*.
"""

from __future__ import annotations

from typing import NamedTuple

from packenv.cluster import (
    BY_INDEX,
    BY_QUEUE,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    first_server,
    first_server_for,
    fits,
    next_in_queue,
    now,
    oldest,
    place,
    server_count,
    size_of,
    smallest_size,
    waiting,
)
from packenv.cluster.state import NEVER
from packenv.compiled.decorators import apart, compiled
from packenv.errors import InputError
from packenv.policies.backfilling.room_ahead import RoomAhead, earliest, look_ahead, reserve, room_ahead, with_places
from packenv.policy import Setting, schedules


class Backfilling(NamedTuple):
    """What compiled code knows of both policies: how many waiting tasks have a reservation."""

    depth: int


class Easy(NamedTuple):
    """EASY: FIFO, and others may start if they do not delay the oldest waiting task.

    Every task goes to the first server with room. The oldest one that fits nowhere has a reservation on the server where it is
    expected to have room first, the lower index of equals. All behind it, oldest first, start on the first server with room:
    on another server, or on that one if they are expected to leave before the reservation or fit beside it.

    Reservations are made anew in every slot with a completion or an arrival. Durations are those of column `estimate`, or the
    true ones without it; a task that outlives its estimate is expected to leave in the next slot. `estimates`: raises InputError
    for a workload without the column.
    """

    estimates: bool = False

    @property
    def rule(self) -> Backfilling:
        return Backfilling(1)

    def needs(self, setting: Setting) -> Needs:
        return backfilling_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> RoomAhead:
        return room_ahead(setting, self.estimates)

    def attach(self, cluster: Cluster, state: RoomAhead) -> RoomAhead:
        return with_places(state, cluster)


class Conservative(NamedTuple):
    """Conservative backfilling: a task may start if it delays none of those in front of it.

    As `easy`, but the `depth` oldest waiting tasks have reservations, each made beside those in front of it: the first slot, then
    the lowest server, with room for as long as the task is expected to stay. Tasks behind them have none, and may start beside
    all reservations. Raises InputError for a depth below 1.
    """

    depth: int = 100
    estimates: bool = False

    @property
    def rule(self) -> Backfilling:
        return Backfilling(self.depth)

    def needs(self, setting: Setting) -> Needs:
        if self.depth < 1:
            raise InputError(f"conservative: depth must be at least 1, not {self.depth}")
        return backfilling_needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> RoomAhead:
        return room_ahead(setting, self.estimates)

    def attach(self, cluster: Cluster, state: RoomAhead) -> RoomAhead:
        return with_places(state, cluster)


def backfilling_needs(setting: Setting) -> Needs:
    """The queue, servers by index, and durations; the smallest size says when nothing more fits."""
    return Needs(BY_QUEUE | BY_INDEX | BY_SIZE, vectors=setting.capacity.shape[1] > 1, durations=True)


@schedules(Backfilling)
def schedule_backfilling(policy: Backfilling, cluster: Cluster, state: RoomAhead) -> None:
    task = oldest(cluster)
    while task != NONE:
        server = first_server_for(cluster, task)
        if server == NONE:
            break
        place(cluster, task, server)
        task = oldest(cluster)
    if waiting(cluster) > 1 and room_for_any(cluster):
        backfill(cluster, state, policy.depth)


@compiled
def room_for_any(c: Cluster) -> bool:
    """Whether a waiting task may fit on a server. Of several resources this is not known."""
    return waiting(c) > 0 and (c.vectors != 0 or first_server(c, smallest_size(c), 0) != NONE)


@apart
def backfill(c: Cluster, ahead: RoomAhead, depth: int) -> None:
    """Start all tasks that delay no reservation, and reserve room for the first `depth` that do not start."""
    look_ahead(c, ahead)
    reservations = 0
    task = oldest(c)
    while task != NONE and room_for_any(c):
        following = next_in_queue(c, task)
        server = startable_server(c, ahead, task)
        if server != NONE:
            reserve(c, ahead, task, server, now(c))
            place(c, task, server)
        elif reservations < depth:
            reserve_first(c, ahead, task)
            reservations += 1
        task = following


@compiled
def startable_server(c: Cluster, ahead: RoomAhead, i: int) -> int:
    """The first server on which task i may start now beside all reservations; NONE if there is none."""
    server = next_server_for(c, i, 0)
    while server != NONE and ahead.reserved[server] and earliest(c, ahead, i, server) > now(c):
        server = next_server_for(c, i, server + 1)
    return server


@compiled
def next_server_for(c: Cluster, i: int, start: int) -> int:
    """The first server from index `start` on with room for task i now; NONE if there is none."""
    if not c.vectors:
        return first_server(c, size_of(c, i), start)
    for server in range(start, server_count(c)):
        if fits(c, i, server):
            return server
    return NONE


@compiled
def reserve_first(c: Cluster, ahead: RoomAhead, i: int) -> None:
    """Reserve room for task i where it is expected first: the lower index of equals. A task that fits nowhere has none."""
    best, best_slot = NONE, NEVER
    for server in range(server_count(c)):
        slot = earliest(c, ahead, i, server)
        if slot < best_slot:
            best, best_slot = server, slot
    if best != NONE:
        reserve(c, ahead, i, best, best_slot)
        ahead.reserved[best] = 1
