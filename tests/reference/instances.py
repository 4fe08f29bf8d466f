"""Small random instances that provoke what exact agreement depends on: ties, boundaries, tiny jobs, odd servers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

import packenv
from packenv.jobs import Jobs, Ragged
from packenv.units import UNIT
from packenv.workloads.servers import Servers
from tests.reference.gangs import first_fit, places_for
from tests.reference.model import Scale, Server, World
from tests.reference.table import NO_DEVICES, Devices, Initial, Network, Task, Vector

SIZES = ("ties", "boundaries", "tiny", "mixed", "equal")
SERVERS = ("one", "equal", "powers", "odd")
FREE = Network()
KINDS = ("A10", "T4", "V100")  # of devices


@dataclass(frozen=True)
class Instance:
    tasks: list[Task]
    capacities: list[Vector]
    initial: list[Initial]
    slots: int | None  # None: drain
    network: Network = FREE
    devices: list[Devices] = field(default_factory=list)  # of the servers; none if they have none


def to_servers(instance: Instance) -> Servers:
    """The same for the fast simulator."""
    capacity = np.array(instance.capacities) / UNIT
    rows = [(own.number, own.whole, own.kind) for own in instance.devices]
    return Servers(capacity, np.array(rows), KINDS) if rows else Servers(capacity)


def to_network(instance: Instance) -> packenv.Network | None:
    """The same for the fast simulator, of slots that last a second; None where no task says where its data lie."""
    network = instance.network
    if not any(task.home for task in instance.tasks):
        return None
    amounts = (tuple(units / UNIT for units in taken) for taken in (network.reading, network.serving))
    return packenv.Network(network.racks or 0, network.same_rack, network.steps, *amounts)


def to_jobs(instance: Instance) -> Jobs:
    """The same table for the fast simulator."""
    tasks = instance.tasks
    has_predecessors = any(task.predecessors for task in tasks)
    has_jobs, has_values = tasks[0].job is not None, tasks[0].value is not None
    return Jobs(
        arrival=np.array([task.arrival for task in tasks], dtype=np.int64),
        demand=np.array([task.demand for task in tasks], dtype=np.int64).reshape(len(tasks), len(instance.capacities[0])),
        service=np.array([task.service for task in tasks], dtype=np.int64),
        job=np.array([task.job for task in tasks], dtype=np.int64) if has_jobs else None,
        phase=np.array([task.phase for task in tasks], dtype=np.int64) if any(task.phase for task in tasks) else None,
        value=np.array([task.value for task in tasks], dtype=np.float64) if has_values else None,
        predecessors=Ragged.of([list(task.predecessors) for task in tasks]) if has_predecessors else None,
        tenant=np.array([task.tenant for task in tasks], dtype=np.int64) if tasks[0].tenant is not None else None,
        estimate=np.array([task.estimate for task in tasks], dtype=np.float64) if tasks[0].estimate is not None else None,
        home=Ragged.of([list(task.home) for task in tasks]) if any(task.home for task in tasks) else None,
        remote_overhead=np.array([task.overhead for task in tasks], dtype=np.int64) if any(task.home for task in tasks) else None,
        devices=np.array([(t.devices, t.share, sum(1 << kind for kind in t.kinds)) for t in tasks]) if instance.devices else None,
        device_kinds=KINDS if instance.devices else (),
        gang=np.array([task.gang for task in tasks]) if any(task.gang >= 0 for task in tasks) else None,
    )


def random_instance(
    rng: random.Random,
    *,
    resources: int = 1,
    servers: str | Sequence[Vector] | None = None,
    kind: str | None = None,
    tasks: int | None = None,
    predecessors: bool | None = None,
    initial: bool | None = None,
    drain: bool | None = None,
    jobs: bool = False,
    placed: bool | None = None,
) -> Instance:
    """`kind` is one of SIZES, `servers` one of SERVERS or the capacities; whatever is None is drawn.

    `jobs`: tasks belong to jobs with phases and values. `placed`: their data lie on some servers, and the network changes;
    None: sometimes so if they belong to jobs.

    Every task fits some empty server, in every resource and by its scalar size.
    """
    kind = rng.choice(SIZES) if kind is None else kind
    servers = rng.choice(SERVERS) if servers is None else servers
    capacities = random_capacities(rng, servers, resources) if isinstance(servers, str) else list(servers)
    demands = DemandLaw(rng, capacities, kind)
    n = rng.choice([rng.randint(20, 60), rng.randint(20, 60), rng.randint(1, 12)]) if tasks is None else tasks
    arrivals = random_arrivals(rng, n)
    service = ServiceLaw(rng)
    linked = rng.random() < 0.3 if predecessors is None else predecessors
    table = []
    for row in range(n):
        before = tuple(sorted(rng.sample(range(row), k=min(row, rng.randint(1, 2))))) if linked and rng.random() < 0.4 else ()
        table.append(Task(row, arrivals[row], demands.draw(), service.draw(), before))
    if jobs:
        table = dressed(rng, random_jobs(rng, table))
    placed = jobs and rng.random() < 0.5 if placed is None else placed
    if placed:
        table = with_homes(rng, table, len(capacities))
    loaded = rng.random() < 0.3 if initial is None else initial
    in_service = random_initial(rng, capacities, demands) if loaded else []
    drained = rng.random() < 0.7 if drain is None else drain
    slots = None if drained else rng.randint(1, max(arrivals) + 10)
    return Instance(table, capacities, in_service, slots, random_network(rng, len(capacities)) if placed else FREE)


def with_devices(rng: random.Random, instance: Instance) -> Instance:
    """The same with devices, whose sum is one resource more: tasks with a share, whole ones, none, of some kinds or all.

    Every task fits some empty server. What is in service at the start has no device.
    """
    whole = rng.choice([2, 3, 12])
    owned = [Devices(rng.choice([0, 1, 2, 4]), whole, rng.choice([-1, 0, 0, 1, 2])) for _ in instance.capacities]
    owned[0] = Devices(rng.choice([2, 3, 8]), whole, 1)
    tasks = []
    for task in instance.tasks:
        able = [Server(0, capacity).fits(task.demand) for capacity in instance.capacities]
        home = rng.choice([own for own, fits in zip(owned, able, strict=True) if fits])
        number, share = min(home.number, rng.choice([0, 1, 1, 1, 2, 4])), 0
        if number == 1 and rng.random() < 0.7:
            share = rng.randint(1, whole)
        kinds = tuple(sorted({home.kind, rng.randrange(3)})) if home.kind >= 0 and rng.random() < 0.3 else ()
        amount = number * UNIT if share == 0 else share * UNIT // whole
        tasks.append(replace(task, demand=(*task.demand, amount), devices=number, share=share, kinds=kinds))
    capacities = [(*capacity, own.number * UNIT) for capacity, own in zip(instance.capacities, owned, strict=True)]
    initial = [replace(job, demand=(*job.demand, 0)) for job in instance.initial]
    return replace(instance, tasks=tasks, capacities=capacities, initial=initial, devices=owned)


def with_gangs(rng: random.Random, instance: Instance) -> Instance:
    """The same with gangs of up to six tasks, most of them alike, that all fit on empty servers."""
    servers = [Server(n, c, devices=d) for n, (c, d) in enumerate(zip_longest(instance.capacities, instance.devices))]
    for server in servers:
        server.devices = server.devices or NO_DEVICES
    tasks, row = list(instance.tasks), 0
    while row < len(tasks):
        size, first, alike = rng.choice([1, 1, 2, 3, 6]), tasks[row], rng.random() < 0.7
        members = [replace(first, row=task.row) if alike else task for task in tasks[row : row + size]]
        members = [replace(task, arrival=first.arrival, gang=row) for task in members]
        while places_for(World(tasks, instance.capacities, []), members, first_fit(servers)) is None:
            members.pop()
        if len(members) > 1 or rng.random() < 0.3:
            tasks[row : row + len(members)] = members
        row += len(members)
    return replace(instance, tasks=tasks)


def random_jobs(rng: random.Random, tasks: list[Task]) -> list[Task]:
    """The same tasks, of a few jobs or many; phases of a job go up from row to row, some of several tasks, some left out."""
    names = rng.sample(range(99), k=rng.randint(1, max(1, len(tasks) // rng.choice([1, 3, 8]))))
    values = {name: float(rng.randint(1, 5)) for name in names}
    phase = dict.fromkeys(names, 0)
    steps = rng.choice([(0,), (0, 1), (1,), (0, 0, 0, 1, 3)])
    table = []
    for task in tasks:
        name = rng.choice(names)
        phase[name] += rng.choice(steps)
        table.append(replace(task, job=name, phase=phase[name], value=values[name]))
    return table


def with_homes(rng: random.Random, tasks: list[Task], servers: int) -> list[Task]:
    """The same tasks, their data on one server, some, or none."""
    most = rng.randint(1, min(3, servers))
    homes = [tuple(rng.sample(range(servers), k=rng.randint(0, most))) for _ in tasks]
    return [replace(task, home=home, overhead=rng.randint(0, 9)) for task, home in zip(tasks, homes, strict=True)]


def random_network(rng: random.Random, servers: int) -> Network:
    """Racks of one server or several, or none; better and worse over time, or the same."""
    racks = tuple(rng.randrange(max(1, servers // 2) + 1) for _ in range(servers)) if rng.random() < 0.6 else ()
    times = sorted(rng.sample(range(60), k=rng.choice([0, 0, 1, 3])))
    return Network(racks, rng.choice([0.0, 0.25, 0.5, 1.0]), tuple((slot, rng.choice([0.0, 0.3, 2.0, 5.0])) for slot in times))


def dressed(rng: random.Random, tasks: list[Task]) -> list[Task]:
    """The same tasks with, or without: tenants, wrong estimates."""
    tenants, wrong = (rng.random() < 0.5 for _ in range(2))
    tenant = {task.job: rng.randint(0, 3) for task in tasks}
    return [
        replace(
            task,
            tenant=tenant[task.job] if tenants else None,
            estimate=task.service * rng.choice([0.3, 1, 1, 2.5]) if wrong else None,
        )
        for task in tasks
    ]


def random_capacities(rng: random.Random, style: str, resources: int) -> list[Vector]:
    """One server has the most of every resource, so that what fits a largest server fits one that exists."""
    if style == "one":
        return [(UNIT,) * resources]
    if style == "equal":
        whole = tuple(UNIT * rng.choice([1, 1, 2, 10]) for _ in range(resources))
        return [whole] * rng.randint(2, 3)
    if style == "powers":
        ratios: list[tuple[int, int]] = [(1, 1), (1, 2), (1, 4), (1, 8)]
        top = UNIT
    else:
        ratios = [(3, 4), (5, 7), (2, 3), (1, 3), (1, 1), (99, 100)]
        top = rng.choice([UNIT, 2 * UNIT, 7 * UNIT // 3 + 1])
    capacities = [(top,) * resources]
    for _ in range(rng.randint(1, 3)):
        ratio, same = rng.choice(ratios), rng.random() < 0.5  # sometimes the same ratio in all resources
        picks = [ratio if same else rng.choice(ratios) for _ in range(resources)]
        if resources > 1 and rng.random() < 0.2:
            picks[rng.randrange(resources)] = (0, 1)  # a server without one of the resources
        capacities.append(tuple(top * a // b for a, b in picks))
    rng.shuffle(capacities)
    return capacities


class DemandLaw:
    """Few distinct sizes, chosen to hurt."""

    def __init__(self, rng: random.Random, capacities: Sequence[Vector], kind: str) -> None:
        self.rng, self.capacities, self.kind = rng, capacities, kind
        self.scale = Scale(tuple(max(c[r] for c in capacities) for r in range(len(capacities[0]))))
        distinct = 1 if kind == "equal" else rng.choice([2, 3, 5, 12])
        self.values = [self.fresh() for _ in range(distinct)]

    def draw(self) -> Vector:
        return self.fresh() if self.kind == "mixed" else self.rng.choice(self.values)

    def fresh(self) -> Vector:
        while True:
            demand = tuple(self.amount(r) for r in range(len(self.scale.largest)))
            if any(demand) and any(self.fits(demand, capacity) for capacity in self.capacities):
                return demand

    def fits(self, demand: Vector, capacity: Vector) -> bool:
        inside = all(d <= c for d, c in zip(demand, capacity, strict=True))
        return inside and self.scale.size(demand) <= self.scale.capacity(capacity)

    def amount(self, resource: int) -> int:
        rng, largest = self.rng, self.scale.largest[resource]
        if len(self.scale.largest) > 1 and rng.random() < 0.25:
            return 0
        capacity = rng.choice([c[resource] for c in self.capacities]) or largest
        kind = rng.choice(["ties", "boundaries", "tiny"]) if self.kind == "mixed" else self.kind
        if kind == "boundaries":  # 2^-m and 2/3 2^-m of some server, and one unit to either side
            m = rng.choice([0, 0, 0, 1, 1, 2, 3, 4])
            boundary = (capacity >> m) if rng.random() < 0.5 else 2 * capacity // (3 << m)
            return max(1, min(capacity, boundary + rng.choice([-1, 0, 0, 1])))
        if kind == "tiny" and rng.random() < 0.6:
            return max(1, (capacity >> rng.randint(2, 7)) - rng.choice([0, 0, 1, 1000]))
        if rng.random() < 0.2:
            return rng.randint(1, capacity)
        return max(1, largest * rng.randint(1, 12) // 12)


def random_arrivals(rng: random.Random, n: int) -> list[int]:
    """A backlog at slot 0, bursts with long gaps, or a few per slot."""
    style = rng.choice(["backlog", "bursts", "steady", "late"])
    if style == "backlog":
        return [0] * n
    if style == "bursts":
        bursts = sorted(rng.sample(range(40), k=rng.randint(1, 5)))
        return sorted(rng.choice(bursts) for _ in range(n))
    span = max(1, n * rng.choice([1, 2, 4]) // 4)
    first = 300 if style == "late" and rng.random() < 0.2 else 0
    return sorted(first + rng.randrange(span) for _ in range(n))


@dataclass
class ServiceLaw:
    """Fixed or geometric."""

    rng: random.Random

    def __post_init__(self) -> None:
        self.mean = self.rng.choice([1, 2, 5, 12, 30])
        self.fixed = self.rng.random() < 0.5

    def draw(self) -> int:
        if self.fixed:
            return self.mean
        slots = 1
        while self.rng.random() > 1 / self.mean:
            slots += 1
        return slots


def random_initial(rng: random.Random, capacities: Sequence[Vector], demands: DemandLaw) -> list[Initial]:
    """Jobs put at random where they fit, in every resource and by scalar size."""
    scale, placed = demands.scale, list[Initial]()
    for _ in range(rng.randint(1, 6)):
        demand, server = demands.draw(), rng.randrange(len(capacities))
        here = [job.demand for job in placed if job.server == server] + [demand]
        together = tuple(sum(column) for column in zip(*here, strict=True))
        real = all(d <= c for d, c in zip(together, capacities[server], strict=True))
        if real and sum(scale.size(d) for d in here) <= scale.capacity(capacities[server]):
            placed.append(Initial(demand, server, rng.randint(1, 15)))
    return placed
