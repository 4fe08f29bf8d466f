"""Evolution as a learner.

Candidates schedule whole runs in the compiled loop. Short queues, or early jobs, win. All candidates of a generation see the same
jobs at the same loads. Only their order counts, so neither shared randomness of arrivals nor different lengths of queues at
different loads matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.envs.registration import find_definition, find_vector_class
from packenv.errors import InputError
from packenv.executors.local import PROCESSES, executor
from packenv.executors.pieces import Pieces
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent
from packenv.learning.agents.weights import Weights
from packenv.learning.objective import Objective, measure, objective
from packenv.learning.settings import Settings, workloads_at_loads
from packenv.learning.weighted_sums import Doubles, as_vector, as_weights, first_weights, weights_of_agent
from packenv.workloads.workload import Workload


class CmaEs:
    """A normal distribution over weights.

    A generation is drawn from it, and it moves towards the better half. Only their order counts. Hansen, "The CMA Evolution
    Strategy: A Tutorial", arXiv 1604.00772, with positive weights; equation numbers are the tutorial's.
    """

    def __init__(self, mean: Doubles, step: float) -> None:
        n = len(mean)
        self.mean = mean.copy()  # (n,) m
        self.step = np.array(step)  # σ
        self.covariance = np.eye(n)  # C
        self.step_path = np.zeros(n)  # p_σ
        self.path = np.zeros(n)  # p_c
        self.generation = np.array(0)

    def ask(self, population: int, seed: int) -> tuple[Doubles, Doubles]:
        """Return candidates and their draws, both (λ, n), by (38)–(40)."""
        draws = np.random.default_rng(seed).standard_normal((population, len(self.mean)))
        lengths, axes = self._axes()
        return self.mean + self.step * (draws * lengths) @ axes.T, draws

    def tell(self, draws: Doubles, order: list[int]) -> None:
        """Move towards the best in `order`, by equations (41)–(47)."""
        n, half = len(self.mean), len(order) // 2
        weights = np.log(len(order) / 2 + 0.5) - np.log(np.arange(1, half + 1))
        weights = weights / weights.sum()
        mass = 1 / float((weights**2).sum())
        step_rate = (mass + 2) / (n + mass + 5)
        damping = 1 + step_rate + 2 * max(0.0, math.sqrt((mass - 1) / (n + 1)) - 1)
        path_rate = (4 + mass / n) / (n + 4 + 2 * mass / n)
        path_weight = 2 / ((n + 1.3) ** 2 + mass)
        rank_weight = min(1 - path_weight, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # E‖N(0, I)‖

        # recombination: (41), (42)
        lengths, axes = self._axes()
        steps = (draws[order[:half]] * lengths) @ axes.T
        moved = weights @ steps
        self.mean = self.mean + self.step * moved
        self.generation = self.generation + 1
        # path of the step size: (43)
        whitened = axes @ ((axes.T @ moved) / lengths)
        self.step_path = (1 - step_rate) * self.step_path + math.sqrt(step_rate * (2 - step_rate) * mass) * whitened
        norm = float(np.linalg.norm(self.step_path))
        # path of the covariance: (45)
        steady = math.sqrt(1 - (1 - step_rate) ** (2 * int(self.generation)))
        small = norm / steady < (1.4 + 2 / (n + 1)) * expected
        self.path = (1 - path_rate) * self.path + small * math.sqrt(path_rate * (2 - path_rate) * mass) * moved
        # covariance: (47)
        correction = 0.0 if small else path_rate * (2 - path_rate)
        self.covariance = (1 - path_weight * (1 - correction) - rank_weight) * self.covariance
        self.covariance += path_weight * np.outer(self.path, self.path) + rank_weight * (steps.T * weights) @ steps
        # step size: (44)
        self.step = self.step * math.exp(step_rate / damping * (norm / expected - 1))

    def _axes(self) -> tuple[Doubles, Doubles]:
        """Return the covariance's axes: (n,) lengths, (n, n) columns."""
        squares, axes = np.linalg.eigh(self.covariance)
        return np.sqrt(np.maximum(squares, 1e-20)), axes


class CandidateRun(NamedTuple):
    """One run of one candidate."""

    about: dict[str, Any]  # as of a saved agent
    weights: Weights
    workload: Workload
    slots: int
    seed: int
    by: Objective


class CandidateScore(NamedTuple):
    """What became of a run."""

    measure: float  # the less, the better
    started: int  # tasks


def run_trial(trial: CandidateRun) -> CandidateScore:
    candidate = SavedAgent("candidate", trial.about, trial.weights)
    return CandidateScore(*measure(trial.workload, candidate, trial.slots, trial.seed, trial.by))


class TrialRunner:
    """A runner of trials on an executor, scores in order."""

    def __init__(self, executor: Executor) -> None:
        self.pieces = Pieces(executor)

    def __call__(self, trials: Sequence[CandidateRun]) -> list[CandidateScore]:
        scores: dict[int, CandidateScore] = {}
        for outcome in self.pieces.each(run_trial, trials, kind_of):
            if outcome.error is not None:
                raise outcome.error
            scores[outcome.number] = outcome.value
        return [scores[n] for n in range(len(trials))]


