"""The model of PAPERS §1.1, slot by slot, in plain Python: slow and obvious, so that it can be believed.

Every slot is simulated and the policy is asked in every slot. Nothing here is shared with the fast simulator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from tests.reference.table import NO_DEVICES, Devices, Initial, Network, Task, Vector, before


class NoProgress(RuntimeError):
    """A drained run that would never end."""


@dataclass(frozen=True)
class Running:
    """A job in service."""

    row: int | None  # None: it was there before slot 0
    demand: Vector
    leaves: int  # it is gone at the start of this slot
    counted: int  # what a policy of scalar sizes counts for it; the real use is `demand`
    on: tuple[int, ...] = ()  # devices that it has
    share: int = 0  # of the one that it has; 0: all of them


@dataclass(eq=False)
class Server:
    index: int
    capacity: Vector
    running: list[Running] = field(default_factory=list)
    devices: Devices = NO_DEVICES

    @property
    def empty(self) -> bool:
        return not self.running

    @property
    def occupied(self) -> Vector:
        return tuple(sum(job.demand[r] for job in self.running) for r in range(len(self.capacity)))

    @property
    def residual(self) -> Vector:
        return tuple(c - o for c, o in zip(self.capacity, self.occupied, strict=True))

    def fits(self, demand: Vector, checked: int | None = None) -> bool:
        """In every resource, or in the first `checked`."""
        return all(d <= free for d, free in list(zip(demand, self.residual, strict=True))[:checked])

    def left(self, device: int) -> int:
        """What nobody has of a device."""
        return self.devices.whole - sum(job.share or self.devices.whole for job in self.running if device in job.on)

    def devices_for(self, task: Task, lefts: Sequence[int] | None = None) -> tuple[int, ...] | None:
        """The tightest that holds its share, or the first that are free; of equals the lower. None: it has no room there.

        `lefts`: if so much were left of each device.
        """
        left = [self.left(device) for device in range(self.devices.number)] if lefts is None else lefts
        if task.kinds and self.devices.kind not in task.kinds:
            return None
        if task.share:
            able = [device for device in range(self.devices.number) if left[device] >= task.share]
            return (min(able, key=lambda device: (left[device], device)),) if able else None
        free = [device for device in range(self.devices.number) if left[device] == self.devices.whole]
        return tuple(free[: task.devices]) if len(free) >= task.devices else None

    def takes(self, task: Task) -> bool:
        """Whether it has room for a task in every resource and on its devices."""
        return self.fits(task.demand) and self.devices_for(task) is not None

    def could_take(self, task: Task) -> bool:
        """The same if it were empty."""
        return Server(self.index, self.capacity, devices=self.devices).takes(task)


@dataclass(frozen=True, eq=False)
class Scale:
    """One number for a vector: the largest demand relative to the largest server, rounded so that
    jobs which fit by the number fit in every resource. One resource: the number is the demand itself."""

    largest: Vector  # largest capacity of each resource over the servers

    @functools.lru_cache(10_000)  # noqa: B019
    def size(self, demand: Vector) -> int:
        assert all(d == 0 for d, c in zip(demand, self.largest, strict=True) if c == 0), "demand of a resource nobody has"
        top = max(self.largest)
        return max(-(-d * top // c) for d, c in zip(demand, self.largest, strict=True) if c > 0)

    @functools.lru_cache(10_000)  # noqa: B019
    def capacity(self, capacity: Vector) -> int:
        top = max(self.largest)
        return min(c * top // m for c, m in zip(capacity, self.largest, strict=True) if m > 0)


@dataclass
class Outcome:
    """What a run did. Lists have one entry per simulated slot, taken at Measure."""

    start: dict[int, int] = field(default_factory=dict)  # row -> slot
    server: dict[int, int] = field(default_factory=dict)  # row -> server
    source: dict[int, int] = field(default_factory=dict)  # row -> server from which it reads, if that takes resources
    eligible: dict[int, int] = field(default_factory=dict)  # row -> slot
    queue: list[int] = field(default_factory=list)  # Q(t)
    used: list[Vector] = field(default_factory=list)  # real demand in service
    waiting_size: list[int] = field(default_factory=list)  # sum of scalar sizes that wait

    @property
    def max_queue(self) -> int:
        return max(self.queue, default=0)


def shares_free(server: Server, serving: Vector) -> Fraction:
    """The share of its capacity that a server has free, of the resource of those that it serves with of which least is."""
    pairs = zip(server.residual, server.capacity, serving, strict=True)
    return min(Fraction(free, capacity) for free, capacity, amount in pairs if amount > 0)


class World:
    """What a policy sees and may do."""

    def __init__(
        self,
        tasks: Sequence[Task],
        capacities: Sequence[Vector],
        initial: Sequence[Initial],
        network: Network | None = None,
        devices: Sequence[Devices] = (),
    ) -> None:
        assert [task.row for task in tasks] == list(range(len(tasks)))
        assert all(a.arrival <= b.arrival for a, b in pairwise(tasks))
        self.tasks = list(tasks)
        self.resources = len(capacities[0])
        self.scale = Scale(tuple(max(c[r] for c in capacities) for r in range(self.resources)))
        self.servers = [Server(index, capacity) for index, capacity in enumerate(capacities)]
        for server, own in zip(self.servers, devices, strict=False):
            server.devices = own
        for job in initial:
            assert job.remaining >= 1
            running = Running(None, job.demand, job.remaining, self.scale.size(job.demand))
            self.servers[job.server].running.append(running)
        self.network = network or Network()
        self.slot = 0
        self.waiting: list[Task] = []  # in queue order: (eligible slot, row)
        self.newcomers: list[Task] = []  # became eligible in this slot
        self.vacated: list[Server] = []  # had a completion in this slot
        self.completed: set[int] = set()
        self.checked: int | None = None  # resources that the policy looks at, None: all
        self.awaiting = False  # messages of the policy are under way
        self.outcome = Outcome()

    def size(self, task: Task) -> int:
        return self.scale.size(task.demand)

    def fits(self, task: Task, server: Server) -> bool:
        """In every resource, with what it reads over the network, for which a server with the data must have room too."""
        if not self.reads(task, server):
            return server.fits(task.demand)
        both = tuple(d + extra for d, extra in zip(task.demand, self.network.reading, strict=True))
        return server.fits(both) and self.source(task, server) is not None

    def reads(self, task: Task, server: Server) -> bool:
        """Whether it would take resources to read over the network."""
        return bool(self.network.reading) and self.network.level(task, server.index) > 0

    def source(self, task: Task, server: Server) -> Server | None:
        """Of the servers with the data, in the same rack if any is: that with room and the largest share free; lower index."""
        homes = [self.servers[home] for home in sorted(task.home)]
        if self.network.level(task, server.index) == 1:
            homes = [home for home in homes if self.network.racks[home.index] == self.network.racks[server.index]]
        able = [home for home in homes if home.fits(self.network.serving)]
        if not any(self.network.serving):
            return min(able, key=lambda home: home.index)
        return max(able, key=lambda home: (shares_free(home, self.network.serving), -home.index), default=None)

    def start(
        self,
        task: Task,
        server: Server,
        counted: int | None = None,
        extra: int = 0,
        checked: int | None = None,
        devices: tuple[int, ...] | None = None,
    ) -> None:
        """Put a waiting task on a server now; it must fit in the checked resources.

        It stays for its service, what it takes away from its data, and `extra` slots. `devices`: those that the policy chooses.
        """
        assert task in self.waiting, f"row {task.row} does not wait"
        assert task.row not in self.outcome.start, f"row {task.row} starts twice"
        assert server.fits(task.demand, checked), f"row {task.row} does not fit on server {server.index}"
        self.checked = checked
        self.waiting.remove(task)
        counted = self.size(task) if counted is None else counted
        stay = task.service + self.remote_slots(task, server) + extra
        if self.reads(task, server):
            source = self.source(task, server)
            assert source is not None, f"row {task.row} has nobody to read from"
            source.running.append(Running(None, self.network.serving, self.slot + stay, 0))
            server.running.append(Running(None, self.network.reading, self.slot + stay, 0))
            self.outcome.source[task.row] = source.index
            assert server.fits(task.demand), f"row {task.row} has no room to read"
        on = server.devices_for(task) if devices is None else devices
        assert on is not None, f"row {task.row} has no device on server {server.index}"
        server.running.append(Running(task.row, task.demand, self.slot + stay, counted, on, task.share))
        self.outcome.start[task.row] = self.slot
        self.outcome.server[task.row] = server.index

    def remote_slots(self, task: Task, server: Server) -> int:
        """What a task would stay longer if it started there now."""
        return self.network.overhead(task, server.index, self.slot)

    # The events of a slot, in order.

    def complete(self) -> None:
        self.vacated = []
        for server in self.servers:
            leaving = [job for job in server.running if job.leaves == self.slot]
            if leaving:
                server.running = [job for job in server.running if job.leaves > self.slot]
                self.completed |= {job.row for job in leaving if job.row is not None}
                self.vacated.append(server)

    def arrive(self) -> None:
        arrived = [task for task in self.tasks if task.arrival <= self.slot and task.row not in self.outcome.eligible]
        self.newcomers = [task for task in arrived if self.completed >= before(task, self.tasks)]
        self.outcome.eligible |= {task.row: self.slot for task in self.newcomers}
        self.waiting += self.newcomers

    def measure(self) -> None:
        self.outcome.queue.append(len(self.waiting))
        self.outcome.waiting_size.append(sum(self.size(task) for task in self.waiting))
        self.outcome.used.append(tuple(sum(s.occupied[r] for s in self.servers) for r in range(self.resources)))

    def check(self) -> None:
        """No server above capacity; every row in exactly one place, and none in service before its time."""
        for server in self.servers:
            assert all(free >= 0 for free in server.residual[: self.checked]), f"server {server.index} is over"
            assert all(job.leaves > self.slot for job in server.running)
            for device in range(server.devices.number):
                on = [job for job in server.running if device in job.on]
                assert server.left(device) >= 0, f"a device of server {server.index} is over"
                assert len(on) <= 1 or all(job.share for job in on), f"a whole device of server {server.index} is shared"
        waiting = [task.row for task in self.waiting]
        running = [job.row for server in self.servers for job in server.running if job.row is not None]
        to_come = [task.row for task in self.tasks if task.row not in self.outcome.eligible]
        assert sorted([*waiting, *running, *to_come, *self.completed]) == [task.row for task in self.tasks], "a row is lost"
        keys = [(self.outcome.eligible[row], row) for row in waiting]
        assert keys == sorted(keys), "out of queue order"
        for row in running:
            task, start = self.tasks[row], self.outcome.start[row]
            assert task.arrival <= start <= self.slot
            together = [other.row for other in self.tasks if other.gang == task.gang >= 0]
            assert all(self.outcome.start.get(other) == start for other in together), f"the gang of row {row} started in part"
            assert all(self.outcome.start[p] + self.tasks[p].service <= start for p in before(task, self.tasks))

    def all_done(self) -> bool:
        """Is all work done at the start of this slot?"""
        return len(self.outcome.start) == len(self.tasks) and all(
            job.leaves <= self.slot for server in self.servers for job in server.running
        )


class SchedulingPolicy(Protocol):
    """`patience`, if it has one: for how many slots it may leave every server idle while tasks wait."""

    def begin(self, world: World) -> None: ...

    def schedule(self, world: World) -> None: ...


def simulate(
    tasks: Sequence[Task],
    capacities: Sequence[Vector],
    policy: SchedulingPolicy,
    slots: int | None = None,
    drain: bool = False,
    initial: Sequence[Initial] = (),
    watch: Callable[[World], None] | None = None,
    network: Network | None = None,
    devices: Sequence[Devices] = (),
) -> Outcome:
    """Run slots 0..slots-1; without `slots`, through the last arrival slot, or (`drain`) until all work is done.

    `watch` sees the world after the scheduling of every slot.
    """
    world = World(tasks, capacities, initial, network, devices)
    policy.begin(world)
    last_arrival = max((task.arrival for task in tasks), default=-1)
    patience = getattr(policy, "patience", 0)
    if slots is None and not drain:
        slots = last_arrival + 1
    stuck = 0
    while world.slot < slots if slots is not None else not world.all_done():
        world.complete()
        world.arrive()
        started = len(world.outcome.start)
        policy.schedule(world)
        started = len(world.outcome.start) - started
        world.check()
        world.measure()
        if watch is not None:
            watch(world)
        idle = all(server.empty for server in world.servers) and not world.awaiting
        stuck = stuck + 1 if idle and world.waiting and world.slot >= last_arrival and started == 0 else 0
        if slots is None and stuck > patience:
            rows = [task.row for task in world.waiting]
            raise NoProgress(f"slot {world.slot}: rows {rows} wait, nothing is in service and nothing will arrive")
        world.slot += 1
    return world.outcome
