"""Every reader of `packenv.cluster`, in every layout of the state: the obvious value, or an error.

A policy in plain Python keeps its own record of a run, from the table of jobs and its own placements. In every slot it compares
each reader with the value that this record gives. A compiled function reads the same, where no reader is missing an order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import packenv
import packenv.cluster as cluster
from packenv import Setting, Workload
from packenv.cluster import (
    BY_AGE,
    BY_DEMAND,
    BY_INDEX,
    BY_LINE,
    BY_MIX,
    BY_QUEUE,
    BY_ROOM,
    BY_SIZE,
    BY_TYPE,
    NONE,
    Cluster,
    Needs,
)
from packenv.compiled.decorators import compiled
from packenv.policy import ORDER_FLAGS
from tests.reference.instances import (
    Instance,
    random_instance,
    to_jobs,
    to_network,
    to_servers,
    with_devices,
    with_gangs,
)
from tests.reference.table import Task
from tests.seeds import seeds

ALL = sum(ORDER_FLAGS.values())
LEVELS = 3
ACTIONS = {
    *("build", "grow", "close", "fill", "hold", "hold_box", "look_at", "place", "post", "postpone", "reopen", "reopen_all"),
    *("start_best_fit", "start_first_fit", "wake_at"),
}


class Record:
    """A run as its policy has seen it: which rows wait, and which are in service where."""

    def __init__(self, instance: Instance, needs: Needs, boxes: bool) -> None:
        self.tasks, self.instance, self.needs, self.boxes = instance.tasks, instance, needs, boxes
        self.D = len(instance.capacities[0])
        self.vectors = needs.vectors and self.D > 1
        self.capacities = instance.capacities
        self.scale = [max(capacity[r] for capacity in self.capacities) for r in range(self.D)]
        self.most = max(self.scale)
        self.servers = range(len(self.capacities))
        self.place_of: dict[int, int] = {}  # place of the pool of each row in the system
        self.server_of: dict[int, int] = {}  # of rows in service
        self.start: dict[int, int] = {}
        self.devices_of: dict[int, int] = {}  # of rows in service, as bits
        self.closed: set[int] = set()
        self.now = -1
        self.new: list[int] = []  # rows
        self.freed: list[int] = []  # servers
        scalars = [self.scalar_capacity(server) for server in self.servers]
        kinds: list[Any] = [*self.capacities] if boxes else scalars
        self.kinds = [*dict.fromkeys(kinds)]
        self.kind = [self.kinds.index(each) for each in kinds]

    def advance(self, slot: int) -> None:
        """Let the tasks that leave until this slot leave, and those that arrive in it wait."""
        ended = [row for row in self.server_of if self.start[row] + self.slots_of(row) <= slot]
        self.freed = sorted({self.server_of[row] for row in ended})
        for row in ended:
            del self.server_of[row], self.place_of[row]
            self.devices_of.pop(row, None)
        self.closed -= {server for server in self.closed if server not in self.server_of.values()}
        self.now = slot
        self.new = [task.row for task in self.tasks if task.arrival == slot]

    def slots_of(self, row: int) -> int:
        return self.tasks[row].service + self.remote_slots(row, self.server_of[row], self.start[row])

    # The waiting tasks.

    @property
    def waiting(self) -> list[int]:
        """Rows in queue order."""
        return sorted(set(self.place_of) - set(self.server_of), key=lambda row: (self.tasks[row].arrival, row))

    @property
    def alone(self) -> list[int]:
        """Waiting rows that are in no gang, in row order."""
        return sorted(row for row in self.waiting if self.gang_size(row) == 1)

    def size(self, row: int) -> int:
        pairs = [(amount, scale) for amount, scale in zip(self.tasks[row].demand, self.scale, strict=True) if scale > 0]
        return max(-(-amount * self.most // scale) for amount, scale in pairs)

    def task(self, row: int | None) -> int:
        return NONE if row is None else self.place_of[row]

    def largest(self, room: int, rows: list[int] | None = None) -> int:
        fitting = [row for row in (self.alone if rows is None else rows) if self.size(row) <= room]
        return self.task(max(fitting, key=lambda row: (self.size(row), -row), default=None))

    def sizes(self) -> list[int]:
        return [self.size(row) for row in self.alone]

    def gang_size(self, row: int) -> int:
        gang = self.tasks[row].gang
        return 1 if gang < 0 else sum(task.gang == gang for task in self.tasks)

    def following(self, row: int, beside: bool) -> int:
        rows, gang = self.waiting, self.tasks[row].gang
        behind = rows[rows.index(row) + 1 :]
        return self.task(next((each for each in behind if beside or gang < 0 or self.tasks[each].gang != gang), None))

    # The servers.

    def scalar_capacity(self, server: int) -> int:
        pairs = zip(self.capacities[server], self.scale, strict=True)
        return min(amount * self.most // scale for amount, scale in pairs if scale > 0)

    def on(self, server: int) -> list[int]:
        return [row for row, place in self.server_of.items() if place == server]

    def free(self, server: int) -> list[int]:
        return [
            most - sum(self.tasks[row].demand[r] for row in self.on(server)) for r, most in enumerate(self.capacities[server])
        ]

    def room(self, server: int) -> int:
        if server in self.closed:
            return NONE
        if not self.vectors:
            return self.scalar_capacity(server) - sum(map(self.size, self.on(server)))
        return min(free * self.most // scale for free, scale in zip(self.free(server), self.scale, strict=True) if scale > 0)

    def free_share(self, server: int) -> float:
        pairs = zip(self.free(server), self.capacities[server], strict=True)
        return sum(free / most for free, most in pairs if most > 0)

    def fits(self, row: int, server: int) -> bool:
        if self.room(server) == NONE or (not self.vectors and self.size(row) > self.room(server)):
            return False
        inside = all(amount <= free for amount, free in zip(self.tasks[row].demand, self.free(server), strict=True))
        return inside and self.devices_for(row, server) != NONE

    def first(self, able: Callable[[int], bool], start: int = 0) -> int:
        return next((server for server in self.servers[start:] if able(server)), NONE)

    def score(self, row: int, server: int) -> float:
        total = 0.0
        for amount, most, free in zip(self.tasks[row].demand, self.capacities[server], self.free(server), strict=True):
            total += (amount / most) * ((most - free) / most) if most > 0 else 0.0
        return total

    def best_task(self, server: int) -> int:
        if not self.needs.orders & BY_DEMAND:
            return self.largest(self.room(server))
        able = [row for row in self.alone if self.fits(row, server)]
        return self.task(max(able, key=lambda row: (self.score(row, server), self.size(row), -row), default=None))

    def best_server(self, row: int) -> int:
        if not self.needs.orders & BY_DEMAND:
            return self.tightest(self.size(row))
        able = [server for server in self.servers if self.fits(row, server)]
        return max(able, key=lambda server: (self.score(row, server), -self.free_share(server), -server), default=NONE)

    def tightest(self, size: int) -> int:
        able = [server for server in self.servers if self.room(server) >= max(size, 0)]
        return min(able, key=lambda server: (self.room(server), server), default=NONE)

    # Types of tasks.

    def type_count(self, kind: int) -> int:
        return 2 * self.levels(kind) if self.needs.types is None else len(self.needs.types)

    def levels(self, kind: int) -> int:
        ratio = max(self.kinds) // max(self.kinds[kind], 1)
        return max(2, LEVELS - (ratio.bit_length() - 1))

    def type_of(self, row: int, kind: int) -> int:
        if self.boxes:
            assert self.needs.types is not None
            inside = [j for j, box in enumerate(self.needs.types) if (np.array(self.tasks[row].demand) <= box).all()]
            return inside[-1] if inside and (self.needs.types[inside[-1]] <= self.kinds[kind]).all() else NONE
        size, capacity = self.size(row), self.kinds[kind]
        if self.needs.types is not None:
            able = [j for j, most in enumerate(self.needs.types.tolist()) if size <= most]
            return (
                able[-1] if able and max((m for m in self.needs.types.tolist() if m <= capacity), default=NONE) >= size else NONE
            )
        if size > capacity:
            return NONE
        share = Fraction(size, capacity)
        for m in range(self.levels(kind)):
            if share > Fraction(2, 3) / 2**m:
                return 2 * m
            if share > Fraction(1, 2) / 2**m:
                return 2 * m + 1
        return 2 * self.levels(kind) - 1

    def queue(self, kind: int, j: int) -> list[int]:
        return [row for row in self.waiting if self.gang_size(row) == 1 and self.type_of(row, kind) == j]

    def heaviest(self, kind: int) -> tuple[int, int, int]:
        levels = self.levels(kind)
        listed = [cluster.reduced_configuration(levels, n) for n in range(4 * levels - 4)]
        return max(listed, key=lambda each: (self.weight(kind, *each), -listed.index(each)))

    def weight(self, kind: int, ones: int, j: int, count: int) -> int:
        return ones * len(self.queue(kind, 1)) + count * len(self.queue(kind, j))

    # Groups, devices, places of data.

    def group(self, row: int) -> tuple[Any, ...]:
        task = self.tasks[row]
        return (task.demand, task.devices, task.share, task.kinds) if self.instance.devices else (task.demand,)

    def firsts(self) -> set[int]:
        return {min(each for each in self.alone if self.group(each) == self.group(row)) for row in self.alone}

    def left(self, server: int, device: int) -> int:
        owned = self.instance.devices[server]
        if device >= owned.number:
            raise ValueError
        taken = (row for row in self.on(server) if self.devices_of.get(row, 0) >> device & 1)
        return owned.whole - sum(self.tasks[row].share or owned.whole for row in taken)

    def accepts(self, row: int, server: int) -> bool:
        return not self.tasks[row].kinds or self.instance.devices[server].kind in self.tasks[row].kinds

    def devices_for(self, row: int, server: int) -> int:
        if not self.instance.devices:
            return 0
        task, owned = self.tasks[row], self.instance.devices[server]
        if not self.accepts(row, server):
            return NONE
        able = [device for device in range(owned.number) if self.left(server, device) >= (task.share or owned.whole)]
        if task.share:
            able.sort(key=lambda device: (self.left(server, device), device))
        return NONE if len(able) < task.devices else sum(1 << device for device in able[: task.devices])

    def level(self, row: int, server: int) -> int:
        home, racks = self.tasks[row].home, self.instance.network.racks or [*self.servers]
        if not home or server in home:
            return 0
        return 1 if racks[server] in {racks[each] for each in home} else 2

    def remote_slots(self, row: int, server: int, now: int) -> int:
        network, level = self.instance.network, self.level(row, server)
        factor = next((factor for slot, factor in reversed(network.steps) if slot <= now), 1.0)
        slots = self.tasks[row].overhead * factor
        return int(np.rint((0, slots * network.same_rack, slots)[level]))


Case = tuple[tuple[int, ...], Callable[[], Any]]
"""Arguments of a reader behind the cluster, and its obvious value; where it raises ValueError, so does the reader."""


class Reader(NamedTuple):
    """Orders without which it raises, and its cases in a slot."""

    orders: int
    cases: Callable[[Record], Iterator[Case]]


def of_cluster(value: Callable[[Record], Any]) -> Callable[[Record], Iterator[Case]]:
    return lambda w: iter([((), lambda: value(w))])


def of_servers(value: Callable[[Record, int], Any]) -> Callable[[Record], Iterator[Case]]:
    return lambda w: (((server,), lambda server=server: value(w, server)) for server in w.servers)  # type: ignore[misc]


def of_tasks(value: Callable[[Record, int], Any], rows: str = "waiting") -> Callable[[Record], Iterator[Case]]:
    return lambda w: (((w.place_of[row],), lambda row=row: value(w, row)) for row in getattr(w, rows)[:4])  # type: ignore[misc]


def of_pairs(value: Callable[[Record, int, int], Any]) -> Callable[[Record], Iterator[Case]]:
    return (
        lambda w: (
            ((w.place_of[row], server), lambda row=row, server=server: value(w, row, server))  # type: ignore[misc]
            for row in w.waiting[:4]
            for server in w.servers
        )
    )


def of_rooms(value: Callable[[Record, int], Any]) -> Callable[[Record], Iterator[Case]]:
    """For rooms and sizes that make a difference."""
    rooms = lambda w: {NONE, 1, w.most // 2, w.most, *map(w.room, w.servers), *map(w.size, w.waiting[:4])}  # noqa: E731
    return lambda w: (((room,), lambda room=room: value(w, room)) for room in sorted(rooms(w)))  # type: ignore[misc]


def of_types(value: Callable[[Record, int, int], Any]) -> Callable[[Record], Iterator[Case]]:
    return lambda w: (
        ((kind, j), lambda kind=kind, j=j: value(w, kind, j))  # type: ignore[misc]
        for kind in range(len(w.kinds))
        for j in range(w.type_count(kind))
    )


def of_devices(value: Callable[[Record, int, int], Any]) -> Callable[[Record], Iterator[Case]]:
    return lambda w: (((server, device), lambda s=server, d=device: value(w, s, d)) for server in w.servers for device in (0, 1))  # type: ignore[misc]


def raising() -> Any:
    raise ValueError


def first_of_type(w: Record, kind: int, j: int) -> int:
    return w.task(next(iter(w.queue(kind, j)), None))


def largest_of_type(w: Record) -> Iterator[Case]:
    for kind in range(len(w.kinds)):
        for j in range(w.type_count(kind)):
            for room in (w.most // 3, w.most):
                value = raising if w.boxes else lambda k=kind, j=j, room=room: w.largest(room, w.queue(k, j))  # type: ignore[misc]
                yield (kind, j, room), value


def holding(w: Record) -> Iterator[Case]:
    for row in w.waiting[:4]:
        for server in w.servers if w.instance.devices else ():
            for device in (0, 1):
                whole = w.instance.devices[server].whole
                yield (
                    (w.place_of[row], server, device),
                    lambda r=row, s=server, d=device, x=whole: w.left(s, d) >= (w.tasks[r].share or x),  # type: ignore[misc]
                )


def with_rows(value: Callable[[Record, int, int], Any]) -> Callable[[Record], Iterator[Case]]:
    return lambda w: (((row, server), lambda r=row, s=server: value(w, r, s)) for row in w.waiting[:4] for server in w.servers)  # type: ignore[misc]


def owned(w: Record, server: int, name: str, otherwise: int) -> int:
    return getattr(w.instance.devices[server], name) if w.instance.devices else otherwise


def of_device_needs(value: Callable[[Task], int]) -> Callable[[Record], Iterator[Case]]:
    return of_tasks(lambda w, row: value(w.tasks[row]) if w.instance.devices else 0)


READERS: dict[str, Reader] = {
    "accepts": Reader(0, of_pairs(lambda w, row, server: not w.instance.devices or w.accepts(row, server))),
    "behind": Reader(BY_QUEUE, of_tasks(lambda w, row: w.following(row, beside=False), "waiting")),
    "best_server": Reader(0, of_tasks(Record.best_server, "alone")),
    "best_task": Reader(0, of_servers(Record.best_task)),
    "demand_of": Reader(
        0,
        lambda w: (
            ((w.place_of[row], r), lambda row=row, r=r: w.tasks[row].demand[r])  # type: ignore[misc]
            for row in w.waiting[:4]
            for r in range(w.D)
        ),
    ),
    "device_capacity": Reader(0, of_servers(lambda w, server: owned(w, server, "whole", 0))),
    "device_count": Reader(0, of_servers(lambda w, server: owned(w, server, "number", 0))),
    "device_kind": Reader(0, of_servers(lambda w, server: owned(w, server, "kind", NONE))),
    "device_left": Reader(0, of_devices(lambda w, server, device: w.left(server, device) if w.instance.devices else raising())),
    "devices_for": Reader(0, of_pairs(Record.devices_for)),
    "devices_needed": Reader(0, of_device_needs(lambda task: task.devices)),
    "eligible_since": Reader(0, of_tasks(lambda w, row: w.tasks[row].arrival)),
    "estimate_of": Reader(0, of_tasks(lambda w, row: 0)),
    "first_of_group": Reader(BY_DEMAND, lambda w: iter(())),  # see `first_of_groups`
    "first_server": Reader(
        BY_INDEX,
        lambda w: (
            ((size, start), lambda size=size, start=start: w.first(lambda server: w.room(server) >= size, start))  # type: ignore[misc]
            for size in sorted({1, w.most // 2, *map(w.size, w.waiting[:4])})
            for start in (0, 1)
        ),
    ),
    "first_server_for": Reader(BY_INDEX, of_tasks(lambda w, row: w.first(lambda server: w.fits(row, server)))),
    "fits": Reader(0, of_pairs(Record.fits)),
    "follows": Reader(0, of_tasks(lambda w, row: w.tasks[row].gang >= 0 and w.tasks[row - 1].gang == w.tasks[row].gang)),
    "free_share": Reader(0, of_servers(Record.free_share)),
    "freed_count": Reader(0, of_cluster(lambda w: len(w.freed))),
    "freed_server": Reader(0, lambda w: (((n,), lambda server=server: server) for n, server in enumerate(w.freed))),  # type: ignore[misc]
    "gang_size": Reader(0, of_tasks(Record.gang_size)),
    "group_count": Reader(BY_DEMAND, of_cluster(lambda w: len(w.firsts()))),
    "has_devices": Reader(0, of_cluster(lambda w: bool(w.instance.devices))),
    "has_gangs": Reader(0, of_cluster(lambda w: any(task.gang >= 0 for task in w.tasks))),
    "head_of_line": Reader(BY_LINE, of_types(first_of_type)),
    "heaviest": Reader(
        BY_TYPE,
        lambda w: (
            ((kind,), raising if w.needs.types is not None else lambda kind=kind: w.heaviest(kind))  # type: ignore[misc]
            for kind in range(len(w.kinds))
            if w.boxes or w.kinds[kind] > 1
        ),
    ),
    "holds": Reader(0, holding),
    "in_gang": Reader(0, of_tasks(lambda w, row: w.gang_size(row) > 1)),
    "is_closed": Reader(0, of_servers(lambda w, server: server in w.closed)),
    "jobs_in": Reader(0, of_servers(lambda w, server: len(w.on(server)))),
    "jobs_of_type": Reader(
        BY_MIX,
        lambda w: (
            ((server, j), lambda s=server, j=j: sum(w.type_of(row, w.kind[s]) == j for row in w.on(s)))  # type: ignore[misc]
            for server in w.servers
            for j in range(w.type_count(w.kind[server]))
        ),
    ),
    "kind_of": Reader(0, of_servers(lambda w, server: w.kind[server])),
    "kinds_accepted": Reader(0, of_device_needs(lambda task: sum(1 << kind for kind in task.kinds))),
    "largest_fitting": Reader(BY_SIZE, of_rooms(lambda w, room: w.largest(room))),
    "largest_of_type_fitting": Reader(BY_SIZE | BY_TYPE, largest_of_type),
    "largest_room": Reader(BY_ROOM, of_cluster(lambda w: max(map(w.room, w.servers)))),
    "largest_size": Reader(BY_SIZE, of_cluster(lambda w: max(w.sizes(), default=NONE))),
    "largest_size_up_to": Reader(BY_SIZE, of_rooms(lambda w, room: max((s for s in w.sizes() if s <= room), default=NONE))),
    "largest_waiting": Reader(BY_SIZE, of_cluster(lambda w: w.largest(10**12))),
    "level_of": Reader(0, with_rows(Record.level)),
    "may_fit": Reader(
        0, of_tasks(lambda w, row: not w.needs.orders & BY_DEMAND or w.gang_size(row) > 1 or row in w.firsts(), "waiting")
    ),
    "new_count": Reader(0, of_cluster(lambda w: len(w.new))),
    "new_task": Reader(
        0,
        lambda w: (((n,), lambda row=row: NONE if row in w.server_of else w.place_of[row]) for n, row in enumerate(w.new)),  # type: ignore[misc]
    ),
    "next_in_queue": Reader(BY_QUEUE, of_tasks(lambda w, row: w.following(row, beside=True))),
    "next_with_room": Reader(
        0,
        lambda w: (
            (
                (start,),
                lambda start=start: w.first(lambda server: bool(w.alone) and w.room(server) >= min(w.sizes()), start),  # type: ignore[misc]
            )
            for start in (0, 1)
        ),
    ),
    "now": Reader(0, of_cluster(lambda w: w.now)),
    "oldest": Reader(BY_QUEUE, of_cluster(lambda w: w.task(next(iter(w.waiting), None)))),
    "oldest_fitting": Reader(
        BY_AGE,
        of_rooms(lambda w, room: w.task(next((r for r in w.waiting if w.gang_size(r) == 1 and w.size(r) <= room), None))),
    ),
    "queue_length": Reader(BY_TYPE, of_types(lambda w, kind, j: len(w.queue(kind, j)))),
    "reduced_configuration": Reader(0, lambda w: iter(())),  # not of a cluster: tests/policies
    "remote_slots": Reader(0, with_rows(lambda w, row, server: w.remote_slots(row, server, w.now))),
    "room_of": Reader(0, of_servers(Record.room)),
    "row_of": Reader(0, of_tasks(lambda w, row: row)),
    "server_count": Reader(0, of_cluster(lambda w: len(w.servers))),
    "share_needed": Reader(0, of_device_needs(lambda task: task.share)),
    "size_of": Reader(0, of_tasks(Record.size)),
    "smallest_size": Reader(BY_SIZE, of_cluster(lambda w: min(w.sizes(), default=NONE))),
    "smallest_waiting": Reader(BY_SIZE, of_cluster(lambda w: w.task(min(w.alone, key=lambda r: (w.size(r), r), default=None)))),
    "started_in": Reader(0, lambda w: (((w.place_of[row],), lambda row=row: w.start[row]) for row in [*w.server_of][:4])),  # type: ignore[misc]
    "tightest_server": Reader(BY_ROOM, of_rooms(Record.tightest)),
    "type_of_task": Reader(
        BY_TYPE,
        lambda w: (
            ((kind, w.place_of[row]), lambda kind=kind, row=row: w.type_of(row, kind))  # type: ignore[misc]
            for kind in range(len(w.kinds))
            for row in w.waiting[:4]
        ),
    ),
    "waiting": Reader(0, of_cluster(lambda w: len(w.waiting))),
    "weight": Reader(BY_TYPE, of_types(lambda w, kind, j: w.weight(kind, 1, j, 2))),
}
BY_CHOICE = {"best_task": (BY_DEMAND, BY_SIZE), "best_server": (BY_DEMAND, BY_ROOM)}
"""The first of these orders is enough, or else the second is needed."""
EXTRA = {"weight": lambda arguments: (arguments[0], 1, arguments[1], 2)}


def test_every_reader_is_here() -> None:
    exported = {
        name for name in cluster.__all__ if callable(getattr(cluster, name)) and not isinstance(getattr(cluster, name), type)
    }
    assert set(READERS) == exported - ACTIONS


class Audit:
    """Compares all readers in every slot, then starts some tasks that fit, and closes a server now and then."""

    def __init__(self, instance: Instance, needs: Needs, seed: int, complete: bool) -> None:
        boxes = needs.types is not None and needs.types.ndim > 1
        self.record, self.cluster_needs, self.rng = Record(instance, needs, boxes), needs, random.Random(seed)
        self.complete = complete  # whether every order is kept
        self.wrong: list[str] = []
        self.compared = 0

    def needs(self, setting: Setting) -> Needs:
        return self.cluster_needs

    def schedule(self, c: Cluster, state: Any) -> None:
        w = self.record
        w.advance(cluster.now(c))
        for n, row in enumerate(w.new):
            w.place_of[row] = cluster.new_task(c, n)
        self.compare(c)
        for row in w.alone:
            able = [server for server in w.servers if w.fits(row, server)]
            if able and self.rng.random() < 0.7:
                server = self.rng.choice(able)
                w.devices_of[row] = w.devices_for(row, server)
                cluster.place(c, w.place_of[row], server)
                w.server_of[row], w.start[row] = server, w.now
        server = self.rng.choice(w.servers)
        if w.on(server) and self.rng.random() < 0.2:
            cluster.close(c, server)
            w.closed.add(server)
        self.compare(c)

    def compare(self, c: Cluster) -> None:
        """Note where a reader and the record differ."""
        w, values = self.record, {}
        for name, reader in READERS.items():
            missing = reader.orders & ~w.needs.orders
            if name in BY_CHOICE and not w.needs.orders & BY_CHOICE[name][0]:
                missing = BY_CHOICE[name][1] & ~w.needs.orders
            if name == "next_with_room" and w.waiting:
                missing = BY_SIZE & ~w.needs.orders or (BY_INDEX & ~w.needs.orders if w.alone else 0)
            for arguments, value in reader.cases(w):
                whole = EXTRA[name](arguments) if name in EXTRA else arguments
                right = outcome(raising if missing else value)
                read = outcome(lambda whole=whole, name=name: getattr(cluster, name)(c, *whole))  # type: ignore[misc]
                self.note(name, whole, read, right)
                values.setdefault(name, (whole, right))
        firsts = {w.place_of[row] for row in w.firsts()}
        if w.needs.orders & BY_DEMAND:
            self.note("first_of_group", (), {cluster.first_of_group(c, n) for n in range(len(firsts))}, firsts)
        if self.complete and w.alone:
            out = np.zeros(len(COMPILED))
            read_all(c, w.place_of[w.waiting[0]], w.waiting[0], w.place_of[w.alone[0]], out)
            for name, value in zip(COMPILED, out.tolist(), strict=True):
                arguments, right = values[name]
                if right is not ValueError:
                    self.note(f"{name}, compiled", arguments, value, right)

    def note(self, name: str, arguments: Any, read: Any, right: Any) -> None:
        self.compared += 1
        alike = read == right if not isinstance(right, float) else isinstance(read, float) and abs(read - right) < 1e-12
        if not alike:
            self.wrong.append(f"{name}{arguments} is {read}, not {right}, in slot {self.record.now}")


def outcome(value: Callable[[], Any]) -> Any:
    try:
        return value()
    except ValueError:
        return ValueError


COMPILED = (
    "waiting",
    "now",
    "new_count",
    "freed_count",
    "has_devices",
    "has_gangs",
    "oldest",
    "largest_room",
    "largest_size",
    "largest_waiting",
    "smallest_size",
    "smallest_waiting",
    "group_count",
    "server_count",
    "room_of",
    "free_share",
    "is_closed",
    "jobs_in",
    "kind_of",
    "device_count",
    "device_capacity",
    "device_kind",
    "best_task",
    "row_of",
    "size_of",
    "eligible_since",
    "estimate_of",
    "gang_size",
    "in_gang",
    "follows",
    "behind",
    "next_in_queue",
    "may_fit",
    "devices_needed",
    "share_needed",
    "kinds_accepted",
    "first_server_for",
    "best_server",
    "fits",
    "accepts",
    "devices_for",
    "level_of",
    "remote_slots",
    "type_of_task",
    "queue_length",
    "head_of_line",
    "jobs_of_type",
)


@compiled
def read_all(c: Cluster, i: int, row: int, alone: int, out: NDArray[np.float64]) -> None:
    """Write what compiled code reads of the cluster, server 0, waiting task i, the first task in no gang, and type 0."""
    out[0] = cluster.waiting(c)
    out[1] = cluster.now(c)
    out[2] = cluster.new_count(c)
    out[3] = cluster.freed_count(c)
    out[4] = cluster.has_devices(c)
    out[5] = cluster.has_gangs(c)
    out[6] = cluster.oldest(c)
    out[7] = cluster.largest_room(c)
    out[8] = cluster.largest_size(c)
    out[9] = cluster.largest_waiting(c)
    out[10] = cluster.smallest_size(c)
    out[11] = cluster.smallest_waiting(c)
    out[12] = cluster.group_count(c)
    out[13] = cluster.server_count(c)
    out[14] = cluster.room_of(c, 0)
    out[15] = cluster.free_share(c, 0)
    out[16] = cluster.is_closed(c, 0)
    out[17] = cluster.jobs_in(c, 0)
    out[18] = cluster.kind_of(c, 0)
    out[19] = cluster.device_count(c, 0)
    out[20] = cluster.device_capacity(c, 0)
    out[21] = cluster.device_kind(c, 0)
    out[22] = cluster.best_task(c, 0)
    out[23] = cluster.row_of(c, i)
    out[24] = cluster.size_of(c, i)
    out[25] = cluster.eligible_since(c, i)
    out[26] = cluster.estimate_of(c, i)
    out[27] = cluster.gang_size(c, i)
    out[28] = cluster.in_gang(c, i)
    out[29] = cluster.follows(c, i)
    out[30] = cluster.behind(c, i)
    out[31] = cluster.next_in_queue(c, i)
    out[32] = cluster.may_fit(c, i)
    out[33] = cluster.devices_needed(c, i)
    out[34] = cluster.share_needed(c, i)
    out[35] = cluster.kinds_accepted(c, i)
    out[36] = cluster.first_server_for(c, i)
    out[37] = cluster.best_server(c, alone)
    out[38] = cluster.fits(c, i, 0)
    out[39] = cluster.accepts(c, i, 0)
    out[40] = cluster.devices_for(c, i, 0)
    out[41] = cluster.level_of(c, row, 0)
    out[42] = cluster.remote_slots(c, row, 0)
    out[43] = cluster.type_of_task(c, 0, i)
    out[44] = cluster.queue_length(c, 0, 0)
    out[45] = cluster.head_of_line(c, 0, 0)
    out[46] = cluster.jobs_of_type(c, 0, 0)


def layout(name: str, rng: random.Random) -> tuple[Instance, Needs]:
    """An instance and the needs of a layout by its name: resources, how tasks are packed, and what else there is."""
    resources = 1 if name.startswith("one") else 2
    instance = random_instance(
        rng,
        resources=resources,
        servers="powers",
        predecessors=False,
        initial=False,
        drain=False,
        tasks=25,
        placed="homes" in name,
    )
    if "devices" in name:
        instance = with_devices(rng, instance)
    if "gangs" in name:
        instance = with_gangs(rng, instance)
    D, types = len(instance.capacities[0]), None
    if "types" in name:
        most = Record(instance, Needs(), False).most
        types = np.array([most, most // 2, most // 5, most // 8])
    if "boxes" in name:
        most = np.array(instance.capacities).max(axis=0)
        types = np.array([most, most // 2, most // 5])
    orders = ALL
    for order, flag in ORDER_FLAGS.items():
        if order in name:
            orders &= ~(flag | (BY_LINE | BY_MIX if flag == BY_TYPE else 0))
    return instance, Needs(
        0 if "no orders" in name else orders,
        vectors="vectors" in name and D > 1,
        levels=LEVELS if orders & BY_TYPE else 0,
        types=types if orders & BY_TYPE else None,
        reads=True,
        devices=True,
        gangs=True,
    )


LAYOUTS = (
    *("one", "one, gangs", "one, homes", "one, types", "one, no orders", "one, gangs, no orders"),
    *(
        "sizes",
        "sizes, gangs",
        "sizes, no orders",
        "sizes, types",
        "vectors",
        "vectors, boxes",
        "vectors, gangs",
        "vectors, homes",
    ),
    *("vectors, devices", "vectors, devices, gangs", "vectors, no orders", "vectors, devices, no orders"),
    *(f"{packing}, without {order}" for packing in ("one", "vectors") for order in ORDER_FLAGS),
)


@pytest.mark.parametrize("seed", seeds(1, 20))
@pytest.mark.parametrize("name", LAYOUTS)
def test_readers_give_the_obvious_value_or_an_error(name: str, seed: int) -> None:
    instance, needs = layout(name, random.Random(f"{name}{seed}"))
    audit = Audit(instance, needs, seed, needs.orders == ALL)
    workload = Workload(jobs=to_jobs(instance), servers=to_servers(instance), network=to_network(instance))
    packenv.simulate(workload, audit, slots=max(task.arrival for task in instance.tasks) + 30, drain=False)
    assert audit.compared > 200
    assert not audit.wrong, "\n".join(audit.wrong[:5])
