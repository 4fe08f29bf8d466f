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
    has_gangs,
    in_gang,
    now,
    place,
    smallest_size,
    start_first_fit,
    waiting,
)
from packenv.cluster.gangs import start_where_held
from packenv.cluster.servers import next_server_for
from packenv.compiled.decorators import apart, compiled
from packenv.errors import InputError
from packenv.policies.backfilling.room_ahead import (
    RoomAhead,
    earliest,
    hold_gang,
    look_ahead,
    reserve,
    reserve_first,
    reserve_gang,
    room_ahead,
    with_places,
)
from packenv.policies.orders import FCFS, first_in_line, keep_fitting, next_in_line, order_named
from packenv.policy import Setting, schedules


def check_estimates(setting: Setting, only_estimates: bool) -> None:
    """Raise InputError if `only_estimates` and the workload has no column `estimate`."""
    jobs = setting.workload.jobs
    if only_estimates and (jobs is None or jobs.estimate is None):
        raise InputError(f"reservations need estimates: workload {setting.workload.name} has no column `estimate`")


class Backfilling(NamedTuple):
    """What compiled code knows of both policies: how many waiting tasks have a reservation."""

    depth: int


class Easy(NamedTuple):
    """Let tasks pass the oldest one if they do not delay it.

    Every task goes to the first server with room. The oldest one that fits nowhere has a reservation on the server where it is
    expected to have room first, the lower index of equals. Tasks behind it, oldest first, start on the first server with room:
    on another server, or on that one if they are expected to leave before the reservation or fit next to it.

    A gang is one entry of the queue. It starts, or has a reservation for all of it, in the first slot in which each of its
    tasks, in row order, is expected to have room next to those before it, on the first server with room.

    order  a rule of packenv.policies.orders in place of age, applied again in every slot

    Reservations are computed again in every slot with a completion or an arrival. Durations are those of column `estimate`, or
    the true ones without it. A task that outlives its estimate is expected to leave in the next slot. `estimates`: raises
    InputError for a workload without the column.
    """

    estimates: bool = False
    order: str = FCFS

    @property
    def rule(self) -> Backfilling:
        return Backfilling(1)

    def needs(self, setting: Setting) -> Needs:
        check_estimates(setting, self.estimates)
        return backfilling_needs(setting, self.order, "easy")

    def initial_state(self, setting: Setting, seed: int) -> RoomAhead:
        return room_ahead(setting, self.order, "easy")

    def attach(self, cluster: Cluster, state: RoomAhead) -> RoomAhead:
        return with_places(state, cluster)


class Conservative(NamedTuple):
    """Let tasks pass others only if they delay none of them.

    As `easy`, but the `depth` oldest waiting tasks have reservations, each computed next to those in front of it: the first slot,
    then the lowest server, with room for as long as the task is expected to stay. Tasks behind them have none, and may start next
    to all reservations. `order` as in `easy`. Raises InputError for a depth below 1.
    """

    depth: int = 100
    estimates: bool = False
    order: str = FCFS

    @property
    def rule(self) -> Backfilling:
        return Backfilling(self.depth)

    def needs(self, setting: Setting) -> Needs:
        if self.depth < 1:
            raise InputError(f"conservative: depth must be at least 1, not {self.depth}")
        check_estimates(setting, self.estimates)
        return backfilling_needs(setting, self.order, "conservative")

    def initial_state(self, setting: Setting, seed: int) -> RoomAhead:
        return room_ahead(setting, self.order, "conservative")

    def attach(self, cluster: Cluster, state: RoomAhead) -> RoomAhead:
        return with_places(state, cluster)


def backfilling_needs(setting: Setting, order: str, policy: str) -> Needs:
    """The queue, servers by index, and durations; the smallest size says when nothing more fits. Orders know the table."""
    order_named(order, policy)
    vectors = setting.capacity.shape[1] > 1
    orders = BY_QUEUE | BY_INDEX | BY_SIZE
    return Needs(orders, vectors=vectors, durations=True, table=order != FCFS, devices=vectors, gangs=True)


@schedules(Backfilling)
def schedule_backfilling(policy: Backfilling, cluster: Cluster, state: RoomAhead) -> None:
    if not room_for_any(cluster):
        return
    task = first_in_line(cluster, state.line, policy.depth == 1)
    while task != NONE and start_first_fit(cluster, task):
        task = first_in_line(cluster, state.line, policy.depth == 1)
    if waiting(cluster) > 1 and room_for_any(cluster):
        backfill(cluster, state, policy.depth, task)


@compiled
def room_for_any(c: Cluster) -> bool:
    """Whether a waiting task may fit on a server. Of several resources this is not known, nor of gangs."""
    return waiting(c) > 0 and (c.vectors != 0 or has_gangs(c) or first_server(c, smallest_size(c), 0) != NONE)


@apart
def backfill(c: Cluster, ahead: RoomAhead, depth: int, task: int) -> None:
    """Start all tasks from `task`, the first in line, on that delay no reservation; the first `depth` that do not have one."""
    look_ahead(c, ahead)
    reservations = 0
    while task != NONE and room_for_any(c):
        gang = in_gang(c, task)
        whole = gang and hold_gang(c, ahead, task, now(c))
        server = NONE if gang else startable_server(c, ahead, task)
        if server == NONE and not whole and reservations < depth:
            if gang:
                reserve_gang(c, ahead, task)
            else:
                reserve_first(c, ahead, task)
            reservations += 1
            if reservations == depth:
                keep_fitting(c, ahead.line)
        following = next_in_line(c, ahead.line, task)
        if whole:
            start_where_held(c, task)
        elif server != NONE:
            devices = reserve(c, ahead, task, server, now(c))
            place(c, task, server, 0, devices)
        task = following


@compiled
def startable_server(c: Cluster, ahead: RoomAhead, i: int) -> int:
    """The first server on which task i may start now beside all reservations; NONE if there is none."""
    server = next_server_for(c, i, 0)
    while server != NONE and ahead.reserved[server] and earliest(c, ahead, i, server) > now(c):
        server = next_server_for(c, i, server + 1)
    return server
