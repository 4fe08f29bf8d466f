"""Figure 5: queues and delays against traffic scaling β, on a trace, on a bootstrap of it, or on the workload fitted to one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from experiments.finding import Claim, Finding, Row, Settings
from experiments.random_requirements.queue_curves import NAMES, draw_curves, legends, row_of
from packenv.content.text import counted
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import RunOptions, run_all
from packenv.runs.statistics import Interval, certainly_below, ratio
from packenv.units import UNIT
from packenv.workloads.find import workload
from packenv.workloads.resources import with_resources
from packenv.workloads.traces import Trace
from packenv.workloads.traces.bootstrap import BLOCK, block_bootstrap
from packenv.workloads.workload import Workload

POLICIES = ("bf-js", "vqs-bf", "vqs", "fifo-ff")
HIGH = ("1.5", "1.6")
CLEAR = 0.8  # of the queue of the others, or less: clearly below
Queues = dict[tuple[str, str], list[float | None]]  # mean queue of each seed, by β and policy
APART = 0.012  # β between the bars of two policies, which would hide each other
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
    make: Callable[[int], Trace]
    load: float
    seeds: int
    servers: int

    def intensity(self, beta: str) -> float:
        """Share of the servers' capacity that is offered at this β."""
        return self.load * float(beta) / self.servers


@dataclass(frozen=True)
class Recorded:
    """The trace as it is, whatever the seed."""

    trace: Trace

    def __call__(self, seed: int) -> Trace:
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

    def __call__(self, seed: int) -> Trace:
        return Trace.in_slots(self.workload.jobs_table(seed, self.tasks), ("size",), LIKE)


@dataclass(frozen=True)
class Sped:
    """The workload of one seed and one β, made where it runs."""

    data: Data
    seed: int
    speedup: str

    def __call__(self) -> Workload:
        jobs = _made(self.data, self.seed).jobs(slot_seconds=SLOT_SECONDS, speedup=self.speedup).jobs
        return Workload(jobs=jobs, servers=self.data.servers, name=self.data.key, slot_seconds=float(SLOT_SECONDS))


_last: tuple[Data, int, Trace] | None = None


def _made(data: Data, seed: int) -> Trace:
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
    data = [Data("trace", about, Recorded(recorded), load, 1, settings.servers or needed(load))]
    if len(jobs) < tasks:
        timed = recorded.timed(SLOT_SECONDS)
        load = work(jobs) / len(jobs) * tasks / span
        about = f"block bootstrap of {settings.trace_name} (blocks of {BLOCK:,}), {long}, {counted(seeds, 'seed')}"
        make = Resampled(timed, tasks, span * float(SLOT_SECONDS))
        data.append(Data("bootstrap", about, make, load, seeds, settings.servers or needed(load)))
    return data


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
        raise InputError(f"the trace offers a load of {load:,.0f} servers: give their number with --servers")
    return max(1, servers)


def reproduce(settings: Settings) -> Finding:
    groups = data_of(settings)
    rows: list[Row] = []
    claims: list[Claim] = []
    panels: list[tuple[str, list[Row]]] = []
    for data in groups:
        by_policy = rows_of(data, settings.runs)
        claims += claims_of(data.key, {key: [r.mean_queue for r in results] for key, results in by_policy.items()})
        part = [
            row_of(results, data=data.key, speedup=float(beta), servers=data.servers, intensity=data.intensity(beta))
            for (beta, _), results in by_policy.items()
        ]
        rows += part
        panels.append((f"{data.about}; {data.servers} servers", part))
    title = f"Figure 5: traffic scaling{settings.remark}"

    def draw() -> Figure:
        return draw_scaling(panels, [NAMES[policy] for policy in POLICIES], float(SLOT_SECONDS), title)

    notes = [f"fig5: {data.about}; {data.servers} servers, offered {data.load:.1f} at β = 1" for data in groups]
    return Finding("fig5", title, claims, {"": rows}, draw, notes)


def rows_of(data: Data, options: RunOptions) -> dict[tuple[str, str], list[Result]]:
    """The results of each β and policy, over the seeds."""
    workloads = {(seed, beta): Sped(data, seed, beta) for seed in range(data.seeds) for beta in SPEEDUPS}
    keys = [(seed, beta, policy) for seed, beta in workloads for policy in POLICIES]
    results = run_all([Run(workloads[seed, beta], policy, seed) for seed, beta, policy in keys], options, f"fig5, {data.key}")
    by_policy: dict[tuple[str, str], list[Result]] = {(beta, policy): [] for policy in POLICIES for beta in SPEEDUPS}
    for (_, beta, policy), result in zip(keys, results, strict=True):
        by_policy[beta, policy].append(result)
    return by_policy


def claims_of(key: str, queues: Queues) -> list[Claim]:
    high = [beta for beta in HIGH if (beta, POLICIES[0]) in queues]
    former, latter = ("bf-js", "vqs-bf"), ("vqs", "fifo-ff")
    clear = {beta: ratio(_by_seed(max, queues, beta, former), _by_seed(min, queues, beta, latter)) for beta in high}
    slight = {beta: ratio(queues[beta, "vqs-bf"], queues[beta, "bf-js"]) for beta in high}
    return [
        Claim(
            "fig5",
            f"{key}: at high β BF-J/S and VQS-BF have clearly shorter queues than VQS and FIFO-FF",
            all(_clearly(over) for over in clear.values()),
            f"the longer of the former over the shorter of the latter {_listed(clear)}",
        ),
        Claim(
            "fig5",
            f"{key}: at high β VQS-BF has slightly shorter queues than BF-J/S",
            all(certainly_below(over, 1) for over in slight.values()),
            f"VQS-BF over BF-J/S {_listed(slight)}",
        ),
    ]


def _by_seed(
    which: Callable[[Sequence[float]], float], queues: Queues, beta: str, policies: tuple[str, str]
) -> list[float | None]:
    """Seed by seed, the larger or smaller of two policies' queues."""
    return [which((a or 0.0, b or 0.0)) for a, b in zip(*(queues[beta, policy] for policy in policies), strict=True)]


def _clearly(over: Interval) -> bool:
    return over.mean is not None and over.mean <= CLEAR and certainly_below(over, 1)


def _listed(ratios: dict[str, Interval]) -> str:
    if all(over.mean is None for over in ratios.values()):
        return "not known: queues of 0"
    single = "" if any(over.low is not None for over in ratios.values()) else " (one run: no interval)"
    return ", ".join(f"{over} at β = {beta}" for beta, over in ratios.items()) + single


def draw_scaling(panels: list[tuple[str, list[Row]]], names: list[str], slot_seconds: float, title: str) -> Figure:
    """`panels`: what the data is, and its rows with speedup, policy, mean_queue, mean_delay (slots) and verdict."""
    figure = Figure(figsize=(10.5, 1 + 3.6 * len(panels)), layout="constrained")
    parts: Any = figure.subfigures(len(panels), 1, squeeze=False)[:, 0]
    for part, (about, rows) in zip(parts, panels, strict=True):
        left, right = part.subplots(1, 2)
        apart = APART if rows[0]["seeds"] > 1 else 0.0
        draw_curves(left, rows, "speedup", "mean_queue", names, apart=apart)
        draw_curves(right, rows, "speedup", "mean_delay", names, slot_seconds, apart)
        left.set_ylabel("mean queue (waiting tasks)")
        right.set_ylabel("mean delay of started tasks (s)")
        for axes in (left, right):
            axes.set_xlabel("traffic scaling β")
        part.suptitle(about, fontsize=10)
    figure.suptitle(title, fontsize=10)
    legends(parts[-1], left)
    return figure
