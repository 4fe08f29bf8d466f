"""The cluster of a live policy. Tasks are rows of a table, and rows of completed tasks are used again.

New tasks are rows that arrive in this slot. Only tasks that have completed get an event, as other ends are unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.build import build, start_initial
from packenv.cluster.loop import IN_PART, OVERFULL, CompiledLoop
from packenv.cluster.slots import GROW
from packenv.cluster.state import MESSAGE, NEVER, NONE, TASK, Cluster
from packenv.compiled.apart import entry_of
from packenv.errors import MisuseError
from packenv.jobs import Jobs, Ragged
from packenv.live.setting import LiveSetting
from packenv.live.steps import STARTED, list_starts, order_by_size, readmit, remove, report
from packenv.policy import attached, initial_state_of, misuse, name_of
from packenv.simulation import check_initial, make_room
from packenv.workloads.devices import devices_of
from packenv.workloads.in_service import InService
from packenv.workloads.network import Network, locality
from packenv.workloads.servers import Servers
from packenv.workloads.source import Source, table_source

Ints = NDArray[np.int64]
Name = str | int

ENDLESS = 1 << 48
"""Service of every task, in slots. It ends when the caller reports its end."""

FIRST_ROWS = 1024
MOST_OF_A_SERVER = 64  # places of the pool that hold the room of a drained server


@dataclass(slots=True)
class Task:
    """A waiting or running task."""

    name: Name
    arguments: dict[str, Any] = field(compare=False)  # of `submit`, in plain values
    demand: tuple[int, ...]  # (D,) units
    estimate: int = 0  # slots; 0: unknown
    job: int = 0
    gang: Name | None = None
    after: Name | None = None  # gang that starts before
    devices: tuple[int, int, int] = (0, 0, 0)  # NUMBER, SHARE, KINDS
    home: tuple[int, ...] = ()
    overhead: int = 0  # slots away from home
    since: int = 0  # slot in which it began to wait; in service: to run
    row: int = NONE
    server: int = NONE
    place: int = NONE  # of the pool, in service
    taken: int = 0  # devices of its server, as bits


class Rows:
    """A policy's cluster in slot `slot`, in which all waiting tasks are new to the policy."""

    def __init__(self, live: LiveSetting, tasks: Collection[Task], slot: int) -> None:
        running = [task for task in tasks if task.server != NONE]
        waiting = sorted((task for task in tasks if task.server == NONE), key=lambda task: task.since)
        self.live = live
        self.held: dict[int, list[int]] = {}  # by drained server: the places of the pool that hold its room
        # A table of the waiting tasks, and a cluster with the running ones.
        self._make_table(waiting)
        self._write(side_by_side(waiting), slot)
        initial = in_service(live.servers, running)
        units, places = live.servers.units, 2 * len(waiting) + MOST_OF_A_SERVER
        c = build(self.source, units, live.needs, places=places, initial=initial, measured=False)
        for place, task in enumerate(running):
            task.place, task.row = place, NONE
            c.task["since"][0, place] = min(task.since, slot)
        self.state = initial_state_of(live.policy, live.setting, live.seed)
        readmit(self._attach(c), np.array([min(task.since, slot) for task in self.tasks], np.int64), slot)

    @property
    def places(self) -> int:
        """Number of rows with room."""
        return self.source.arrival.shape[1]

    @property
    def wake(self) -> int | None:
        """Slot of the policy's next timer or message, None without."""
        slots = [int(self.cluster.head["wake"][0])]
        if self.live.needs.reserve:
            task = self.cluster.task[0]
            slots += task["slots"][(task["kind"] == MESSAGE) & (task["slots"] > self.cluster.head["now"][0])].tolist()
        return min(slots) if min(slots) < NEVER else None

    def decide(self, new: Sequence[Task], ended: Sequence[Task], drained: set[int], slot: int) -> Iterator[tuple[Task, int]]:
        """Run the policy in a slot with events. Yield tasks that start, each with the server that it reads from."""
        if new:
            self._add(new, slot)
        # Hold the room of drained servers, also that of tasks that ended there.
        for server in drained - self.held.keys():
            self.held[server] = self._block(server)
        done = [place for server in self.held.keys() - drained for place in self.held.pop(server)]
        for task in ended:
            if task.server in self.held:
                self.cluster.task["row"][0, task.place], self.cluster.task["slots"][0, task.place] = NONE, ENDLESS
            self.held.get(task.server, done).append(task.place)
            task.row = NONE
        # Without any event the policy has nothing to decide.
        if not report(self.cluster, slot, np.array(done, np.int64), len(done)) + len(new):
            return
        self._play(slot)
        for row, place, server, devices, source in self.starts[: list_starts(self.cluster, self.starts)].tolist():
            task = self.tasks[row]
            task.since, task.server, task.place, task.taken = slot, server, place, devices
            yield task, source

    def withdraw(self, task: Task) -> None:
        """Remove a waiting task that the policy does not remember."""
        there = (self.cluster.task["row"][0] == task.row) & (self.cluster.task["kind"][0] == TASK)
        remove(self.cluster, int(np.flatnonzero(there)[0]))
        task.row = NONE

    # The table

    def _add(self, new: Sequence[Task], slot: int) -> None:
        homes = int(self.source.locality.home_of[len(self.tasks)]) + sum(len(task.home) for task in new)
        renewed = len(self.tasks) + len(new) > self.places or homes > len(self.source.locality.home)
        if renewed or (not self.source.gangs.shape[1] and any(task.gang is not None for task in new)):
            # Number the present tasks from row 0 on, in the old order.
            kept, gangs = [task for row, task in enumerate(self.tasks) if task.row == row], self.source.gangs
            rows, number = [task.row for task in kept], np.full(self.places, NONE)
            number[rows] = np.arange(len(kept))
            self._make_table([*kept, *new])
            self._write(kept, slot)
            if gangs.shape[1]:
                self.source.gangs[0, : len(kept)] = np.column_stack([number[gangs[0, rows, 0]], gangs[0, rows, 1]])
            renumber(self.cluster, number)
            self.cluster.head["next_row"] = len(kept)
            self._attach(self.cluster.replace(source=self.source))
        self._write(side_by_side(new), slot)

    def _make_table(self, tasks: Sequence[Task]) -> None:
        """Make an empty table with twice the room for these tasks."""
        live, rows = self.live, FIRST_ROWS
        while rows < 2 * len(tasks):
            rows *= 2
        homes = np.zeros(rows + 2 * sum(len(task.home) for task in tasks), np.int32)
        zeros = np.zeros((4, rows), np.int64)
        gangs = any(task.gang is not None for task in tasks)
        jobs = Jobs(
            arrival=zeros[0],
            demand=np.ones((rows, live.servers.D), np.int64),
            service=np.full(rows, ENDLESS),
            job=zeros[1],
            home=Ragged(np.zeros(rows + 1, np.int64), zeros[2, :0]),
            remote_overhead=zeros[3],
            estimate=np.ones(rows),
            gang=np.arange(rows) if gangs else None,
            devices=None if live.servers.devices is None else np.zeros((rows, 3), np.int64),
            device_kinds=live.servers.device_kinds,
        )
        places = locality(jobs, live.network or Network(), len(live.servers), live.slot_seconds)._replace(home=homes)
        self.tasks: list[Task] = []
        self.source: Source = table_source(jobs, places, devices_of(jobs, live.servers, live.resources))

    def _write(self, tasks: Sequence[Task], slot: int) -> None:
        """Write rows of tasks that arrive in `slot`, those of a gang together."""
        source, places, first = self.source, self.source.locality, len(self.tasks)
        has_devices, end = source.devices.need.shape[1] > 0, int(places.home_of[first])
        for row, task in enumerate(tasks, first):
            source.arrival[0, row], source.job[0, row], source.estimate[row] = slot, task.job, task.estimate
            source.demand[0, row], task.row = task.demand, row
            if has_devices:
                source.devices.need[0, row] = task.devices
            if task.home:
                places.home[end : end + len(task.home)], places.overhead[row] = task.home, task.overhead
                end += len(task.home)
            places.home_of[row + 1] = end
        self.tasks += tasks
        source.stream["filled"] = len(self.tasks)
        for gang, members in groupby(tasks, key=lambda task: task.gang):
            count = len([*members])
            if gang is not None:
                source.gangs[0, first : first + count] = first, count
            first += count

    # The cluster

    def _attach(self, c: Cluster) -> Cluster:
        live, runner = self.live, self.live.runner
        self.cluster, self.state = c, attached(live.policy, c, self.state)
        self.starts = np.zeros((c.task.shape[1], STARTED), np.int64)
        self.run = runner
        if isinstance(runner, CompiledLoop):
            runner(live.policy, c, self.state, 0, 0)  # compiles
            self.run = replace(runner, run=entry_of(runner.run, runner.parameters, c, self.state, 0, 0, runner.checked))
        return c

    def _block(self, server: int) -> list[int]:
        """Occupy all of a server's free room, return the places in the pool."""
        c, units = self.cluster, self.live.servers.units
        while c.head["free_places"][0] <= MOST_OF_A_SERVER + self.live.needs.reserve:
            c = self._attach(make_room(c))
        free = np.zeros(units.shape[1], np.int64)
        if c.vectors:
            free += c.free[0, server]
        else:
            free[units.max(axis=0).argmax()] = c.server["room"][0, server]
        # All free room with the unused devices, then the rest of each device in use.
        rows, devices = [(free.tolist(), server, ENDLESS)], None
        if self.live.servers.devices is not None:
            number, whole, _ = self.live.servers.devices[server].tolist()
            left = list(enumerate(c.devices.left[0, server, :number].tolist()))
            unused = [d for d, room in left if room == whole]
            parts = [(1, room, 0, 1 << d) for d, room in left if 0 < room < whole]
            devices = np.array([(len(unused), 0, 0, sum(1 << d for d in unused)), *parts], np.int64)
            rows += [([0] * len(free), server, ENDLESS)] * len(parts)
        elif not free.any():
            return []
        before = self._on(server)
        start_initial(c, replace(InService.of(rows, len(free)), devices=devices), slotted=False)
        held: list[int] = np.flatnonzero(self._on(server) & ~before).tolist()
        return held

    def _on(self, server: int) -> NDArray[np.bool_]:
        """Return the places of the pool (places,) with tasks on a server."""
        task = self.cluster.task[0]
        return np.asarray((task["kind"] == TASK) & (task["server"] == server))

    def _play(self, slot: int) -> None:
        """Let the policy schedule the slot, enlarging the pool as needed."""
        live, reason = self.live, GROW
        while reason == GROW:
            try:
                reason = self.run(live.policy, self.cluster, self.state, slot + 1, 1)
            except MemoryError:
                raise
            except Exception as error:  # the compiled code found a misuse, or a policy in plain Python raised something
                raise misuse(live.policy, error, int(self.cluster.orders)) from error
            if reason == GROW:
                self._attach(make_room(self.cluster))
        if reason in (OVERFULL, IN_PART):
            what = "put a server above its capacity" if reason == OVERFULL else "started a gang in part"
            raise MisuseError(f"policy {name_of(live.policy)} {what} in slot {slot}")


