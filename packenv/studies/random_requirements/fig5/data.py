"""The data of figure 5: a trace, a block bootstrap of it, or the workload fitted to one, at each traffic scaling β."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.runs.text import counted
from packenv.studies.finding import Settings
from packenv.units import UNIT
from packenv.workloads.find import workload
from packenv.workloads.resources import with_resources
from packenv.workloads.traces import SlotTrace, Trace
from packenv.workloads.traces.bootstrap import BLOCK, block_bootstrap
from packenv.workloads.workload import Workload

SPEEDUPS = ("1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
SLOT_SECONDS = "0.1"
SPAN = 1_296_000  # slots at β = 1: 1.5 days
TASKS = 1_000_000  # in as long
SEEDS, QUICK_SEEDS = 4, 2
LIKE = "google2011-like"


@dataclass(frozen=True)
class Data:
    """A trace, or a way to make one from a seed; its offered load at β = 1 in servers of capacity 1."""

    key: str
    about: str
    make: Callable[[int], Trace | SlotTrace]
    load: float
    seeds: int
    servers: int

    def intensity(self, beta: str) -> float:
        """Share of the servers' capacity that is offered at this β."""
        return self.load * float(beta) / self.servers


@dataclass(frozen=True)
class Recorded:
    """The trace as it is, whatever the seed."""

    trace: Trace | SlotTrace

    def __call__(self, seed: int) -> Trace | SlotTrace:
        return self.trace


@dataclass(frozen=True)
class Resampled:
    """A block bootstrap of the trace."""

    trace: Trace
    tasks: int
    seconds: float

    def __call__(self, seed: int) -> Trace:
        return block_bootstrap(self.trace, self.tasks, self.seconds, seed)


@dataclass(frozen=True)
class Fitted:
    """The first rows of the fitted workload, like a trace of one size per task."""

    workload: Workload
    tasks: int

    def __call__(self, seed: int) -> SlotTrace:
        return SlotTrace(self.workload.jobs_table(seed, self.tasks), ("size",), LIKE)


@dataclass(frozen=True)
class Sped:
    """The workload of one seed and one β, made where it runs."""

    data: Data
    seed: int
    speedup: str

    def __call__(self) -> Workload:
        jobs = _made(self.data, self.seed).jobs(slot_seconds=SLOT_SECONDS, speedup=self.speedup).jobs
        return Workload(jobs=jobs, servers=self.data.servers, name=self.data.key, slot_seconds=float(SLOT_SECONDS))


_last: tuple[Data, int, Trace | SlotTrace] | None = None


def _made(data: Data, seed: int) -> Trace | SlotTrace:
    """What `data` makes of the seed; the last one is kept for the other β."""
    global _last
    if _last is None or _last[0] is not data or _last[1] != seed:
        _last = None
        _last = data, seed, data.make(seed)
    return _last[2]


def data_of(settings: Settings) -> list[Data]:
    """What is simulated: the trace and, if it is shorter than the paper's, its bootstrap; or the fitted workload."""
    span = settings.slots_or(SPAN)
    tasks = max(2, round(TASKS * span / SPAN))
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    long = f"{tasks:,} tasks in {span * float(SLOT_SECONDS) / 86_400:.3g} days"
    if settings.trace is None:
        like = with_resources(workload(LIKE), None, "max").with_(rate=tasks / span)
        load = float(like.rate * like.mean_service * like.mean_size_in_service[0])
        about = f"{LIKE}, {long.replace(' in ', ' in about ')}, {counted(seeds, 'seed')}"
        return [Data("fitted", about, Fitted(like, tasks), load, seeds, settings.servers or needed(load))]
    recorded = settings.trace
    jobs = recorded.jobs(slot_seconds=SLOT_SECONDS).jobs
    load = offered(jobs)
    about = f"{settings.trace_name} as it is, {len(jobs):,} tasks in {(jobs.arrival[-1] + 1) / 36_000:.3g} hours"
    found = [Data("trace", about, Recorded(recorded), load, 1, settings.servers or needed(load))]
    if len(jobs) < tasks:
        timed = recorded.timed(SLOT_SECONDS) if isinstance(recorded, SlotTrace) else recorded
        load = work(jobs) / len(jobs) * tasks / span
        about = f"block bootstrap of {settings.trace_name} (blocks of {BLOCK:,}), {long}, {counted(seeds, 'seed')}"
        make = Resampled(timed, tasks, span * float(SLOT_SECONDS))
        found.append(Data("bootstrap", about, make, load, seeds, settings.servers or needed(load)))
    return found


def work(jobs: Jobs) -> float:
    """Σ size · service, in servers times slots."""
    return float((jobs.demand[:, 0] / UNIT) @ jobs.service)


def offered(jobs: Jobs) -> float:
    """Servers of capacity 1 that the jobs keep busy, on average until the last one arrives."""
    return work(jobs) / (int(jobs.arrival[-1]) + 1)


def needed(load: float) -> int:
    """As many servers as the load offered at the highest β (PAPERS §1.6)."""
    servers = math.ceil(load * float(SPEEDUPS[-1]))
    if servers > 10_000_000:
        raise InputError(f"the trace offers a load of {load:,.0f} servers: say how many with --servers")
    return max(1, servers)
