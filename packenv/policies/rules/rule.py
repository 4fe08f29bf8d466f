"""The policy that follows a rule `priority(task, server, cluster)`: BF-J/S's loop, with the rule in place of best fit.

A server on which tasks completed is filled: of the waiting tasks that fit, the one of the highest priority starts, until none
fits. Then each new task that still waits goes to the server of the highest priority on which it fits. Of equal priorities the
larger task goes first, to the tighter server; of tasks that are alike the one that waits longest. With best fit's priority,
`task.size - server.room`, this is BF-J/S start by start. After each slot no waiting task fits on any server.

The loop is compiled once for all rules. A rule is compiled alone, in some tenths of a second, and called through its address.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster import (
    BY_DEMAND,
    BY_INDEX,
    BY_SIZE,
    NONE,
    Cluster,
    Needs,
    eligible_since,
    first_of_group,
    first_server,
    fits,
    free_share,
    freed_count,
    freed_server,
    group_count,
    largest_fitting,
    may_fit,
    new_count,
    new_task,
    now,
    place,
    room_of,
    server_count,
    size_of,
    waiting,
)
from packenv.cluster.best_fit import precedes
from packenv.cluster.sorted_keys import WIDTH
from packenv.cluster.state import ROW_BITS
from packenv.compiled.by_address import NotCompilable, address_of, call_address
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame
from packenv.compiled.intrinsics import move, natural
from packenv.errors import InputError
from packenv.inputs.numbers import read_number
from packenv.policies.rules import pairing
from packenv.policies.rules.language import MATHEMATICS, MOST_ROUNDS, checked, read_rule
from packenv.policy import Setting, schedules, takes_over
from packenv.policy_names import RuleFile, check_parameters

task_type = np.dtype([("size", "f8"), ("age", "f8")])
server_type = np.dtype([("room", "f8"), ("capacity", "f8"), ("jobs", "i8"), ("index", "i8"), ("kind", "i8")])
cluster_type = np.dtype(
    [
        *(("servers", "i8"), ("resources", "i8"), ("waiting", "i8"), ("waiting_size", "f8"), ("in_service", "i8")),
        *(("free", "f8"), ("share", "f8")),  # share: of the largest server, per unit
    ]
)
WAITING, RANK, SHIFT = 0, 1, 2
BUCKETS = 512
LOOKED_AT = 128
"""Where more tasks fit than this, so many are looked at, at equal distances in the order of size; all sizes that several have."""


class View(Frame):
    """What a rule sees: the task, the server and the cluster in shares of the largest server, and what its functions read."""

    task: NDArray[np.void]  # (1,)
    server: NDArray[np.void]  # (1,)
    cluster: NDArray[np.void]  # (1,)
    task_demand: NDArray[np.float64]  # (D,)
    server_free: NDArray[np.float64]  # (D,)
    server_capacities: NDArray[np.float64]  # (D,)
    totals: NDArray[np.float64]  # (D,) units: capacity of the whole cluster
    sizes: NDArray[np.int32]  # (places + WIDTH,) units, ascending: of the waiting tasks
    counts: NDArray[
        np.int64
    ]  # (3,) how many sizes there are; the place in them of the task at hand; a size >> SHIFT is its bucket
    below: NDArray[np.int32]  # (BUCKETS + 1,) how many sizes lie in lower buckets, where the rule reads sizes
    parameters: NDArray[np.float64]  # (K,) of the rule


class ByAddress(NamedTuple):
    """What compiled code knows of a rule: its machine code, and whether it reads ages, or the sizes that wait."""

    address: int
    reads_age: int
    reads_sizes: int

    def __reduce__(self) -> Any:
        """In another process the machine code lies elsewhere."""
        return by_address, sources[self.address]


class PriorityRule(NamedTuple):
    """Starts first what a rule of one function, `priority(task, server, cluster)`, gives the highest number."""

    source: str  # the text of the file
    file: str = "priority.py"  # what errors and tables call it
    function: str = "priority"
    parameters: tuple[float, ...] = ()  # of the function, behind `cluster`; empty: their defaults

    @property
    def rule(self) -> ByAddress:
        return by_address(self.source, self.file, self.function)

    @property
    def name(self) -> str:
        """FILE:FUNCTION, and the parameters that differ from their defaults."""
        defaults = checked(self.source, self.file, self.function).parameters.items() if self.parameters else ()
        changed = [f"{key}={new:g}" for (key, old), new in zip(defaults, self.parameters, strict=True) if new != old]
        return ":".join([self.file, self.function, *([",".join(changed)] if changed else [])])

    def needs(self, setting: Setting) -> Needs:
        vectors = setting.capacity.shape[1] > 1
        orders = (BY_DEMAND | (BY_SIZE if self.rule.reads_sizes else 0)) if vectors else BY_SIZE | BY_INDEX
        return Needs(orders=orders, vectors=vectors, devices=vectors)

    def initial_state(self, setting: Setting, seed: int) -> View:
        values = self.parameters or tuple(checked(self.source, self.file, self.function).parameters.values())
        return new_view(setting.capacity.shape[1], np.array(values, np.float64))

    def attach(self, cluster: Cluster, state: View) -> View:
        """Room for the sizes of as many tasks as the cluster has places."""
        totals = cluster.capacity.sum(axis=0).astype(np.float64)
        return state.replace(sizes=np.zeros(cluster.task.shape[1] + WIDTH, np.int32), totals=totals)


def new_view(resources: int, parameters: NDArray[np.float64]) -> View:
    vectors = {name: np.zeros(resources) for name in ("task_demand", "server_free", "server_capacities", "totals")}
    return View(
        task=np.zeros(1, task_type),
        server=np.zeros(1, server_type),
        cluster=np.zeros(1, cluster_type),
        sizes=np.zeros(WIDTH, np.int32),
        counts=np.zeros(3, np.int64),
        below=np.zeros(BUCKETS + 1, np.int32),
        parameters=parameters,
        **vectors,
    )


def find_rule(named: RuleFile, text: str) -> PriorityRule:
    """The rule of a file, with the parameters of the text that names it. Raises InputError."""
    source, rule = read_rule(named.file, named.function)
    values = dict(rule.parameters)
    for part in filter(None, named.parameters.split(",")):
        key, _, value = part.partition("=")
        check_parameters(text, key, [*values])
        try:
            values[key] = read_number(value)
        except ValueError:
            raise InputError(f"policy {text!r}: {key} must be a number, not {value!r}") from None
    return PriorityRule(source, named.file, named.function, tuple(values.values()) if named.parameters else ())


class Pairing(NamedTuple):
    """Best fit that looks ahead, and at what waits: sizes of which many wait, and many partners that fill a server with them."""

    @property
    def rule(self) -> ByAddress:
        return of_module(pairing).rule

    def needs(self, setting: Setting) -> Needs:
        return of_module(pairing).needs(setting)

    def initial_state(self, setting: Setting, seed: int) -> View:
        return of_module(pairing).initial_state(setting, seed)

    def attach(self, cluster: Cluster, state: View) -> View:
        return of_module(pairing).attach(cluster, state)


@functools.cache
def of_module(module: ModuleType) -> PriorityRule:
    """The rule in a module of packenv, which says what it does, and why. It is imported so that its text counts as code."""
    file = Path(str(module.__file__))
    return PriorityRule(file.read_text(encoding="utf-8"), file.name)


# Rules: from a text to the address of machine code.


sources: dict[int, tuple[str, str, str]] = {}
"""The text, the file and the function of each rule that this process has compiled, by its address."""


@functools.cache
def by_address(source: str, file: str, function: str) -> ByAddress:
    """Compile a rule. Raises InputError, with file and line, for one that the compiler does not take."""
    rule = checked(source, file, function)
    names = dict(LANGUAGE)
    exec(compile(rule.tree, file, "exec"), names)  # definitions and constants alone: `checked` has seen to that
    functions = [names[node.name] for node in rule.tree.body if isinstance(node, ast.FunctionDef) and node.name != function]
    view = new_view(1, np.zeros(0))
    try:
        address = address_of([*functions, names[function]], (view.task, view.server, view.cluster, view))
    except NotCompilable as error:
        raise InputError(f"{file}:{error.line}: this cannot be compiled: {error}") from None
    sources[address] = source, file, function
    reads_sizes = not rule.reads.isdisjoint({"cluster.waiting_between", "cluster.room_after"})
    return ByAddress(address, int("task.age" in rule.reads), int(reads_sizes))


# The functions that a rule may call. Sizes in shares of the largest server.


@apart
def _waiting_between(v: View, low: float, high: float) -> float:
    """How many other waiting tasks have a size from low to high."""
    least, most = in_units(v, low, True), in_units(v, high, False)
    count = count_up_to(v, most) - count_up_to(v, least - 1)
    if count <= 0:
        return 0.0
    size = v.sizes[natural(v.counts[RANK])]
    return float(count - (least <= size <= most))


@apart
def _room_after(v: View, room: float, tasks: float) -> float:
    """What is left of `room` after so many more waiting tasks, each the largest that fits, other than the task at hand."""
    left, below, place = in_units(v, room, False), v.counts[WAITING], v.counts[RANK]
    taken = 0
    for _ in range(int(min(max(tasks, 0.0), float(MOST_ROUNDS)))):
        largest = min(count_up_to(v, left - taken), below) - 1
        if largest == place:
            largest -= 1
        if largest < 0:
            break
        below = largest
        taken += v.sizes[natural(largest)]
    return max(room - taken * v.cluster[0].share, min(room, 0.0))  # not below 0 by an error of floating-point numbers


@compiled
def in_units(v: View, share: float, up: bool) -> int:
    """A share of the largest server in units, rounded down or up, but for the errors of floating-point numbers."""
    units = share / v.cluster[0].share
    if not units > -1.0:
        return -1
    if units > 2.0**31 - 2:
        return 2**31 - 2
    return int(np.ceil(units - 1e-4)) if up else int(np.floor(units + 1e-4))


@compiled
def count_up_to(v: View, size: int) -> int:
    """How many waiting tasks have at most this size, in units."""
    sizes, count, rest = v.sizes, 0, v.counts[WAITING]
    if v.counts[SHIFT]:
        bucket = max(size, 0) >> v.counts[SHIFT]
        if bucket >= BUCKETS:
            return rest
        count = v.below[natural(bucket)]
        rest = v.below[natural(bucket + 1)] - count
    while rest > 0:
        half = (rest + 1) >> 1
        count += half * (sizes[natural(count + half - 1)] <= size)  # no branch: it could not be predicted
        rest -= half
    return count


@compiled
def _of_resource(values: NDArray[np.float64], resource: int) -> float:
    """An amount of one resource."""
    if not 0 <= resource < values.shape[0]:
        raise ValueError("a rule asks for a resource that the cluster does not have: they are numbered from 0")
    return values[int(resource)]


@compiled
def _rounds(first: int, end: int) -> int:
    """The end of a loop, which must not be long."""
    if end - first > MOST_ROUNDS:
        raise ValueError("a rule has a loop of more than 1,000 rounds")
    return end


LANGUAGE: dict[str, Any] = {
    **{f"_{name}": getattr(np, name, None) or pow for name in MATHEMATICS},
    **{"_abs": abs, "_min": min, "_max": max, "_int": int, "_float": float, "_round": round, "_pow": pow, "range": range},
    **{"_waiting_between": _waiting_between, "_room_after": _room_after, "_of_resource": _of_resource, "_rounds": _rounds},
    "__builtins__": {},
}
"""What the names in a checked rule stand for."""


# The loop.


@schedules(ByAddress)
def schedule_by_priority(policy: ByAddress, cluster: Cluster, state: View) -> None:
    if waiting(cluster) > 0 and freed_count(cluster) + new_count(cluster) > 0:
        start_by_priority(cluster, state, policy.address, policy.reads_age, policy.reads_sizes)


@takes_over(ByAddress)
def fill_all(policy: ByAddress, cluster: Cluster, state: View) -> None:
    """Fill all servers once. Later slots fill only servers with completions, so no waiting task may fit on any other."""
    if waiting(cluster) > 0:
        begin(cluster, state, policy.reads_sizes)
        for server in range(server_count(cluster)):
            fill_by_priority(cluster, state, server, policy.address, policy.reads_age)


@apart
def start_by_priority(c: Cluster, v: View, address: int, reads_age: int, reads_sizes: int) -> None:
    """Fill the servers that had completions, then find servers for the new tasks that are left."""
    begin(c, v, reads_sizes)
    for n in range(freed_count(c)):
        fill_by_priority(c, v, freed_server(c, n), address, reads_age)
    for n in range(new_count(c)):
        i = new_task(c, n)
        if i != NONE and may_fit(c, i):
            server = server_by_priority(c, v, i, address, reads_age)
            if server != NONE:
                start(c, v, i, server)


@compiled
def begin(c: Cluster, v: View, reads_sizes: int) -> None:
    """Write what stays the same during a slot, and the sizes of the waiting tasks in ascending order."""
    record = v.cluster[0]
    record.servers, record.resources, record.share = server_count(c), c.capacity.shape[1], 1.0 / largest_capacity(c)
    v.counts[WAITING] = v.counts[RANK] = 0
    if c.orders & BY_SIZE:
        n = 0
        for k in range(c.sizes.used[c.e]):
            block = c.sizes.block[c.e, k]
            keys = c.sizes.keys[c.e, natural(block.storage)]
            for q in range(WIDTH):  # the whole block: the next one overwrites what is not in use
                v.sizes[natural(n + q)] = keys[q] >> ROW_BITS
            n += block.count
        v.counts[WAITING] = n
        v.counts[SHIFT] = 0
        if reads_sizes:
            fill_buckets(c, v)


@compiled
def fill_buckets(c: Cluster, v: View) -> None:
    """Count the sizes below each bucket: a rule asks for numbers of tasks several times for every task."""
    shift = 1
    while largest_capacity(c) >> shift >= BUCKETS:
        shift += 1
    v.counts[SHIFT] = shift
    bucket = 0
    for k in range(v.counts[WAITING]):
        own = v.sizes[natural(k)] >> shift
        while bucket <= own:
            v.below[natural(bucket)] = k
            bucket += 1
    while bucket <= BUCKETS:
        v.below[natural(bucket)] = v.counts[WAITING]
        bucket += 1


@compiled
def largest_capacity(c: Cluster) -> int:
    """Units of scalar size that the largest server has."""
    most = 0
    for r in range(c.scale.shape[0]):
        most = max(most, c.scale[r])
    return most


@apart
def fill_by_priority(c: Cluster, v: View, server: int, address: int, reads_age: int) -> None:
    """Start on one server the task with the highest priority, until none fits."""
    i = task_by_priority(c, v, server, address, reads_age)
    while i != NONE:
        start(c, v, i, server)
        i = task_by_priority(c, v, server, address, reads_age)


@compiled
def start(c: Cluster, v: View, i: int, server: int) -> None:
    """Start task i, whose size leaves those that wait."""
    if v.counts[WAITING] > 0:
        place_in_order = count_up_to(v, size_of(c, i)) - 1
        v.counts[WAITING] -= 1
        if v.counts[SHIFT]:
            for bucket in range((size_of(c, i) >> v.counts[SHIFT]) + 1, BUCKETS + 1):
                v.below[natural(bucket)] -= 1
        move(v.sizes, place_in_order, place_in_order + 1, v.counts[WAITING] - place_in_order)
    place(c, i, server)


@apart
def task_by_priority(c: Cluster, v: View, server: int, address: int, reads_age: int) -> int:
    """The waiting task with the highest priority of those that fit on this server; NONE if none fits."""
    if waiting(c) == 0:
        return NONE
    if c.orders & BY_DEMAND:
        return group_by_priority(c, v, server, address)
    k = count_up_to(v, room_of(c, server)) - 1
    if k < 0:
        return NONE
    describe_cluster(c, v)
    describe_server(c, v, server)
    step = max(1, k // LOOKED_AT)
    best, highest = NONE, 0.0
    while k >= 0:
        size = v.sizes[natural(k)]
        describe_size(c, v, size, k, reads_age)
        value = called(v, address)
        if best == NONE or value > highest:
            best, highest = size, value
        k = count_up_to(v, size - 1) - 1 if k > 0 and v.sizes[natural(k - 1)] == size else k - step
    return largest_fitting(c, best)


@compiled
def called(v: View, address: int) -> float:
    """The priority of the task at hand on the server at hand."""
    value = call_address(address, v.task[0], v.server[0], v.cluster[0], v)
    if value != value:
        raise ValueError("the priority of a waiting task is not a number (NaN)")
    return value


@compiled
def describe_size(c: Cluster, v: View, size: int, rank: int, reads_age: int) -> None:
    """Write the record of the waiting task of this size that waits longest; `rank`: its place in the order of sizes."""
    v.task[0].size = size * v.cluster[0].share
    v.counts[RANK] = rank
    if v.task_demand.shape[0] == 1:
        v.task_demand[0] = v.task[0].size
    if reads_age:
        v.task[0].age = float(now(c) - eligible_since(c, largest_fitting(c, size)))


@apart
def group_by_priority(c: Cluster, v: View, server: int, address: int) -> int:
    """Several resources: of each group of equal demands, the task that waits longest."""
    describe_cluster(c, v)
    describe_server(c, v, server)
    best, highest = NONE, 0.0
    for n in range(group_count(c)):
        i = first_of_group(c, n)
        if fits(c, i, server):
            describe_task(c, v, i)
            value = called(v, address)
            if best == NONE or value > highest or (value == highest and precedes(c, i, best)):
                best, highest = i, value
    return best


@compiled
def describe_task(c: Cluster, v: View, i: int) -> None:
    """Write the record of waiting task i."""
    v.task[0].size = size_of(c, i) * v.cluster[0].share
    v.task[0].age = float(now(c) - eligible_since(c, i))
    v.counts[RANK] = max(count_up_to(v, size_of(c, i)) - 1, 0)
    if c.demand.shape[1] == 0:
        v.task_demand[0] = v.task[0].size
        return
    for r in range(c.demand.shape[2]):
        v.task_demand[r] = c.demand[c.e, i, r] / max(float(c.scale[r]), 1.0)


@apart
def server_by_priority(c: Cluster, v: View, i: int, address: int, reads_age: int) -> int:
    """The server with the highest priority for task i of those that it fits on; NONE if it fits nowhere."""
    best, highest, server = NONE, 0.0, -1
    while True:
        server = next_that_fits(c, i, server + 1)
        if server == NONE:
            return best
        if best == NONE:
            describe_cluster(c, v)
            describe_task(c, v, i)
        describe_server(c, v, server)
        value = called(v, address)
        if best == NONE or value > highest or (value == highest and tighter(c, server, best)):
            best, highest = server, value


@compiled
def next_that_fits(c: Cluster, i: int, server: int) -> int:
    """The first server of this index or a higher one on which task i fits; NONE if there is none."""
    if not c.orders & BY_DEMAND:
        return first_server(c, size_of(c, i), server)
    while server < server_count(c):
        if fits(c, i, server):
            return server
        server += 1
    return NONE


@compiled
def tighter(c: Cluster, server: int, other: int) -> bool:
    """Whether a server has less free than another."""
    if c.orders & BY_DEMAND:
        return free_share(c, server) < free_share(c, other)
    return room_of(c, server) < room_of(c, other)


@compiled
def describe_cluster(c: Cluster, v: View) -> None:
    """Write the record of the cluster."""
    record, head = v.cluster[0], c.head[c.e]
    record.waiting, record.in_service = head.waiting, head.in_service
    record.waiting_size = head.waiting_size * record.share
    free, resources = 0.0, c.capacity.shape[1]
    for r in range(resources):
        if v.totals[r] > 0:
            free += 1.0 - c.used[c.e, r] / v.totals[r]
    record.free = free / resources


@compiled
def describe_server(c: Cluster, v: View, server: int) -> None:
    """Write the record of a server. With several resources its room is that of the scarcest one."""
    record, known = v.server[0], c.server[c.e, server]
    share = v.cluster[0].share
    record.capacity, record.jobs, record.index, record.kind = known.capacity * share, known.jobs, server, known.kind
    if not c.vectors:
        record.room = known.room * share
        v.server_free[0], v.server_capacities[0] = record.room, record.capacity
        return
    room = record.capacity
    for r in range(c.scale.shape[0]):
        scale = max(float(c.scale[r]), 1.0)
        v.server_free[r], v.server_capacities[r] = c.free[c.e, server, r] / scale, c.capacity[server, r] / scale
        if c.scale[r] > 0:
            room = min(room, v.server_free[r])
    record.room = room
