"""Runs of candidates, side by side in processes of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.inference.weights import Weights
from packenv.worker_processes import WorkerProcesses
from packenv.workloads.workload import Workload


class Trial(NamedTuple):
    """One run of one candidate."""

    about: dict[str, Any]  # as of a saved agent
    weights: Weights
    workload: Workload
    slots: int
    seed: int


class Score(NamedTuple):
    """What became of a run."""

    queue: float  # mean number of waiting tasks
    started: int  # tasks


def run_trial(trial: Trial) -> Score:
    """Simulate the candidate on the trial's jobs."""
    result = simulate(trial.workload, SavedAgent("candidate", trial.about, trial.weights), trial.slots, trial.seed)
    return Score(result.mean_queue or 0.0, result.started)


class TrialRunner:
    """Runs trials in so many processes, or here if it is one. Scores are in the order of the trials."""

    def __init__(self, processes: int) -> None:
        self.pool = WorkerProcesses(processes) if processes > 1 else None

    def __enter__(self) -> TrialRunner:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def __call__(self, trials: Iterable[Trial]) -> list[Score]:
        return list(map(run_trial, trials) if self.pool is None else self.pool.map(run_trial, trials))
