"""packenv in 200 lines: one resource, equal servers, three policies, and the compiled simulator next to it.

Read it first. It has the rules of the simulator and no speed. `python examples/mini.py` checks that both start every task in the
same slot on the same server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import packenv

CAPACITY = packenv.UNIT  # resources are integers: whether a task fits is one comparison


@dataclass(frozen=True)
class Task:
    """A row of the Jobs table."""

    row: int
    arrival: int  # slot
    size: int  # units of a server
    service: int  # slots


@dataclass
class Server:
    """A server and the tasks in service on it, with the slot in which each leaves."""

    index: int
    tasks: list[tuple[Task, int]] = field(default_factory=list)
    configuration: dict[int, int] = field(default_factory=dict)  # of VQS-BF: tasks of each type

    @property
    def room(self) -> int:
        return CAPACITY - sum(task.size for task, _ in self.tasks)


@dataclass
class Cluster:
    """What a policy sees, and `start`, which is all that it may do."""

    servers: list[Server]
    slot: int = 0
    waiting: list[Task] = field(default_factory=list)  # in queue order: by slot of arrival, then row
    new: list[Task] = field(default_factory=list)  # arrived in this slot
    freed: list[Server] = field(default_factory=list)  # had a completion in this slot
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)  # row: slot and server

    def start(self, task: Task, server: Server) -> None:
        """Start a waiting task. Raises AssertionError if it has no room."""
        assert task.size <= server.room, f"slot {self.slot}: row {task.row} does not fit on server {server.index}"
        self.waiting.remove(task)
        server.tasks.append((task, self.slot + task.service))
        self.starts[task.row] = self.slot, server.index


Policy = Callable[[Cluster], None]


def simulate(tasks: list[Task], servers: int, policy: Policy, slots: int) -> tuple[dict[int, tuple[int, int]], float]:
    """Run a policy; return the starts, and the mean number of waiting tasks."""
    cluster, total = Cluster([Server(index) for index in range(servers)]), 0
    for cluster.slot in range(slots):
        # Completions: a task that started in slot s with service d leaves at the start of slot s + d.
        cluster.freed = [server for server in cluster.servers if any(end == cluster.slot for _, end in server.tasks)]
        for server in cluster.freed:
            server.tasks = [(task, end) for task, end in server.tasks if end > cluster.slot]
        # Arrivals join the queue in row order.
        cluster.new = [task for task in tasks if task.arrival == cluster.slot]
        cluster.waiting += cluster.new
        # Scheduling: nothing is preempted or split.
        policy(cluster)
        # Measuring.
        total += len(cluster.waiting)
    return cluster.starts, total / slots


# FIFO-FF: the oldest task goes to the first server with room. If there is none, all wait.


def fifo_first_fit(cluster: Cluster) -> None:
    for task in [*cluster.waiting]:
        server = next((server for server in cluster.servers if task.size <= server.room), None)
        if server is None:
            return
        cluster.start(task, server)


# BF-J/S: fill the servers with completions, then find servers for the new tasks that still wait.


def best_fit(cluster: Cluster) -> None:
    for server in cluster.freed:
        fill(cluster, server)
    for task in cluster.new:
        able = [server for server in cluster.servers if task.size <= server.room]
        if task in cluster.waiting and able:
            cluster.start(task, min(able, key=lambda server: (server.room, server.index)))


def fill(cluster: Cluster, server: Server) -> None:
    """Start the largest task that fits, the oldest of equals, until none fits."""
    while start_largest(cluster, server, cluster.waiting):
        pass


def start_largest(cluster: Cluster, server: Server, queue: list[Task]) -> bool:
    fitting = [task for task in queue if task.size <= server.room]
    if fitting:
        cluster.start(min(fitting, key=lambda task: (-task.size, task.row)), server)
    return bool(fitting)


# VQS-BF: tasks wait in 2J virtual queues by size. An empty server takes the configuration with the largest weight.

J = 4


def type_of(size: int) -> int:
    """The virtual queue of a size: (⅔·2^−m, 2^−m] is type 2m, (½·2^−m, ⅔·2^−m] is type 2m + 1, the smallest are the last."""
    for m in range(J):
        if 3 * 2**m * size > 2 * CAPACITY:
            return 2 * m
        if 2 * 2**m * size > CAPACITY:
            return 2 * m + 1
    return 2 * J - 1


CONFIGURATIONS = [
    *({2 * m: 2**m} for m in range(J)),
    *({2 * m + 1: 3 * 2 ** (m - 1)} for m in range(1, J)),
    *({1: 1, 2 * m: 2**m // 3} for m in range(2, J)),
    *({1: 1, 2 * m + 1: 2 ** (m - 1)} for m in range(1, J)),
]
"""The 4J − 4 reduced configurations: how many tasks of each type a server holds."""


def virtual_queues_best_fit(cluster: Cluster) -> None:
    for server in cluster.servers:
        if not server.tasks:
            types = [type_of(task.size) for task in cluster.waiting]
            server.configuration = max(
                CONFIGURATIONS, key=lambda each: sum(number * types.count(kind) for kind, number in each.items())
            )
        # The configuration's tasks first, the largest of each type.
        for kind, number in server.configuration.items():
            while sum(type_of(task.size) == kind for task, _ in server.tasks) < number:
                if not start_largest(cluster, server, [task for task in cluster.waiting if type_of(task.size) == kind]):
                    break
        # Then best fit from the whole queue.
        fill(cluster, server)


POLICIES: dict[str, Policy] = {"fifo-ff": fifo_first_fit, "bf-js": best_fit, f"vqs-bf:J={J}": virtual_queues_best_fit}


def tasks_of(workload: packenv.Workload, seed: int, count: int) -> list[Task]:
    """The first tasks of a random workload, as the compiled simulator draws them."""
    frame = workload.to_frame("pandas", seed=seed, tasks=count)
    rows = zip(frame["arrival"], frame["size"], frame["service"], strict=True)
    return [Task(row, int(a), int(packenv.to_units(s)), int(d)) for row, (a, s, d) in enumerate(rows)]


def differing(name: str, seed: int, slots: int = 2_000, servers: int = 5) -> list[int]:
    """The rows that both simulators start differently."""
    workload = packenv.workload("paper/fig4b", intensity=0.9, servers=servers)
    starts, _ = simulate(tasks_of(workload, seed, 400), servers, POLICIES[name], slots)
    schedule = packenv.simulate(workload, name, slots=slots, seed=seed, schedule=True, warmup=0).schedule
    assert schedule is not None
    compiled = {row: (s, n) for row, (s, n) in enumerate(zip(schedule.start, schedule.server, strict=True)) if 0 <= s < slots}
    return [row for row in sorted({*starts, *compiled}) if starts.get(row) != compiled.get(row)]


if __name__ == "__main__":
    for name in POLICIES:
        print(f"{name:12} {len(differing(name, seed=0))} of the starts differ")
