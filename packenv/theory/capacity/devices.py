"""Bounds on ρ* for servers with devices.

ρ* is the maximum supportable workload (PAPERS §1.2, §7). A shape is a distinct request: a demand, a share of a device or whole
ones, and the accepted kinds. Servers of one kind have the same capacity and the same devices.

Lower bound: the linear program over configurations, sets of shapes that fit a server together, devices included. They are filled
greedily, so better ones may be missing. Upper bound: the linear program over the number of tasks of each shape on each kind of
server. The contents of a server obey each resource and each cut. A cut counts an item larger than 1 − ε of a server (of its
amount of a resource, of its devices, or of one device) as the whole, and one smaller than ε as nothing. Items that fit together
still fit (Martello and Toth 1990, §8.3). So no policy supports more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from packenv.compiled.decorators import compiled
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import counted
from packenv.jobs import HOW_MANY, NUMBER, SHARE, WHOLE, Jobs
from packenv.theory.capacity.bracket import Bounds
from packenv.theory.capacity.linear_program import ConfigurationColumns, ConfigurationProgram, Floats, Ints, ServerKinds, generate
from packenv.workloads.demand import fits_on
from packenv.workloads.devices import KindLoad, kind_loads, kinds_table
from packenv.workloads.servers import Servers
from packenv.workloads.workload import Workload

Bools = NDArray[np.bool_]

MOST_CUTS = 12  # of each resource of each kind of server
NEWS = 16  # configurations of each kind of server that join the program at once
SAFETY = 1e-7  # of the value of a linear program


class DemandShapes(NamedTuple):
    """T distinct demands of tasks, and G server kinds."""

    demand: Ints  # (T, D) units
    need: Ints  # (T, 3) as `Jobs.devices`
    share: Floats  # (T,) of the tasks in service
    capacity: Ints  # (G, D) units
    devices: Ints  # (G, 3) as `Servers.devices`
    number: Ints  # (G,) servers
    allowed: Bools  # (T, G) whether the shape fits a server of the kind


@dataclass(frozen=True, repr=False)
class DeviceBracket(Bounds):
    """lower <= ρ* <= upper in tasks in service, with devices.

    reached  whether (upper - lower) / upper came down to the requested gap
    kinds    for each set of accepted kinds: existing devices, and devices needed at the workload's rate
    """

    lower: float
    upper: float
    reached: bool
    seconds: float
    kinds: tuple[KindLoad, ...]
    workload: Workload = field(compare=False)

    @property
    def title(self) -> str:
        return f"{self.lower:.6g} <= ρ* of {self.workload.name} <= {self.upper:.6g} tasks in service, a gap of {self.gap:.2%}"

    def tables(self) -> list[Table]:
        """Tabulate bounds as tasks and rates, and kinds."""
        workload = self.workload
        title = f"{workload.label} on {counted(len(workload.servers), 'server')}: ρ* with a gap of {self.gap:.2%}"
        bounds = Table(title, [Column(""), *numbers("tasks in service", "tasks per slot")])
        for name, value in (("ρ* at least", self.lower), ("ρ* at most", self.upper)):
            bounds.add(name, f"{value:.6g}", f"{workload.rate_for(value):.6g}")
        offered = workload.rate * workload.mean_service
        bounds.add("offered", f"{offered:.6g}", f"{workload.rate:.6g}")
        return [bounds, kinds_table(self.kinds)]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each set of kinds."""
        return [load._asdict() | {"share": load.share} for load in self.kinds]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.records

    def to_dict(self) -> dict[str, Any]:
        """In plain values, ready for JSON."""
        offered = self.workload.rate * self.workload.mean_service
        return self.bounds_of(self.workload) | {"offered": offered, "seconds": self.seconds, "kinds": self.records}


