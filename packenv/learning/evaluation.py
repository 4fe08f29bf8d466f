"""How good the agent is so far: its mean queue beside a policy's on the same jobs, and the share of ρ* it supports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.learning.settings import Settings
from packenv.theory.capacity.load import supportable
from packenv.theory.stability.judge import FIRST_SERVICES, FIRST_TASKS, GRID, LoadSearch, PlannedRun, judge, run_here
from packenv.workloads.workload import Workload

FIRST_SEED = 1_000_000  # of the evaluation's jobs: no run trains on them
JUDGE_SEEDS, JUDGE_WIDTH = 4, 10  # in steps of the judge's grid: 0.05
JUDGE_TASKS = FIRST_TASKS, 4 * FIRST_TASKS  # of each run; where they leave it undecided the interval stays wide


class Comparison(NamedTuple):
    """Mean queues at one load, each the mean over the seeds."""

    label: str
    agent: float
    other: float

    @property
    def ratio(self) -> float:
        return self.agent / max(self.other, 1e-9)


def evaluation_workloads(settings: Settings, loads: int = 3) -> dict[str, Workload]:
    """So many loads evenly over what episodes draw from, by name; the workload as it is where nothing is drawn."""
    workload = settings.workload
    if not settings.arrivals:
        return {workload.name: workload}
    (key, (low, high)), *_ = settings.arrivals.items()
    chosen = dict.fromkeys(low + (high - low) * n / (loads - 1) for n in range(loads))
    return {f"{key} {load:.3g}": _resolved(workload.with_(**{key: load})) for load in chosen}


def _resolved(workload: Workload) -> Workload:
    if workload.load is None:
        return workload
    from packenv.theory.capacity.load import resolved  # brings the solver with it

    return resolved(workload)


class Evaluation:
    """Runs of agents against `against`, whose runs are made once."""

    def __init__(self, settings: Settings, against: str, slots: int, seeds: int) -> None:
        self.against, self.slots = against, slots
        self.workloads = evaluation_workloads(settings)
        table = settings.workload.jobs is not None and settings.workload.draw is None
        self.seeds = [0] if table else [FIRST_SEED + n for n in range(seeds)]
        self.known: dict[str, float] = {}

    def __call__(self, agent: Any) -> list[Comparison]:
        """The agent beside the policy, at every load."""
        found = []
        for label, workload in self.workloads.items():
            if label not in self.known:
                self.known[label] = self._queue(workload, self.against)
            found.append(Comparison(label, self._queue(workload, agent), self.known[label]))
        return found

    def _queue(self, workload: Workload, policy: Any) -> float:
        slots = None if workload.jobs is not None else self.slots
        queues = [simulate(workload, policy, slots, seed).mean_queue or 0.0 for seed in self.seeds]
        return sum(queues) / len(queues)


def overall(comparisons: list[Comparison]) -> float:
    """The geometric mean of the ratios: what `best` means."""
    return math.exp(sum(math.log(max(each.ratio, 1e-9)) for each in comparisons) / len(comparisons))


def supported(workload: Workload, policy: Any, said: Callable[[], None]) -> tuple[float, float]:
    """The interval of ρ*-fractions that a policy supports: `packenv judge` with short runs and a wide interval.

    `said` is called at every look.
    """
    if workload.jobs is not None:
        judged = judge(workload, policy, progress=lambda *_: said())
        return judged.low, judged.high
    rho = supportable(workload)

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        at = workload.with_(load=load).knowing(rho.lower, rho.upper)
        for tasks in JUDGE_TASKS:
            slots = max(round(tasks / at.rate), round(FIRST_SERVICES * at.mean_service))
            yield [PlannedRun(at, policy, slots, FIRST_SEED + n) for n in range(JUDGE_SEEDS)]

    low, high = LoadSearch(plan, run_here, lambda *_: said()).interval(JUDGE_WIDTH)
    return low / GRID, high / GRID
