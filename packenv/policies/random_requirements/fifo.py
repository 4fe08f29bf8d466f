"""FIFO scheduling: FIFO-FF, and FIFO over equal slots as in Hadoop's first schedulers (PAPERS §1.5). Neither has a guarantee."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import (
    BY_DEMAND,
    BY_INDEX,
    BY_QUEUE,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    close,
    first_server,
    first_server_for,
    is_closed,
    jobs_in,
    largest_size,
    oldest,
    place,
    server_count,
    waiting,
)
from packenv.cluster.servers import scalar_capacity
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.random_requirements.stalling import stall_half_empty
from packenv.policy import Setting, schedules
from packenv.units import UNIT


class FifoFirstFit(NamedTuple):
    """FIFO-FF: the oldest waiting task goes to the first server with room; if there is none, all tasks wait."""

    stall: bool = False

    def needs(self, setting: Setting) -> Needs:
        vectors = setting.capacity.shape[1] > 1
        groups = BY_DEMAND if vectors and self.stall else 0
        return Needs(orders=BY_QUEUE | BY_INDEX | (BY_SIZE if self.stall else 0) | groups, vectors=vectors)


@schedules(FifoFirstFit)
def schedule_fifo(policy: FifoFirstFit, cluster: Cluster, state: tuple[()]) -> None:
    task = oldest(cluster)
    while task != NONE:
        server = first_server_for(cluster, task)
        if server == NONE:
            break
        place(cluster, task, server)
        task = oldest(cluster)
    if policy.stall:
        stall_half_empty(cluster)


class SlotFifo(NamedTuple):
    """FIFO over slots: each server is divided into n equal slots of one task each, whatever the tasks' sizes.

    `slots` is n; 0 stands for ⌊capacity of the smallest server / largest size⌋, at least 1. Raises InputError if n is not in
    1 to 1,024, or if a task may be larger than a slot.
    """

    slots: int = 0
    stall: bool = False

    def needs(self, setting: Setting) -> Needs:
        capacity = scalar_capacity(setting.capacity)
        slots = self.slots or max(1, int(capacity.min()) // setting.largest_size)
        if not 1 <= slots <= 1024:
            raise InputError(f"slot-fifo: slots must lie between 1 and 1024, not {slots}")
        least = capacity // slots
        if setting.largest_size > least.min():
            raise InputError(
                f"slot-fifo: a task of size {setting.largest_size / UNIT:g} is larger than a slot of {int(least.min()) / UNIT:g}"
                f" ({slots} slots per server)"
            )
        return Needs(orders=BY_QUEUE | BY_INDEX | (BY_SIZE if self.stall else 0), least=least, room=least * np.int64(slots))


@schedules(SlotFifo)
def schedule_slots(policy: SlotFifo, cluster: Cluster, state: tuple[()]) -> None:
    task = oldest(cluster)
    while task != NONE:
        server = first_server(cluster, 1, 0)  # every task occupies a whole slot, so any room is at least one slot
        if server == NONE:
            break
        place(cluster, task, server)
        task = oldest(cluster)
    if policy.stall and waiting(cluster) > 0:
        stall_slots(cluster)


@compiled
def stall_slots(cluster: Cluster) -> None:
    """The stalling rule of FIFO (`stall_half_empty`), with the slots in use as the occupied room."""
    for server in range(server_count(cluster)):
        record = cluster.server[cluster.e, server]
        occupied = jobs_in(cluster, server) * record.least
        if 0 < 2 * occupied < record.capacity and largest_size(cluster) > record.capacity - occupied:
            if not is_closed(cluster, server):
                close(cluster, server)
