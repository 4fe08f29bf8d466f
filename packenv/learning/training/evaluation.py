"""Evaluation of an agent: means and supported share of ρ*."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from packenv.learning.objective import QUEUE, Objective, measure, objective
from packenv.learning.settings import Settings, workloads_at_loads
from packenv.theory.capacity.max_workload import supportable
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, bound_or_zero
from packenv.theory.stability.judge import FIRST_SERVICES, FIRST_TASKS, GRID, LoadSearch, PlannedRun, judge, run_here
from packenv.workloads.workload import Workload

FIRST_SEED = 1_000_000  # of the evaluation's jobs, which no run trains on
LOADS = 3
JUDGE_SEEDS, JUDGE_WIDTH = 4, 10  # in steps of the judge's grid: 0.05
JUDGE_TASKS = FIRST_TASKS, 4 * FIRST_TASKS  # of each run; where they leave it undecided the interval stays wide


class LoadComparison(NamedTuple):
    """An agent's and a policy's objective at one load."""

    label: str
    agent: float
    other: float

    @property
    def ratio(self) -> float:
        return self.agent / max(self.other, 1e-9)


class LoadEvaluation:
    """Comparison of agents with `against`, which runs only once."""

    def __init__(self, settings: Settings, against: str, slots: int, seeds: int, first_seed: int = FIRST_SEED) -> None:
        self.against, self.slots, self.by = against, slots, objective(settings.reward)
        self.workloads = workloads_at_loads(settings, LOADS)
        table = settings.workload.jobs is not None and settings.workload.draw is None
        self.seeds = [0] if table else [first_seed + n for n in range(seeds)]
        self.means: dict[str, float] = {}

    def __call__(self, agent: Any) -> list[LoadComparison]:
        """Return the agent's and the policy's objective by load."""
        comparisons = []
        for label, workload in self.workloads.items():
            if label not in self.means:
                self.means[label] = self._mean(workload, self.against)
            comparisons.append(LoadComparison(label, self._mean(workload, agent), self.means[label]))
        return comparisons

    def bounds(self) -> dict[str, float]:
        """Return bounds for policies without durations, where known."""
        if self.by.measure != QUEUE:
            return {}
        bounds = {label: bound_or_zero(workload) for label, workload in self.workloads.items()}
        return {f"{SHOWN_AS} at {label}": value for label, value in bounds.items() if value > 0}

    def _mean(self, workload: Workload, policy: Any) -> float:
        measured = [measure(workload, policy, self.slots, seed, self.by)[0] for seed in self.seeds]
        return sum(measured) / len(measured)


def as_measured(comparisons: list[LoadComparison], by: Objective, against: str) -> dict[str, float]:
    """Return the comparisons as finite numbers by name."""
    values = {f"{by} ratio to {against}": overall(comparisons)}
    values |= {f"{by} ratio to {against} at {comparison.label}": comparison.ratio for comparison in comparisons}
    values |= {f"{by} at {comparison.label}": comparison.agent for comparison in comparisons}
    return {name: value for name, value in values.items() if math.isfinite(value)}


def overall(comparisons: list[LoadComparison]) -> float:
    """Return the geometric mean of the ratios, lower is better."""
    return math.exp(sum(math.log(max(comparison.ratio, 1e-9)) for comparison in comparisons) / len(comparisons))


def supported(workload: Workload, policy: Any, progress: Callable[[], None]) -> tuple[float, float]:
    """Return a wide interval of ρ*-fractions that a policy supports."""
    if workload.jobs is not None:
        judged = judge(workload, policy, progress=lambda *_: progress())
        return judged.low, judged.high
    rho = supportable(workload)

    def plan(load: float) -> Iterator[list[PlannedRun]]:
        at = workload.with_(load=load).knowing(rho.lower, rho.upper)
        for tasks in JUDGE_TASKS:
            slots = max(round(tasks / at.rate), round(FIRST_SERVICES * at.mean_service))
            yield [PlannedRun(at, policy, slots, FIRST_SEED + n) for n in range(JUDGE_SEEDS)]

    low, high = LoadSearch(plan, run_here, lambda *_: progress()).interval(JUDGE_WIDTH)
    return low / GRID, high / GRID
