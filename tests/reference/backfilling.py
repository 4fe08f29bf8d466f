"""EASY, conservative backfilling, and best fit that keeps servers for old jobs (PAPERS §6), as their words say.

All look at the cluster only in slots with a completion or an arrival. EASY is written with the two questions of the literature
(does it end before the head of line starts, or fit beside it), conservative with a table of what is free in every slot.
"""

from __future__ import annotations

from tests.reference.gangs import alone, gang_of, leads, start_together
from tests.reference.model import Running, Server, World
from tests.reference.orders import FORMULAS, Formula, in_order
from tests.reference.table import Task, Vector


def add(a: Vector, b: Vector, sign: int = 1) -> Vector:
    return tuple(x + sign * y for x, y in zip(a, b, strict=True))


def within(demand: Vector, free: Vector) -> bool:
    return all(d <= f for d, f in zip(demand, free, strict=True))


def expected_service(task: Task) -> int:
    return task.service if task.estimate is None else max(1, round(task.estimate))


def expected_stay(world: World, task: Task, server: Server) -> int:
    return expected_service(task) + world.remote_slots(task, server)


def expected_end(world: World, job: Running) -> int:
    """One that outlives its estimate is expected to leave in the next slot; one from before slot 0 leaves when it does."""
    end = job.leaves
    if job.row is not None:
        task = world.tasks[job.row]
        end += expected_service(task) - task.service
    return max(end, world.slot + 1)


def free_in(world: World, server: Server, slot: int) -> Vector:
    """What is expected to be free of a server in a slot, if nothing else starts."""
    free = server.residual
    for job in server.running:
        if expected_end(world, job) <= slot:
            free = add(free, job.demand)
    return free


def part_of(server: Server, job: Running | Task) -> int:
    """What it takes of each device that it has."""
    return job.share or server.devices.whole


def lefts_in(world: World, server: Server, slot: int) -> list[int]:
    """The same of each device."""
    gone = [job for job in server.running if expected_end(world, job) <= slot]
    return [server.left(d) + sum(part_of(server, job) for job in gone if d in job.on) for d in range(server.devices.number)]


def has_room_in(world: World, server: Server, slot: int, task: Task) -> bool:
    """Whether a task fits into what is expected to be free in a slot."""
    inside = within(task.demand, free_in(world, server, slot))
    return inside and server.devices_for(task, lefts_in(world, server, slot)) is not None


class Backfilling:
    def __init__(self, *, order: str = "fcfs", formula: Formula | None = None) -> None:
        self.formula = formula or FORMULAS[order]

    def line(self, world: World) -> list[Task]:
        """The waiting tasks as the order has them."""
        return in_order(world, world.waiting, self.formula)

    def begin(self, world: World) -> None:
        """Once, before slot 0."""

    def schedule(self, world: World) -> None:
        if world.vacated or world.newcomers:
            self.place(world)

    def place(self, world: World) -> None:
        raise NotImplementedError


class Easy(Backfilling):
    """FIFO; the head of line has a reservation, and others start if they do not delay it."""

    def place(self, world: World) -> None:
        if any(not alone(world, task) for task in world.tasks):  # the two questions are about one server
            Conservative(depth=1, formula=self.formula).place(world)
            return
        line = self.line(world)
        while line:
            able = [server for server in world.servers if server.takes(line[0])]
            if not able:
                break
            world.start(line.pop(0), able[0])
        if line:
            self.backfill(world, line[0], line[1:])

    def backfill(self, world: World, head: Task, others: list[Task]) -> None:
        could = [server for server in world.servers if server.could_take(head)]
        ends = {s.index: [world.slot, *sorted(expected_end(world, job) for job in s.running)] for s in could}
        firsts = {s.index: next(t for t in ends[s.index] if has_room_in(world, s, t, head)) for s in could}
        chosen = min(could, key=lambda s: (firsts[s.index], s.index))
        start = firsts[chosen.index]
        beside = add(free_in(world, chosen, start), head.demand, -1)
        lefts = lefts_in(world, chosen, start)
        for device in chosen.devices_for(head, lefts) or ():
            lefts[device] -= part_of(chosen, head)
        for task in others:
            for server in world.servers:
                if not server.takes(task):
                    continue
                if server is chosen and not self.in_time(world, task, server, start):
                    both = [min(server.left(device), left) for device, left in enumerate(lefts)]
                    devices = server.devices_for(task, both)
                    if devices is None or not within(task.demand, beside):
                        continue
                    beside = add(beside, task.demand, -1)
                    for device in devices:
                        lefts[device] -= part_of(server, task)
                    world.start(task, server, devices=devices)
                    break
                world.start(task, server)
                break

    def in_time(self, world: World, task: Task, server: Server, start: int) -> bool:
        return world.slot + expected_stay(world, task, server) <= start


