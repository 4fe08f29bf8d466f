"""Best fit with bounded waiting: a server is kept for a task that has waited for too long (PAPERS §6).

Knows no durations. No share of ρ* is guaranteed: what is kept for one task is idle for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_QUEUE,
    NONE,
    Cluster,
    Needs,
    close,
    demand_of,
    eligible_since,
    fill,
    fits,
    freed_count,
    freed_server,
    has_devices,
    is_closed,
    next_in_queue,
    now,
    oldest,
    place,
    room_of,
    server_count,
    size_of,
)
from packenv.cluster.best_fit import free_share
from packenv.cluster.devices import could_have_devices
from packenv.cluster.servers import reopen
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.errors import InputError
from packenv.policies.random_requirements.best_fit import BestFit, place_new
from packenv.policy import Setting, schedules


class Reservations(Frame):
    """State: for which task each of the L servers is kept."""

    owner: NDArray[np.int64]  # (L,) place of a waiting task in the pool, NONE
    count: NDArray[np.int64]  # (1,) servers that are kept


class Reserve(NamedTuple):
    """BF-J/S, but a task that has waited for more than `age` slots has a server kept for it until it starts.

    In every slot with a completion or an arrival: (1) tasks start on the servers kept for them, where they have room now;
    (2) each older task without one, oldest first, takes the server with the most room, lower index of equals, of those that
    could hold it when empty and are not kept, and starts there if it has room now; (3) BF-J/S on all servers that are not kept;
    (4) a server kept for a task that has started on another one is no longer kept, and is filled by best fit: the lowest index
    first, until there is none. Room of several resources: Σ of the shares that are free. Raises InputError for an age below 0.
    """

    age: int = 1000

    def needs(self, setting: Setting) -> Needs:
        if self.age < 0:
            raise InputError(f"reserve: age must be at least 0 slots, not {self.age}")
        needs = BestFit().needs(setting)
        return needs._replace(orders=needs.orders | BY_QUEUE, rejects=False)

    def initial_state(self, setting: Setting, seed: int) -> Reservations:
        return Reservations(owner=np.full(len(setting.capacity), NONE, np.int64), count=np.zeros(1, np.int64))


@schedules(Reserve)
def schedule_reserve(policy: Reserve, cluster: Cluster, state: Reservations) -> None:
    start_owners(cluster, state)
    reserve_for_old(cluster, state, policy.age)
    for n in range(freed_count(cluster)):
        if not is_closed(cluster, freed_server(cluster, n)):
            fill(cluster, freed_server(cluster, n))
    place_new(cluster)
    while fill_released(cluster, state):
        pass


@compiled
def start_owners(c: Cluster, reservations: Reservations) -> None:
    """Start each task for which a server is kept, if it has room there now."""
    if reservations.count[0] > 0:
        for n in range(freed_count(c)):
            server = freed_server(c, n)
            task = reservations.owner[server]
            if task != NONE:
                release(c, reservations, server)
                start_or_reserve(c, reservations, task, server)


@compiled
def start_or_reserve(c: Cluster, reservations: Reservations, i: int, server: int) -> None:
    """Start waiting task i on an open server if it has room, or keep the server for it."""
    if fits(c, i, server):
        place(c, i, server)
    else:
        reservations.owner[server] = i
        reservations.count[0] += 1
        close(c, server)


@compiled
def release(c: Cluster, reservations: Reservations, server: int) -> None:
    """Keep a server no longer."""
    reservations.owner[server] = NONE
    reservations.count[0] -= 1
    reopen(c, server)


@apart
def reserve_for_old(c: Cluster, reservations: Reservations, age: int) -> None:
    """Find a server for each task that has waited for more than `age` slots and has none."""
    task = oldest(c)
    while task != NONE and now(c) - eligible_since(c, task) > age and reservations.count[0] < server_count(c):
        following = next_in_queue(c, task)
        if not has_server(reservations, task):
            server = roomiest(c, reservations, task)
            if server != NONE:
                start_or_reserve(c, reservations, task, server)
        task = following


@compiled
def has_server(reservations: Reservations, i: int) -> bool:
    """Whether a server is kept for task i."""
    for server in range(reservations.owner.shape[0]):
        if reservations.owner[server] == i:
            return True
    return False


@compiled
def roomiest(c: Cluster, reservations: Reservations, i: int) -> int:
    """The server with the most room that is not kept and could hold task i; NONE if there is none."""
    best, most = NONE, -1.0
    for server in range(server_count(c)):
        if reservations.owner[server] == NONE and could_hold(c, i, server):
            room = free_share(c, server) if c.vectors else float(room_of(c, server))
            if room > most:
                best, most = server, room
    return best


@compiled
def could_hold(c: Cluster, i: int, server: int) -> bool:
    """Whether task i fits on a server that is empty."""
    if not c.vectors:
        return size_of(c, i) <= c.server[c.e, server].capacity
    if has_devices(c) and not could_have_devices(c, i, server):
        return False
    for r in range(c.capacity.shape[1]):
        if demand_of(c, i, r) > c.capacity[server, r]:
            return False
    return True


@compiled
def fill_released(c: Cluster, reservations: Reservations) -> bool:
    """Fill the servers kept for tasks that have started elsewhere; return whether there were any."""
    any_filled = False
    if reservations.count[0] > 0:
        for server in range(server_count(c)):
            if reservations.owner[server] != NONE and c.task[c.e, reservations.owner[server]].server != NONE:
                release(c, reservations, server)
                fill(c, server)
                any_filled = True
    return any_filled