def kind_of(trial: CandidateRun) -> Any:
    """Return equal values for trials of similar duration."""
    return trial.workload.name, trial.workload.rho, trial.slots


LOADS = 4  # of every candidate, spread evenly over the interval
TABLES = 8  # of every candidate, where every seed has a table of its own: they differ by more than loads do
FLOOR = 0.1  # tasks: where a reference is known, shorter queues than this hardly differ


class Case(NamedTuple):
    """A run that every candidate of a generation makes."""

    label: str
    workload: Workload
    slots: int
    reference: float | None = None  # what a policy measures on the same jobs


class Evolution:
    """CMA-ES over the weights of the settings' network.

    Candidates run on the executor `on`, as in `packenv.executor`. A sample is a task that a candidate started. `draw` makes a
    generation's cases from its seed, and case n runs with seed + n. Without it all generations have the settings' workload, at
    several loads.
    """

    def __init__(
        self,
        settings: Settings,
        processes: int = 1,
        on: str = PROCESSES,
        draw: Callable[[int], list[Case]] | None = None,
    ) -> None:
        self.settings, self.processes, self.on = settings, processes, on
        self.layout = find_vector_class(settings.environment)(1, **settings.env_options()).core.layout
        self.first = first_weights(settings.network, self.layout)
        self.search = CmaEs(as_vector(self.first), settings.learning_rate)
        self.population = settings.population or 2 * round(2 + 1.5 * math.log(len(self.search.path)))
        if draw is None:
            cases = [Case(*case, settings.horizon) for case in workloads_at_loads(settings, LOADS).items()]
            if settings.workload.draw is not None and len(cases) == 1:
                cases *= TABLES
        self.draw = draw or (lambda seed: cases)
        self.by = objective(settings.reward)
        self.about = agent_metadata(settings, "", 0, "last", {})
        self.samples = 0
        self.metrics: dict[str, float] = {}

    @property
    def weights(self) -> Weights:
        """Return the center of the next generation's weights."""
        return as_weights(self.search.mean, self.first)

    def initialise(self, say: Callable[[str], None] = print) -> str | None:
        """Set the first weights, and return a report or None."""
        if self.settings.start is not None:
            agent, kind = load_agent(self.settings.start), self.settings.environment
            if agent.definition.follows_jobs != find_definition(kind).follows_jobs:
                raise InputError(f"{agent.name}: it learned in {agent.kind}, which has other features than {kind}")
            self.search.mean = as_vector(weights_of_agent(agent, self.settings.network, self.first, self.layout))
        line = None
        if self.settings.imitate is not None:
            from packenv.learning.imitation import imitate_policy

            self.search.mean, line = imitate_policy(self.settings, self.layout, say)
        return line

    def learn(self, samples: int, between: Callable[[], None]) -> None:
        """Learn from at least `samples` more, calling `between` each generation."""
        end = self.samples + samples
        with executor(self.on, self.processes) as cluster:
            run = TrialRunner(cluster)
            while self.samples < end:
                between()
                self._generation(run)

    def measured(self) -> dict[str, float]:
        """Return the measures since the last call, by name (`group/name`)."""
        metrics, self.metrics = self.metrics, {}
        return metrics

    def state(self) -> dict[str, NDArray[Any]]:
        return {name: np.asarray(value) for name, value in vars(self.search).items()}

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Set the arrays (ValueError or KeyError for another network)."""
        for name, value in self.state().items():  # a file has numbers as arrays of length 1
            setattr(self.search, name, arrays[name].reshape(value.shape))

    def _generation(self, run: TrialRunner) -> None:
        seed = self.settings.seed_after(self.samples)  # the same whether the run was interrupted or not
        candidates, draws = self.search.ask(self.population, seed)
        cases = self.draw(seed)
        # all candidates play the same cases
        trials = [
            CandidateRun(self.about, as_weights(candidate, self.first), case.workload, case.slots, seed + n, self.by)
            for candidate in candidates
            for n, case in enumerate(cases)
        ]
        scores = run(trials)
        measured = np.array([score.measure for score in scores]).reshape(self.population, -1)
        merit = merits(measured, cases)
        ended = merit[np.isfinite(merit)]
        self.search.tell(draws, np.argsort(merit, kind="stable").tolist())
        self.samples += max(sum(score.started for score in scores), 1)  # so that training ends where all pass for ever
        self.metrics = {
            f"train/median {str(self.by).removeprefix('mean ')} at {case.label}": float(np.median(measured[:, n]))
            for n, case in enumerate(cases)
        }
        self.metrics |= {
            "train/step size": float(self.search.step),
            "train/spread of the scores": float(ended.std()) if len(ended) else math.inf,
        }


def merits(measured: NDArray[np.float64], cases: Sequence[Case]) -> NDArray[np.float64]:
    """Return each candidate's merit, (P,), the lower the better.

    `measured` is (P, N) cases. The merit is the mean logarithm. With references it takes ratios to them, and ratios above 1 count
    double.
    """
    references = [case.reference for case in cases if case.reference is not None]
    if not references:
        return np.asarray(np.log(np.maximum(measured, 1e-9)).mean(axis=1))
    ratios = np.log((measured + FLOOR) / (np.array(references) + FLOOR))
    return np.asarray((ratios + np.maximum(ratios, 0.0)).mean(axis=1))
