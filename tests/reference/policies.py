"""Best fit and FIFO (PAPERS §1.5), as the paper says them, and the list of all policies by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.reference.backfilling import Conservative, Easy, Reserve
from tests.reference.delay import Delay, Dynamic, Fair
from tests.reference.fair import DRF, SlotFair, TaskFair
from tests.reference.gangs import alone, gang_of, leads, start_together
from tests.reference.job_policies import JOB_POLICIES
from tests.reference.max_weight import MaxWeight
from tests.reference.model import SchedulingPolicy, Server, World
from tests.reference.orders import FORMULAS, in_order
from tests.reference.probing import PROBING
from tests.reference.quickswap import Quickswap
from tests.reference.stalling import Policy
from tests.reference.table import Task, Vector
from tests.reference.tetris import Tetris
from tests.reference.vqs import VQS, VQSBF
from tests.reference.whole_jobs import WHOLE_JOBS


def score(demand: Vector, server: Server) -> float:
    """Sum_r (d_r / C_lr) (occupied_lr / C_lr), in floats and in this order, so that ties are the same everywhere."""
    total = 0.0
    for d, occupied, capacity in zip(demand, server.occupied, server.capacity, strict=True):
        if capacity > 0:
            total += (d / capacity) * (occupied / capacity)
    return total


def slack(server: Server) -> float:
    """Sum_r residual_lr / C_lr."""
    total = 0.0
    for residual, capacity in zip(server.residual, server.capacity, strict=True):
        if capacity > 0:
            total += residual / capacity
    return total


def best_server(world: World, task: Task, servers: Sequence[Server]) -> Server | None:
    """BF-J: where a job goes."""
    feasible = [server for server in servers if server.takes(task)]
    if world.resources == 1:
        return min(feasible, key=lambda s: (s.residual[0], s.index), default=None)
    return min(feasible, key=lambda s: (-score(task.demand, s), slack(s), s.index), default=None)


def best_job(world: World, server: Server) -> Task | None:
    """BF-S: what a server takes next."""
    feasible = [task for task in world.waiting if alone(world, task) and server.takes(task)]
    if world.resources == 1:
        return min(feasible, key=lambda t: (-t.demand[0], t.row), default=None)
    return min(feasible, key=lambda t: (-score(t.demand, server), -world.size(t), t.row), default=None)


def place_each_job(world: World, jobs: Sequence[Task], servers: Sequence[Server]) -> None:
    for task in [job for job in jobs if alone(world, job)]:
        server = best_server(world, task, servers)
        if server is not None:
            world.start(task, server)


def place_each_gang(world: World, servers: Sequence[Server]) -> None:
    """BF-J of whole gangs, in queue order, all if a server has had a completion and otherwise the new ones."""
    for task in list(world.waiting if world.vacated else world.newcomers):
        if task in world.waiting and leads(world, task) and not alone(world, task):
            start_together(world, gang_of(world, task), lambda task: best_server(world, task, servers))


def fill_each_server(world: World, servers: Sequence[Server]) -> None:
    for server in servers:
        task = best_job(world, server)
        while task is not None:
            world.start(task, server)
            task = best_job(world, server)


class BestFitJobs(Policy):
    """BF-J: each queued job, in queue order, to the feasible server with the least residual capacity."""

    def place(self, world: World) -> None:
        place_each_job(world, world.waiting, self.open_servers(world))


class BestFitServers(Policy):
    """BF-S: each server, in index order, filled with the largest job that fits until none fits."""

    def place(self, world: World) -> None:
        fill_each_server(world, self.open_servers(world))


class BestFit(Policy):
    """BF-J/S: gangs, BF-S over the servers with a completion in this slot, then BF-J over the new arrivals still waiting."""

    def place(self, world: World) -> None:
        place_each_gang(world, self.open_servers(world))
        vacated = [server for server in self.open_servers(world) if server in world.vacated]
        fill_each_server(world, vacated)
        place_each_job(world, [task for task in world.newcomers if task in world.waiting], self.open_servers(world))


class FifoFirstFit(Policy):
    """FIFO-FF: the head of line to the first server with room; if it fits nowhere, everything waits.

    With an order: the task that it puts first is kept until it fits. Not blocking: each task that fits, in this order.
    """

    def __init__(self, *, stall: bool = False, order: str = "fcfs", blocking: bool = True) -> None:
        super().__init__(stall=stall)
        self.formula, self.blocking = FORMULAS[order], blocking
        self.kept: Task | None = None

    def begin(self, world: World) -> None:
        self.kept = None

    def place(self, world: World) -> None:
        if not self.blocking:
            for task in in_order(world, world.waiting, self.formula):
                self.start(world, task)
            return
        while world.waiting:
            self.kept = self.kept or in_order(world, world.waiting, self.formula)[0]
            if not self.start(world, self.kept):
                return
            self.kept = None

    def start(self, world: World, task: Task) -> bool:
        servers = self.open_servers(world)
        first = lambda task: next((server for server in servers if self.has_room(server, task)), None)  # noqa: E731
        return start_together(world, gang_of(world, task), first)

    def has_room(self, server: Server, task: Task) -> bool:
        return server.takes(task)


class SlotFifo(FifoFirstFit):
    """slot-fifo: n equal slots per server, one job per slot, lowest server first."""

    def __init__(self, *, slots: int | None = None, stall: bool = False) -> None:
        super().__init__(stall=stall)
        self.slots = slots

    def begin(self, world: World) -> None:
        super().begin(world)
        capacities = [world.scale.capacity(server.capacity) for server in world.servers]
        sizes = [world.size(task) for task in world.tasks]
        self.n = max(1, min(capacities) // max(sizes, default=1)) if self.slots is None else self.slots
        self.slot_size = [capacity // self.n for capacity in capacities]
        sizes += [world.scale.size(job.demand) for server in world.servers for job in server.running]
        if max(sizes, default=0) > min(self.slot_size):
            raise ValueError(f"a job of size {max(sizes)} is larger than a slot of {min(self.slot_size)}")

    def has_room(self, server: Server, task: Task) -> bool:
        return len(server.running) < self.n

    def wasteful(self, world: World, server: Server) -> bool:
        capacity = world.scale.capacity(server.capacity)
        occupied = len(server.running) * self.slot_size[server.index]
        return 2 * occupied < capacity and max(world.size(task) for task in world.waiting) > capacity - occupied


POLICIES: dict[str, Callable[..., SchedulingPolicy]] = {
    "bf-j": BestFitJobs,
    "bf-s": BestFitServers,
    "bf-js": BestFit,
    "vqs": VQS,
    "vqs-bf": VQSBF,
    "fifo-ff": FifoFirstFit,
    "slot-fifo": SlotFifo,
    "maxweight": MaxWeight,
    "quickswap": Quickswap,
    **JOB_POLICIES,
    **WHOLE_JOBS,
    "drf": DRF,
    "task-fair": TaskFair,
    "slot-fair": SlotFair,
    "tetris": Tetris,
    **PROBING,
    "delay": Delay,
    "delay-dynamic": Dynamic,
    "fair": Fair,
    "easy": Easy,
    "conservative": Conservative,
    "reserve": Reserve,
}


def make(name: str, **options: Any) -> SchedulingPolicy:
    """A fresh policy by the name that the command line uses."""
    return POLICIES[name](**options)
