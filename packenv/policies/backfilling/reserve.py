"""Best fit with bounded waiting: servers are kept for old tasks (PAPERS §6).

It knows no durations. It has no guaranteed share of ρ*: a kept server is idle for other tasks.
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
    behind,
    close,
    demand_of,
    device_capacity,
    eligible_since,
    fill,
    fits,
    freed_count,
    freed_server,
    gang_size,
    has_devices,
    has_gangs,
    in_gang,
    is_closed,
    now,
    oldest,
    place,
    room_of,
    server_count,
    size_of,
)
from packenv.cluster.best_fit import free_share
from packenv.cluster.devices import could_have_devices, devices_foreseen, part_of_device
from packenv.cluster.gangs import hold_room, start_gang
from packenv.cluster.servers import reopen
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.content.text import lasting
from packenv.errors import InputError
from packenv.policies.random_requirements.best_fit import BestFit, place_new, start_gangs
from packenv.policy import Setting, name_of, schedules


class Reservations(Frame):
    """State: the task for which each of the L servers is kept."""

    owner: NDArray[np.int64]  # (L,) place of a waiting task in the pool, of a gang the first one; NONE
    count: NDArray[np.int64]  # (1,) servers that are kept
    left: NDArray[np.int64]  # (D,) scratch: units of an empty server that tasks of a gang have not taken
    at: NDArray[np.int32]  # (places,) of a task of a gang, the server kept for it


class Reserve(NamedTuple):
    """Keep a server free for each task that waited too long.

    Otherwise this is BF-J/S. In every slot with a completion or an arrival:

    1. Tasks start on the servers kept for them, if they have room now.
    2. Each task that has waited for more than `age` slots and has no server, oldest first, takes the server with the most room,
       lower index of equals, among servers that could hold it when empty and are not kept. It starts there if it has room now.
    3. BF-J/S runs on all servers that are not kept.
    4. A server kept for a task that has started elsewhere is released and filled by best fit, the lowest index first.

    Room of several resources is the sum of the free shares.

    For a gang, servers are kept until all its tasks would fit on them when empty, each task with the last one or on another. If
    there are too few, no younger task has a server kept. A gang starts when each task has room where it would be. Raises
    InputError for an age below 0.
    """

    age: int = 1000

    def notice(self, setting: Setting) -> str:
        """Return how long `age` lasts, or "" if a slot has no length."""
        seconds = setting.workload.slot_seconds
        if seconds is None:
            return ""
        return f"{name_of(self)}: reserves servers for waits above {lasting(self.age * seconds)} (age={self.age} slots)"

    def needs(self, setting: Setting) -> Needs:
        if self.age < 0:
            raise InputError(f"reserve: age must be at least 0 slots, not {self.age}")
        needs = BestFit().needs(setting)
        return needs._replace(orders=needs.orders | BY_QUEUE, rejects=False)

    def initial_state(self, setting: Setting, seed: int) -> Reservations:
        servers, resources = setting.capacity.shape
        owner = np.full(servers, NONE, np.int64)
        count, left, at = np.zeros(1, np.int64), np.zeros(resources, np.int64), np.zeros(0, np.int32)
        return Reservations(owner=owner, count=count, left=left, at=at)

    def attach(self, cluster: Cluster, state: Reservations) -> Reservations:
        at = np.zeros(cluster.task.shape[1], np.int32)
        at[: len(state.at)] = state.at
        return state.replace(at=at)


@schedules(Reserve)
def schedule_reserve(policy: Reserve, cluster: Cluster, state: Reservations) -> None:
    start_owners(cluster, state)
    reserve_for_old(cluster, state, policy.age)
    if has_gangs(cluster):
        start_gangs(cluster)
    for n in range(freed_count(cluster)):
        if not is_closed(cluster, freed_server(cluster, n)):
            fill(cluster, freed_server(cluster, n))
    place_new(cluster)
    while fill_released(cluster, state):
        pass


@compiled
def start_owners(c: Cluster, reservations: Reservations) -> None:
    """Start tasks on the servers kept for them, if they fit."""
    if reservations.count[0] > 0:
        for n in range(freed_count(c)):
            server = freed_server(c, n)
            task = reservations.owner[server]
            if task != NONE and not in_gang(c, task):
                release(c, reservations, server)
                start_or_reserve(c, reservations, task, server)
            elif task != NONE and c.task[c.e, task].server == NONE:
                start_where_kept(c, reservations, task)


@compiled
def start_or_reserve(c: Cluster, reservations: Reservations, i: int, server: int) -> None:
    """Start task i on an open server, or keep the server for it."""
    if fits(c, i, server):
        place(c, i, server)
    else:
        reservations.owner[server] = i
        reservations.count[0] += 1
        close(c, server)


@compiled
def release(c: Cluster, reservations: Reservations, server: int) -> None:
    reservations.owner[server] = NONE
    reservations.count[0] -= 1
    reopen(c, server)


@apart
def reserve_for_old(c: Cluster, reservations: Reservations, age: int) -> None:
    """Find a server for each task that has waited over `age` slots."""
    task = oldest(c)
    while task != NONE and now(c) - eligible_since(c, task) > age and reservations.count[0] < server_count(c):
        following = behind(c, task)
        if in_gang(c, task):
            room = has_server(reservations, task) or keep_for_gang(c, reservations, task)
            if not room and reservations.count[0] > 0:
                break
        elif not has_server(reservations, task):
            server = roomiest(c, reservations, task)
            if server != NONE:
                start_or_reserve(c, reservations, task, server)
        task = following


@apart
def keep_for_gang(c: Cluster, reservations: Reservations, i: int) -> bool:
    """Keep enough servers for the gang of task i, or start it."""
    task, server = i, NONE
    for _ in range(gang_size(c, i)):
        if server == NONE or not add_to_empty(c, reservations, task, server):
            server = roomiest(c, reservations, task)
            if server == NONE:
                for other in range(server_count(c)):
                    if reservations.owner[other] == i:
                        release(c, reservations, other)
                return False
            reservations.owner[server] = i
            reservations.count[0] += 1
            close(c, server)
            for r in range(c.capacity.shape[1]):
                reservations.left[r] = c.capacity[server, r] if c.vectors else c.server[c.e, server].capacity
            for device in range(c.devices.least.shape[1]):
                c.devices.least[c.e, device] = device_capacity(c, server)
            add_to_empty(c, reservations, task, server)
        reservations.at[task] = server
        task = c.task[c.e, task].next
    start_where_kept(c, reservations, i)
    return True


@apart
def add_to_empty(c: Cluster, reservations: Reservations, i: int, server: int) -> bool:
    """Take a task's room out of an empty server's rest, if it fits."""
    for r in range(reservations.left.shape[0]):
        if demand_of(c, i, r) > reservations.left[r]:
            return False
    devices = devices_foreseen(c, i, server) if has_devices(c) else 0
    if devices == NONE:
        return False
    for r in range(reservations.left.shape[0]):
        reservations.left[r] -= demand_of(c, i, r)
    for device in range(c.devices.least.shape[1]):
        if (devices >> device) & 1:
            c.devices.least[c.e, device] -= part_of_device(c, i, server)
    return True


@apart
def start_where_kept(c: Cluster, reservations: Reservations, i: int) -> None:
    """Start the gang of task i on its kept, closed servers, if all fit."""
    for server in range(server_count(c)):
        if reservations.owner[server] == i:
            reopen(c, server)
    task, held = i, 0
    while held < gang_size(c, i) and fits(c, task, reservations.at[task]):
        hold_room(c, task, reservations.at[task])
        task, held = c.task[c.e, task].next, held + 1
    start_gang(c, i, held)
    for server in range(server_count(c)):
        if reservations.owner[server] == i:
            close(c, server)


@compiled
def has_server(reservations: Reservations, i: int) -> bool:
    for server in range(reservations.owner.shape[0]):
        if reservations.owner[server] == i:
            return True
    return False


@compiled
def roomiest(c: Cluster, reservations: Reservations, i: int) -> int:
    """Return the open, unkept server with the most room for task i, or NONE."""
    best, most = NONE, -1.0
    for server in range(server_count(c)):
        if reservations.owner[server] == NONE and could_hold(c, i, server):
            room = free_share(c, server) if c.vectors else float(room_of(c, server))
            if room > most:
                best, most = server, room
    return best


@compiled
def could_hold(c: Cluster, i: int, server: int) -> bool:
    """Return whether task i fits on the server when empty."""
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
    """Fill servers kept for tasks that started elsewhere. True if any."""
    any_filled = False
    if reservations.count[0] > 0:
        for server in range(server_count(c)):
            if reservations.owner[server] != NONE and c.task[c.e, reservations.owner[server]].server != NONE:
                release(c, reservations, server)
                fill(c, server)
                any_filled = True
    return any_filled
