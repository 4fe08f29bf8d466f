"""Live tasks as rows of a growing table, and compiled steps of a slot.

The simulator's loop is unchanged. It reads arrivals from the table and completions from the queue of events, so a live slot is
one call. New tasks are rows that arrive in this slot. Only tasks that have completed get an event, as other ends are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import TAKEN, device_capacity, device_count, has_devices
from packenv.cluster.events import allocate_place, free_place, schedule_event
from packenv.cluster.in_service import occupy
from packenv.cluster.locality import reads_take_room
from packenv.cluster.queue.by_type import find_box
from packenv.cluster.queue.waiting import dequeue, size_key
from packenv.cluster.slots import admit, scalar_size
from packenv.cluster.sorted_keys import add_last, clear
from packenv.cluster.state import MESSAGE, NONE, TASK, Cluster
from packenv.compiled.decorators import compiled
from packenv.jobs import GPU, NUMBER, SHARE
from packenv.policy import BY_SIZE
from packenv.workloads.devices import NO_DEVICES, Devices
from packenv.workloads.network import NOWHERE, Locality, Network
from packenv.workloads.sampling import NO_LAWS, stream_type
from packenv.workloads.servers import Servers
from packenv.workloads.source import NO_ESTIMATES, NO_GANGS, Source

Ints = NDArray[np.int64]
Name = str | int

ENDLESS = 1 << 48
"""Service of every task, in slots. It ends when the caller reports its end."""

FIRST_ROWS = 1024
STARTED = 5
"""Columns of a start: row, place in the pool, server, devices as bits, and the server that holds the task's data."""


@dataclass(slots=True)
class Task:
    """A waiting or running task."""

    name: Name
    demand: tuple[int, ...]  # (D,) units
    estimate: int = 0  # slots; 0: unknown
    job: int = 0
    gang: Name | None = None
    devices: tuple[int, int, int] = (0, 0, 0)  # NUMBER, SHARE, KINDS
    home: tuple[int, ...] = ()
    overhead: int = 0  # slots away from home
    since: int = 0  # slot in which it began to wait; in service: to run
    row: int = NONE
    server: int = NONE
    place: int = NONE  # of the pool, in service
    taken: int = 0  # devices of its server, as bits