class Conservative(Backfilling):
    """The first `depth` that do not start have reservations, in queue order; all others start if they delay none."""

    def __init__(self, *, depth: int = 100, order: str = "fcfs", formula: Formula | None = None) -> None:
        super().__init__(order=order, formula=formula)
        self.depth = depth

    def place(self, world: World) -> None:
        taken: list[tuple[Server, int, int, Task, tuple[int, ...]]] = []  # reservations: server, first slot, end, task, devices

        def free(server: Server, slot: int) -> Vector:
            left = free_in(world, server, slot)
            for reserved, first, end, task, _ in taken:
                if reserved is server and first <= slot < end:
                    left = add(left, task.demand, -1)
            return left

        def lefts(server: Server, slot: int) -> list[int]:
            left = lefts_in(world, server, slot)
            for reserved, first, end, task, devices in taken:
                for device in devices if reserved is server and first <= slot < end else ():
                    left[device] -= part_of(server, task)
            return left

        def devices_at(task: Task, server: Server, slot: int) -> tuple[int, ...] | None:
            slots = self.looked_at(slot, expected_stay(world, task, server))
            return server.devices_for(task, [min(left) for left in zip(*(lefts(server, t) for t in slots), strict=True)])

        def has_room(task: Task, server: Server, slot: int) -> bool:
            stay = expected_stay(world, task, server)
            inside = all(within(task.demand, free(server, t)) for t in self.looked_at(slot, stay))
            return inside and devices_at(task, server, slot) is not None

        def reserve_all(gang: list[Task], slot: int) -> bool:
            """Reserve room for all of a gang from a slot on, in row order on the first server with room; or for none."""
            for n, task in enumerate(gang):
                able = [server for server in world.servers if server.could_take(task) and has_room(task, server, slot)]
                if not able:
                    del taken[len(taken) - n :]
                    return False
                end = slot + expected_stay(world, task, able[0])
                taken.append((able[0], slot, end, task, devices_at(task, able[0], slot) or ()))
            return True

        kept = 0
        for task in self.line(world):
            gang = gang_of(world, task)
            if len(gang) > 1:
                if reserve_all(gang, world.slot):
                    now = [taken.pop() for _ in gang]
                    for server, _, _, each, devices in reversed(now):
                        world.start(each, server, devices=devices)
                elif kept < self.depth:
                    ends = {expected_end(world, job) for server in world.servers for job in server.running}
                    changes = ends | {slot for _, first, end, _, _ in taken for slot in (first, end)}
                    kept += any(reserve_all(gang, slot) for slot in sorted(changes) if slot > world.slot)
                continue
            could = [server for server in world.servers if server.could_take(task)]
            able = [server for server in could if has_room(task, server, world.slot)]
            if able:
                world.start(task, able[0], devices=devices_at(task, able[0], world.slot))
            elif kept < self.depth and could:
                slot = world.slot + 1
                while not (able := [server for server in could if has_room(task, server, slot)]):
                    slot += 1
                devices = devices_at(task, able[0], slot) or ()
                taken.append((able[0], slot, slot + expected_stay(world, task, able[0]), task, devices))
                kept += 1

    def looked_at(self, slot: int, stay: int) -> range:
        return range(slot, slot + stay)


class Reserve(Backfilling):
    """BF-J/S; a server is kept for a job that has waited for more than `age` slots, until it starts."""

    def __init__(self, *, age: int = 1000) -> None:
        super().__init__()
        self.age = age
        self.kept: dict[int, Task] = {}  # server -> for which task
        self.at: dict[int, int] = {}  # row of a task of a gang -> the server kept for it

    def place(self, world: World) -> None:
        from tests.reference.policies import fill_each_server, place_each_gang, place_each_job, slack

        def free_servers() -> list[Server]:
            return [server for server in world.servers if server.index not in self.kept]

        for index, task in sorted(self.kept.items()):
            if not alone(world, task):
                if task in world.waiting:
                    self.start_where_kept(world, task)
            elif world.servers[index].takes(task):
                del self.kept[index]
                world.start(task, world.servers[index])
        for task in list(world.waiting):
            if not alone(world, task):
                late = task in world.waiting and world.slot - world.outcome.eligible[task.row] > self.age
                if late and leads(world, task) and task not in self.kept.values() and len(free_servers()):
                    if self.keep_servers(world, task, free_servers()):
                        self.start_where_kept(world, task)
                    elif self.kept:
                        break
                continue
            if world.slot - world.outcome.eligible[task.row] <= self.age or task in self.kept.values():
                continue
            could = [server for server in free_servers() if server.could_take(task)]
            if could:
                server = max(could, key=lambda s: (slack(s) if world.resources > 1 else s.residual[0], -s.index))
                if server.takes(task):
                    world.start(task, server)
                else:
                    self.kept[server.index] = task
        place_each_gang(world, free_servers())
        fill_each_server(world, [server for server in world.vacated if server in free_servers()])
        place_each_job(world, [task for task in world.newcomers if task in world.waiting], free_servers())
        while elsewhere := sorted(index for index, task in self.kept.items() if task not in world.waiting):
            del self.kept[elsewhere[0]]
            fill_each_server(world, [world.servers[elsewhere[0]]])

    def keep_servers(self, world: World, head: Task, free: list[Server]) -> bool:
        """Keep servers of most room for a gang, each for as many of its tasks, in row order, as it holds when empty."""
        from tests.reference.policies import slack

        chosen: list[Server] = []
        empty: Server | None = None
        for task in gang_of(world, head):
            if empty is None or not empty.takes(task):
                could = [server for server in free if server not in chosen and server.could_take(task)]
                if not could:
                    return False
                server = max(could, key=lambda s: (slack(s) if world.resources > 1 else s.residual[0], -s.index))
                chosen.append(server)
                empty = Server(server.index, server.capacity, devices=server.devices)
            devices = empty.devices_for(task)
            assert devices is not None
            empty.running.append(Running(task.row, task.demand, 0, 0, devices, task.share))
            self.at[task.row] = empty.index
        self.kept |= {server.index: head for server in chosen}
        return True

    def start_where_kept(self, world: World, head: Task) -> None:
        """Start a gang if each of its tasks has room where it would be."""

        def there(task: Task) -> Server | None:
            server = world.servers[self.at[task.row]]
            return server if server.takes(task) else None

        start_together(world, gang_of(world, head), there)