def device_bracket(workload: Workload, gap: float, seconds: float) -> DeviceBracket:
    """Return bounds on ρ* within about `seconds`."""
    began = time.monotonic()
    jobs, servers = workload.jobs, workload.servers
    assert jobs is not None
    shapes = shapes_of(jobs, servers)
    upper = upper_bound(shapes)
    lower = lower_bound(shapes, upper * (1 - gap), began + seconds)
    loads = kind_loads(jobs, servers, jobs.service.astype(np.float64), float(jobs.arrival[-1]) + 1)
    return DeviceBracket(lower, upper, upper - lower <= gap * upper, time.monotonic() - began, loads, workload)


def shapes_of(jobs: Jobs, servers: Servers) -> DemandShapes:
    """Return a table's shapes with shares, and server kinds."""
    assert jobs.devices is not None and servers.devices is not None
    rows, first, place = np.unique(np.column_stack([jobs.demand, jobs.devices]), axis=0, return_index=True, return_inverse=True)
    mass = np.bincount(place.ravel(), jobs.service.astype(np.float64))
    examples = servers.examples
    same = np.column_stack([servers.units, servers.devices])
    number = [(same == same[server]).all(axis=1).sum() for server in examples.tolist()]
    few = Jobs(
        np.zeros(len(first), np.int64), jobs.demand[first], np.ones(len(first), np.int64),
        devices=jobs.devices[first], device_kinds=jobs.device_kinds, scale=jobs.scale,
    )  # fmt: skip
    allowed = np.stack([fits_on(few, servers, server) for server in examples.tolist()], axis=1)
    d = jobs.resources
    return DemandShapes(
        demand=np.ascontiguousarray(rows[:, :d]),
        need=np.ascontiguousarray(rows[:, d:]),
        share=mass / mass.sum(),
        capacity=servers.units[examples],
        devices=np.ascontiguousarray(servers.devices[examples]),
        number=np.array(number, np.int64),
        allowed=allowed,
    )


def upper_bound(shapes: DemandShapes) -> float:
    """Solve the linear program over shapes and server kinds."""
    pairs = np.argwhere(shapes.allowed)  # (P, 2) shape, kind
    rows: list[Floats] = []
    right: list[float] = []
    for k in range(len(shapes.number)):
        of_kind = pairs[:, 1] == k
        for weights in server_cuts(shapes, k):
            rows.append(np.where(of_kind, weights[pairs[:, 0]], 0.0))
            right.append(float(shapes.number[k]))
    covered = np.zeros((len(shapes.share), len(pairs) + 1))
    covered[pairs[:, 0], np.arange(len(pairs))] = -1.0
    covered[:, -1] = shapes.share
    limits = np.column_stack([np.array(rows).reshape(-1, len(pairs)), np.zeros(len(rows))])
    matrix, room = coo_array(np.vstack([limits, covered])), np.concatenate([right, np.zeros(len(shapes.share))])
    solved = linprog(np.append(np.zeros(len(pairs)), -1.0), A_ub=matrix, b_ub=room, method="highs")
    return float(-solved.fun) * (1 + SAFETY)


def server_cuts(shapes: DemandShapes, k: int) -> list[Floats]:
    """Return weights (T,) of shapes, summing to <= 1 per server."""
    number, full = int(shapes.devices[k, HOW_MANY]), int(shapes.devices[k, WHOLE])
    allowed, count = shapes.allowed[:, k], shapes.need[:, NUMBER]
    amounts = [(shapes.demand[:, r], int(room)) for r, room in enumerate(shapes.capacity[k]) if room > 0]
    of_devices = []
    if number > 0:
        share = np.where(shapes.need[:, SHARE] > 0, shapes.need[:, SHARE], full)
        amounts.append((share * count, number * full))
        of_devices = [count * cut / number for cut in cuts_of(share, full, allowed)]
    plain = [amount / room for amount, room in amounts]
    return [*plain, *(cut for amount, room in amounts for cut in cuts_of(amount, room, allowed)), *of_devices]


