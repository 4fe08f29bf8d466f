"""FIFO scheduling: FIFO-FF, and FIFO over equal slots (PAPERS §1.5).

Hadoop's first schedulers used equal slots. Neither policy has a guarantee.
"""

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
    behind,
    close,
    first_server,
    is_closed,
    jobs_in,
    largest_size,
    now,
    oldest,
    place,
    server_count,
    start_first_fit,
    waiting,
)
from packenv.cluster.servers import scalar_capacity
from packenv.compiled.decorators import compiled
from packenv.errors import InputError
from packenv.policies.orders import (
    FCFS,
    WITHOUT_DURATIONS,
    WaitingLine,
    add_new,
    first_in_line,
    line_of,
    line_up,
    next_in_line,
    order_named,
    pop,
    with_room,
)
from packenv.policies.random_requirements.stalling import stall_half_empty
from packenv.policy import Setting, schedules
from packenv.units import UNIT


class FifoFirstFit(NamedTuple):
    """Put the oldest task on the first server with room.

    If no server has room, all tasks wait. A gang is one entry of the queue: its tasks, in row order, go to the first servers
    with room, if there is room for all.

    order     a rule of packenv.policies.orders in place of age. Its first task is reserved until it fits, whatever arrives
              meanwhile. Then the rule chooses again
    blocking  False: a task that fits nowhere is skipped. The rule chooses again in every slot
    """

    stall: bool = False
    order: str = FCFS
    blocking: bool = True

    @property
    def rule(self) -> Oldest | InLine:
        return Oldest(self.stall) if self._by_age else InLine(self.stall, self.blocking)

    @property
    def _by_age(self) -> bool:
        return self.order == FCFS and self.blocking

    def needs(self, setting: Setting) -> Needs:
        order_named(self.order, "fifo-ff")
        vectors = setting.capacity.shape[1] > 1
        groups = BY_DEMAND if vectors and self.stall else 0
        orders = BY_QUEUE | BY_INDEX | (BY_SIZE if self.stall else 0) | groups
        durations, table = self.order not in WITHOUT_DURATIONS, self.order != FCFS
        rejects, gangs = self._by_age, not self.stall
        return Needs(orders, vectors=vectors, durations=durations, table=table, rejects=rejects, devices=vectors, gangs=gangs)

    def initial_state(self, setting: Setting, seed: int) -> WaitingLine | tuple[()]:
        return () if self._by_age else line_of(setting, self.order, "fifo-ff")

    def attach(self, cluster: Cluster, state: WaitingLine | tuple[()]) -> WaitingLine | tuple[()]:
        return with_room(state, cluster.task.shape[1]) if isinstance(state, WaitingLine) else state


class Oldest(NamedTuple):
    """What compiled code knows of `fifo-ff`."""

    stall: bool


class InLine(NamedTuple):
    """Parameters of compiled `fifo-ff` with an order, or without blocking."""

    stall: bool
    blocking: bool


@schedules(Oldest)
def schedule_fifo(policy: Oldest, cluster: Cluster, state: tuple[()]) -> None:
    task = oldest(cluster)
    while task != NONE:
        following = behind(cluster, task)
        if not start_first_fit(cluster, task) and not cluster.head[cluster.e].rejects:
            break  # it blocks the queue, unless it is lost
        task = following
    if policy.stall:
        stall_half_empty(cluster)


@schedules(InLine)
def schedule_in_line(policy: InLine, cluster: Cluster, state: WaitingLine) -> None:
    if policy.blocking:
        serve_line(cluster, state)
    else:
        task = first_in_line(cluster, state, True)
        while task != NONE:
            following = next_in_line(cluster, state, task)
            start_first_fit(cluster, task)
            task = following
    if policy.stall:
        stall_half_empty(cluster)


@compiled
def serve_line(c: Cluster, line: WaitingLine) -> None:
    """Place tasks in line, the last blocked first, until one blocks."""
    if line.estimate.shape[0] == 0:
        add_new(c, line)
    task = line.blocked[0] if line.blocked[0] != NONE else first_now(c, line)
    while task != NONE and start_first_fit(c, task):
        task = first_now(c, line)
    line.blocked[0] = task


@compiled
def first_now(c: Cluster, line: WaitingLine) -> int:
    """Take the first task out of the line, by present weights, or return NONE."""
    if line.estimate.shape[0] > 0 and line.blocked[1] != now(c):
        return line_up(c, line, False)
    return pop(line)


class SlotFifo(NamedTuple):
    """Divide each server into n equal slots of one task each.

    Tasks go in queue order, whatever their sizes. `slots` is n. 0 is ⌊capacity of the smallest server / largest size⌋, at
    least 1. Raises InputError if n is not in 1 to 1,024, or if a task may be larger than a slot.
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
    """Stall servers as `stall_half_empty` does, by slots in use."""
    for server in range(server_count(cluster)):
        record = cluster.server[cluster.e, server]
        occupied = jobs_in(cluster, server) * record.least
        if 0 < 2 * occupied < record.capacity and largest_size(cluster) > record.capacity - occupied:
            if not is_closed(cluster, server):
                close(cluster, server)
