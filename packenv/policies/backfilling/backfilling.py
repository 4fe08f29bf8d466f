"""FIFO with backfilling: EASY and conservative (PAPERS §6).

Both are one rule with another number of reservations. A task without a reservation, or with one for now, starts where it has
room for its expected stay next to all reservations of tasks in front of it. Neither has a guaranteed share of ρ*.

Sources. EASY: Lifka, The ANL/IBM SP scheduling system, JSSPP 1995. Conservative: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.
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
    """Raise InputError if `only_estimates` and there is no column `estimate`."""
    jobs = setting.workload.jobs
    if only_estimates and (jobs is None or jobs.estimate is None):
        raise InputError(f"reservations need estimates: workload {setting.workload.name} has no column `estimate`")


class Backfilling(NamedTuple):
    """Parameters of the compiled rule: the number of reservations."""

    depth: int


class Easy(NamedTuple):
    """Let tasks pass the oldest one if they do not delay it.

    Every task goes to the first server with room. The oldest one that fits nowhere has a reservation on the server where it is
    expected to have room first, the lower index of equals. Tasks behind it, oldest first, start on the first server with room:
    on another server, or on that one if they are expected to leave before the reservation or fit next to it.

    A gang is one entry of the queue. It starts, or has a reservation for all of it, in the first slot in which each of its
    tasks, in row order, is expected to have room next to those before it, on the first server with room.

    order  a rule of packenv.policies.orders in place of age, applied again in every slot

    Reservations are computed again in every slot with a completion or an arrival. Durations are column `estimate`, or
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
    """Return the orders of both policies, and durations. Other orders need the table."""
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
    """Return whether a waiting task may fit on a server (True if unknown)."""
    return waiting(c) > 0 and (c.vectors != 0 or has_gangs(c) or first_server(c, smallest_size(c), 0) != NONE)


@apart
def backfill(c: Cluster, ahead: RoomAhead, depth: int, task: int) -> None:
    """Start all tasks from `task` on that delay no reservation.

    `task` is the first in line. The first `depth` tasks that do not start get a reservation.
    """
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
    """Return the first server for task i next to all reservations, or NONE."""
    server = next_server_for(c, i, 0)
    while server != NONE and ahead.reserved[server] and earliest(c, ahead, i, server) > now(c):
        server = next_server_for(c, i, server + 1)
    return server