def cuts_of(amount: Ints, room: int, allowed: Bools) -> list[Floats]:
    """(T,) 1 above room − ε, 0 below ε, else shares, per cut ε."""
    items = np.unique(amount[allowed & (amount > 0) & (amount < room)])
    ends = np.unique(np.where(2 * items <= room, items, room - items))
    if len(ends) > MOST_CUTS:
        ends = ends[np.linspace(0, len(ends) - 1, MOST_CUTS).round().astype(np.int64)]
    halves = np.where(2 * amount > room, 1.0, np.where(2 * amount == room, 0.5, 0.0))
    return [halves, *(np.where(amount > room - end, 1.0, np.where(amount < end, 0.0, amount / room)) for end in ends.tolist())]


def lower_bound(shapes: DemandShapes, enough: float, deadline: float) -> float:
    """Return the workload of greedily filled configurations."""
    kinds = ServerKinds(np.arange(len(shapes.number)), shapes.number)
    program = ConfigurationProgram(shapes.share, kinds)
    prices = np.asarray((shapes.demand / np.maximum(shapes.capacity.max(axis=0), 1)).sum(axis=1), np.float64)

    room, left = np.zeros_like(shapes.capacity[0]), np.zeros(int(shapes.devices[:, HOW_MANY].max()), np.int64)

    # Columns: a filled server for each shape and kind, the best NEWS of each kind.
    def filled(prices: Floats) -> tuple[Floats, ConfigurationColumns]:
        pairs = np.argwhere(shapes.allowed)
        held = np.zeros((len(pairs), len(prices)), np.int64)
        fill_servers(shapes, prices, pairs, room, left, held)
        values, worth = held @ prices, np.zeros(len(shapes.number))
        np.maximum.at(worth, pairs[:, 1], values)
        order = np.lexsort((-values, pairs[:, 1]))
        place = np.arange(len(pairs)) - np.searchsorted(pairs[order, 1], pairs[order, 1])  # among those of its kind
        best = order if not program.counts else order[place < NEWS]
        return worth, ConfigurationColumns(held[best].astype(np.float64), pairs[best, 1])

    solved = generate(program, filled, prices, lambda value, bound: value >= enough, deadline)
    return solved.value * (1 - SAFETY)


@compiled
def fill_servers(shapes: DemandShapes, prices: Floats, pairs: Ints, room: Ints, left: Ints, held: Ints) -> None:
    """Fill a server per shape and kind, by price per room."""
    demand, need, capacity, devices, allowed = shapes.demand, shapes.need, shapes.capacity, shapes.devices, shapes.allowed
    for n in range(pairs.shape[0]):
        first, k = pairs[n, 0], pairs[n, 1]
        for r in range(room.shape[0]):
            room[r] = capacity[k, r]
        for device in range(left.shape[0]):
            left[device] = devices[k, WHOLE] if device < devices[k, HOW_MANY] else -1
        j = first
        while j >= 0:
            put(demand[j], need[j], devices[k, WHOLE], room, left)
            held[n, j] += 1
            j, most = -1, 0.0
            for i in range(demand.shape[0]):
                if allowed[i, k] and prices[i] > 0:
                    share = share_of_room(demand[i], need[i], devices[k, WHOLE], room, left)
                    if share > 0 and prices[i] / share > most:
                        j, most = i, prices[i] / share


@compiled
def share_of_room(demand: Ints, need: Ints, whole: int, room: Ints, left: Ints) -> float:
    """Return a shape's summed shares of room, or -1."""
    share = 0.0
    for r in range(room.shape[0]):
        if demand[r] > room[r]:
            return -1.0
        if demand[r] > 0:
            share += demand[r] / room[r]
    able = 0
    for device in range(left.shape[0]):
        able += left[device] >= (need[1] if need[1] > 0 else whole)
    return share if able >= need[0] else -1.0


@compiled
def put(demand: Ints, need: Ints, whole: int, room: Ints, left: Ints) -> None:
    """Put a fitting shape on the tightest device, or first free ones."""
    for r in range(room.shape[0]):
        room[r] -= demand[r]
    for _ in range(need[0]):
        best = -1
        for device in range(left.shape[0]):
            holds = left[device] >= (need[1] if need[1] > 0 else whole)
            if holds and (best < 0 or left[device] < left[best]):
                best = device
        left[best] -= need[1] if need[1] > 0 else whole
