"""Runs of candidates, side by side on an executor."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from packenv.executors.pieces import Pieces
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.inference.weights import Weights
from packenv.learning.objective import Objective, measure
from packenv.workloads.workload import Workload


class Trial(NamedTuple):
    """One run of one candidate."""

    about: dict[str, Any]  # as of a saved agent
    weights: Weights
    workload: Workload
    slots: int
    seed: int
    by: Objective


class Score(NamedTuple):
    """What became of a run."""

    measure: float  # the less, the better
    started: int  # tasks


def run_trial(trial: Trial) -> Score:
    """Simulate the candidate on the trial's jobs."""
    candidate = SavedAgent("candidate", trial.about, trial.weights)
    return Score(*measure(trial.workload, candidate, trial.slots, trial.seed, trial.by))


class TrialRunner:
    """Runs trials on an executor. Scores are in the order of the trials. Raises what a trial raises."""

    def __init__(self, executor: Executor) -> None:
        self.pieces = Pieces(executor)

    def __call__(self, trials: Sequence[Trial]) -> list[Score]:
        scores: dict[int, Score] = {}
        for outcome in self.pieces.each(run_trial, trials, kind_of):
            if outcome.error is not None:
                raise outcome.error
            scores[outcome.number] = outcome.value
        return [scores[n] for n in range(len(trials))]


def kind_of(trial: Trial) -> Any:
    """Trials that take about the same time have the same."""
    return trial.workload.name, trial.workload.rho, trial.slots