def in_service(servers: Servers, running: Sequence[Task]) -> InService:
    """Return running tasks with their expected ends. Raises InputError if a server has no room for them."""
    rows = [(task.demand, task.server, task.since + task.estimate if task.estimate else ENDLESS) for task in running]
    devices = np.array([(*task.devices, task.taken) for task in running], np.int64).reshape(-1, 4)
    table = InService.of(rows, servers.D)
    return check_initial(table if servers.devices is None else replace(table, devices=devices), servers)


def side_by_side(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the tasks with gangs together."""
    first: dict[Any, int] = {}
    return sorted(tasks, key=lambda task: first.setdefault(task.name if task.gang is None else (task.gang,), len(first)))


def devices_in(bits: int) -> tuple[int, ...]:
    """Return the numbers of the devices in a word's bits."""
    return tuple(d for d in range(bits.bit_length()) if bits >> d & 1)


def renumber(c: Cluster, number: Ints) -> None:
    """Give the tasks of the pool new rows, in the old order."""
    task, gangs = c.task[0], c.source.gangs
    there = (task["kind"] == TASK) & (task["row"] >= 0)
    single = there & (task["server"] == NONE)
    if gangs.shape[1]:
        single &= gangs[0, np.where(there, task["row"], 0), 1] == 1
    task["row"][there] = number[task["row"][there]]
    waiting = np.flatnonzero(single)
    order_by_size(c, waiting[np.lexsort((-task["row"][waiting], task["size"][waiting]))])