class Rows:
    """The columns of the table. Rows of completed tasks are reused.

    Compiled code reads `source`.
    """

    def __init__(self, servers: Servers, resources: Sequence[str] | None, network: Network | None, slot_seconds: float) -> None:
        self.servers, self.network, self.slot_seconds = servers, network, slot_seconds
        self.total = resources.index(GPU) if resources is not None and GPU in resources else servers.D
        self.tasks: list[Task] = []
        self.stream = np.zeros(1, stream_type)
        self.stream["ended"] = 1
        rows = FIRST_ROWS
        self.columns: dict[str, Ints] = {
            "arrival": np.zeros(rows, np.int64),
            "demand": np.zeros((rows, servers.D), np.int64),
            "service": np.full(rows, ENDLESS),
            "job": np.zeros(rows, np.int64),
        }
        if servers.devices is not None:
            self.columns["devices"] = np.zeros((rows, 3), np.int64)
        if network is not None and network.takes_resources:
            self._add_column("home_of")
        self.homes = np.zeros(0, np.int32)
        self.source = self._source()

    @property
    def places(self) -> int:
        """Number of rows with room."""
        return len(self.columns["arrival"])

    def add(self, tasks: Sequence[Task], slot: int) -> bool:
        """Add rows for tasks that arrive in `slot`, those of a gang together.

        Returns whether `source` is new.
        """
        renewed = False
        for name, present in (
            ("estimate", any(task.estimate for task in tasks)),
            ("gangs", any(task.gang is not None for task in tasks)),
            ("home_of", any(task.home for task in tasks)),
        ):
            if present and name not in self.columns:
                self._add_column(name)
                renewed = True
        columns, first = self.columns, len(self.tasks)
        for row, task in enumerate(tasks, first):
            task.row = row
            columns["arrival"][row], columns["demand"][row], columns["job"][row] = slot, task.demand, task.job
            if "devices" in columns:
                columns["devices"][row] = task.devices
            if "estimate" in columns:
                columns["estimate"][row] = task.estimate
            if "gangs" in columns:
                columns["gangs"][row] = row, 1
            if "home_of" in columns:
                renewed |= self._add_homes(row, task)
        self.tasks += tasks
        if "gangs" in columns:
            self._join_gangs(first)
        self.stream["filled"] = len(self.tasks)
        if renewed:
            self.source = self._source()
        return renewed

    def make_room(self, count: int) -> Ints:
        """Renumber present tasks from row 0 on, with room for `count` more.

        Returns the new numbers, (rows,).
        """
        new = np.full(self.places, NONE, np.int64)
        kept = np.array([row for row, task in enumerate(self.tasks) if task.row == row], np.int64)
        new[kept] = np.arange(len(kept))
        rows = self.places
        while 2 * (len(kept) + count) > rows:
            rows *= 2
        for name, column in self.columns.items():
            larger = np.zeros((rows + (name == "home_of"), *column.shape[1:]), np.int64)
            larger[: len(kept)] = column[kept]
            self.columns[name] = larger
        self.columns["service"][:] = ENDLESS
        self.tasks = [self.tasks[row] for row in kept.tolist()]
        for row, task in enumerate(self.tasks):
            task.row = row
        if "gangs" in self.columns:
            self.columns["gangs"][: len(kept), 0] = new[self.columns["gangs"][: len(kept), 0]]
        if "home_of" in self.columns:
            for row, task in enumerate(self.tasks):
                self._add_homes(row, task)
        self.stream["filled"] = len(self.tasks)
        self.source = self._source()
        return new

    def _add_column(self, name: str) -> None:
        rows = self.places
        if name == "gangs":
            self.columns[name] = np.column_stack([np.arange(rows), np.ones(rows, np.int64)])
        else:
            self.columns[name] = np.zeros(rows + (name == "home_of"), np.int64)
        if name == "home_of":
            self.columns["overhead"] = np.zeros(rows, np.int64)

    def _add_homes(self, row: int, task: Task) -> bool:
        """Write the servers with a task's data, return whether their array is new."""
        columns = self.columns
        begin = columns["home_of"][row] if row else 0
        end = begin + len(task.home)
        columns["home_of"][row + 1], columns["overhead"][row] = end, task.overhead
        longer = end > len(self.homes)
        if longer:
            self.homes = np.concatenate([self.homes, np.zeros(max(FIRST_ROWS, int(end)), np.int32)])
        self.homes[begin:end] = task.home
        return longer

    def _join_gangs(self, first: int) -> None:
        """Set first row and size of the gangs from row `first` on."""
        while first < len(self.tasks):
            end = first + 1
            while self.tasks[first].gang is not None and end < len(self.tasks) and self.tasks[end].gang == self.tasks[first].gang:
                end += 1
            self.columns["gangs"][first:end] = first, end - first
            first = end

    def _source(self) -> Source:
        columns, places, devices = self.columns, NOWHERE, NO_DEVICES
        if "home_of" in columns:
            places = self._locality(self.network or Network())
        if "devices" in columns:
            assert self.servers.devices is not None
            devices = Devices(columns["devices"][None], np.ascontiguousarray(self.servers.devices), self.total)
        return Source(
            stream=self.stream,
            **{name: columns[name][None] for name in ("arrival", "demand", "service", "job")},
            laws=NO_LAWS,
            locality=places,
            devices=devices,
            gangs=columns["gangs"][None] if "gangs" in columns else NO_GANGS,
            estimate=columns.get("estimate", NO_ESTIMATES),
        )

    def _locality(self, network: Network) -> Locality:
        since, factor = network.steps(self.slot_seconds)
        nothing = np.zeros(0, np.int64)
        reading, serving = network.units(self.servers.D) if network.takes_resources else (nothing, nothing)
        return Locality(
            home_of=self.columns["home_of"],
            home=self.homes,
            overhead=self.columns["overhead"],
            rack=network.rack_of(len(self.servers)).astype(np.int32),
            since=since,
            factor=factor,
            same_rack=np.array([float(network.same_rack)]),
            reading=reading,
            serving=serving,
        )


def renumber(c: Cluster, new: Ints) -> None:
    """Give the tasks of the pool new rows, in the old order.

    `new` (rows,).
    """
    task = c.task[0]
    there = (task["kind"] == TASK) & (task["row"] >= 0)
    task["row"][there] = new[task["row"][there]]
    gangs = c.source.gangs
    waiting = np.flatnonzero((task["kind"] == TASK) & (task["server"] == NONE))
    if gangs.shape[1]:
        waiting = waiting[gangs[0, task["row"][waiting], 1] == 1]
    order_by_size(c, waiting[np.lexsort((-task["row"][waiting], task["size"][waiting]))])


@compiled
def order_by_size(c: Cluster, places: Ints) -> None:
    """Rebuild the order by size from its tasks in order."""
    if c.orders & BY_SIZE:
        clear(c.sizes, c.e)
        for n in range(places.shape[0]):
            add_last(c.sizes, c.e, size_key(c, places[n]), places[n])


@compiled
def readmit(c: Cluster, since: Ints, slot: int) -> None:
    """Add the first rows as tasks waiting since earlier slots.

    They count as new tasks of the current `slot`.
    """
    head = c.head[c.e]
    for row in range(since.shape[0]):
        head.now = since[row]
        admit(c, row)
    head.next_row = head.arrived = since.shape[0]
    head.now, head.arriving = slot, 1


@compiled
def report(c: Cluster, slot: int, completed: Ints, count: int) -> int:
    """Complete the first `count` tasks of `completed` in `slot`.

    `completed`: places in the pool. Returns the number of events. Overdue timers and messages of the policy are events too.
    """
    head, events = c.head[c.e], c.events[c.e]
    if head.now == slot and not head.arriving:  # a slot again: its completions give room once more
        for n in range(head.freed):
            c.server[c.e, c.freed[c.e, n]].freed = NONE
    # Rebuild the events: messages of the policy, then completions.
    last, head.events, due = head.events, 0, count
    for n in range(last):
        i = events[n, 1]
        if c.task[c.e, i].kind == MESSAGE:
            when = max(events[n, 0], slot)
            due += when == slot
            schedule_event(c, i, when)
    for n in range(count):
        schedule_event(c, completed[n], slot)
    head.wake = max(head.wake, slot)
    return due + (head.wake == slot) + head.arriving


@compiled
def list_starts(c: Cluster, starts: Ints) -> int:
    """Write all starts since `report` as rows (STARTED,), return their number."""
    count = 0
    for n in range(c.head[c.e].events):
        i = c.events[c.e, n, 1]
        task = c.task[c.e, i]
        if task.kind == TASK and task.row >= 0 and task.server != NONE:
            starts[count, 0], starts[count, 1], starts[count, 2] = task.row, i, task.server
            starts[count, 3] = c.devices.need[c.e, i, TAKEN] if has_devices(c) else 0
            starts[count, 4] = c.reads[c.e, i] if reads_take_room(c) else NONE
            count += 1
    return count


@compiled
def withdraw(c: Cluster, i: int) -> None:
    """Remove a waiting task from the cluster."""
    dequeue(c, i)
    free_place(c, i)


@compiled
def fill_up(c: Cluster, server: int, device: int) -> int:
    """Occupy the free part of a server, return the place that holds it.

    device  NONE: all free room with the free devices. Otherwise only the rest of one device
    """
    i = allocate_place(c)
    task, record = c.task[c.e, i], c.server[c.e, server]
    task.kind, task.row, task.job, task.since, task.size = TASK, NONE, NONE, c.head[c.e].now, max(record.room, 0)
    room, taken, number = 0, 0, 0
    if device == NONE:
        room = record.room
    else:
        taken, number = 1 << device, 1
    if c.demand.shape[1] > 0:
        for r in range(c.demand.shape[2]):
            c.demand[c.e, i, r] = c.free[c.e, server, r] if device == NONE else 0
        task.size = scalar_size(c, i)
        if c.types.box.shape[0] > 0:
            find_box(c, i)
    if has_devices(c):
        if device == NONE:
            for d in range(device_count(c, server)):
                if c.devices.left[c.e, server, d] == device_capacity(c, server):
                    taken |= 1 << d
                    number += 1
        need = c.devices.need[c.e, i]
        need[NUMBER], need[SHARE], need[2] = number, 0 if device == NONE else c.devices.left[c.e, server, device], 0
    occupy(c, i, server, room, ENDLESS, taken)
    return i


def block(c: Cluster, server: int) -> list[int]:
    """Occupy all of a server's free room, return the places in the pool."""
    places = [int(fill_up(c, server, NONE))]
    if c.devices.left.shape[1]:
        places += [int(fill_up(c, server, d)) for d in np.flatnonzero(c.devices.left[0, server] > 0).tolist()]
    return places


def devices_in(bits: int) -> tuple[int, ...]:
    """Return the numbers of the devices in a word's bits."""
    return tuple(d for d in range(bits.bit_length()) if bits >> d & 1)


def place_of(c: Cluster, row: int) -> int:
    """Return the place of a waiting task in the pool."""
    task: Any = c.task[0]
    return int(np.flatnonzero((task["row"] == row) & (task["kind"] == TASK))[0])
