"""Evolution as a learner: candidates schedule whole runs in the compiled loop, and those with short queues, or early jobs, win.

All candidates of a generation see the same jobs at the same loads. Only their order counts, so neither the randomness of
the arrivals, which they share, nor the different lengths of queues at different loads matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.errors import ArgumentError
from packenv.executors.choose import PROCESSES, executor
from packenv.executors.pieces import Pieces
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.inference.weights import Weights
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.imitation import imitate_policy, scaled
from packenv.learning.learner import Learner
from packenv.learning.networks.network import Network, form_of
from packenv.learning.objective import Objective, measure, objective
from packenv.learning.settings import Settings, workloads_at_loads
from packenv.workloads.workload import Workload

MOST_WEIGHTS = 1000  # the covariance has so many squared


class CmaEs(nn.Module):
    """A normal distribution over the weights of a network's actor. Its mean is the network's weights.

    A generation draws candidates from it, and it moves towards the better half of them; only their order counts. Hansen, "The
    CMA Evolution Strategy: A Tutorial", arXiv 1604.00772, with positive weights; equation numbers are those of the tutorial.

    Raises InputError for a network with more than MOST_WEIGHTS weights.
    """

    step: Tensor
    covariance: Tensor
    step_path: Tensor
    path: Tensor
    generation: Tensor

    def __init__(self, network: Network, step: float) -> None:
        super().__init__()
        self.network = network
        n = sum(weights.numel() for weights in network.actor.parameters())
        if n > MOST_WEIGHTS:
            raise ArgumentError(
                f"cma-es looks for at most {MOST_WEIGHTS:,} weights, this network has {n:,}: choose `network` linear"
            )
        self.register_buffer("step", torch.tensor(step, dtype=torch.float64))  # σ
        self.register_buffer("covariance", torch.eye(n, dtype=torch.float64))  # C
        self.register_buffer("step_path", torch.zeros(n, dtype=torch.float64))  # p_σ
        self.register_buffer("path", torch.zeros(n, dtype=torch.float64))  # p_c
        self.register_buffer("generation", torch.zeros((), dtype=torch.int64))

    @property
    def mean(self) -> Tensor:
        """(n,) the mean of the distribution."""
        return parameters_to_vector(self.network.actor.parameters()).detach().double()

    def weights_of(self, candidate: Tensor) -> Weights:
        """The network's weights by name, from the (n,) numbers of a candidate."""
        weights, first = {}, 0
        for name, array in self.network.exported().items():
            weights[name] = candidate[first : first + array.size].float().numpy().reshape(array.shape)
            first += array.size
        return weights

    def ask(self, population: int, seed: int) -> tuple[Tensor, Tensor]:
        """(λ, n) candidates, and the (λ, n) standard normal draws that they are made from; equations (38)–(40)."""
        draws = torch.randn(population, len(self.path), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        lengths, axes = self._axes()
        return self.mean + self.step * (draws * lengths) @ axes.T, draws

    def tell(self, draws: Tensor, order: list[int]) -> None:
        """Move towards the better half of the candidates; `order`: from the best to the worst; equations (41)–(47)."""
        n, half = len(self.path), len(order) // 2
        weights = torch.log(torch.tensor(len(order) / 2 + 0.5)) - torch.log(torch.arange(1, half + 1, dtype=torch.float64))
        weights = weights / weights.sum()
        mass = 1 / float((weights**2).sum())
        step_rate = (mass + 2) / (n + mass + 5)
        damping = 1 + step_rate + 2 * max(0.0, math.sqrt((mass - 1) / (n + 1)) - 1)
        path_rate = (4 + mass / n) / (n + 4 + 2 * mass / n)
        path_weight = 2 / ((n + 1.3) ** 2 + mass)
        rank_weight = min(1 - path_weight, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # E‖N(0, I)‖

        lengths, axes = self._axes()
        steps = (draws[order[:half]] * lengths) @ axes.T
        moved = weights @ steps
        vector_to_parameters((self.mean + self.step * moved).float(), self.network.actor.parameters())
        self.generation += 1
        whitened = axes @ ((axes.T @ moved) / lengths)
        self.step_path.mul_(1 - step_rate).add_(math.sqrt(step_rate * (2 - step_rate) * mass) * whitened)
        norm = float(self.step_path.norm())
        steady = math.sqrt(1 - (1 - step_rate) ** (2 * int(self.generation)))
        small = norm / steady < (1.4 + 2 / (n + 1)) * expected
        self.path.mul_(1 - path_rate).add_(small * math.sqrt(path_rate * (2 - path_rate) * mass) * moved)
        correction = 0.0 if small else path_rate * (2 - path_rate)
        self.covariance.mul_(1 - path_weight * (1 - correction) - rank_weight)
        self.covariance.add_(path_weight * torch.outer(self.path, self.path) + rank_weight * (steps.T * weights) @ steps)
        self.step.mul_(math.exp(step_rate / damping * (norm / expected - 1)))

    def _axes(self) -> tuple[Tensor, Tensor]:
        """(n,) lengths and (n, n) directions, in columns, of the covariance's axes."""
        squares, axes = torch.linalg.eigh(self.covariance)
        return squares.clamp(min=1e-20).sqrt(), axes


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


LOADS = 4  # of every candidate, spread evenly over the interval
TABLES = 8  # of every candidate, where every seed has a table of its own: they differ by more than loads do
FLOOR = 0.1  # tasks: where a reference is known, shorter queues than this hardly differ


class Case(NamedTuple):
    """A run that every candidate of a generation makes."""

    label: str
    workload: Workload
    slots: int
    reference: float | None = None  # what a policy measures on the same jobs


class Evolution(Learner):
    """CMA-ES over the weights of the settings' network; candidates run on the executor `on`, as `packenv.executor` names it.

    `draw` gives a generation's cases from its seed; case n runs with seed + n. Without it all generations have the settings'
    workload, at several loads.
    """

    def __init__(
        self,
        settings: Settings,
        processes: int = 1,
        on: str = PROCESSES,
        draw: Callable[[int], list[Case]] | None = None,
    ) -> None:
        self.settings, self.processes, self.on = settings, processes, on
        env = PackVecEnv(settings.environment, 1, bare=True, **settings.env_options())
        self.network = Network(env.observation_space, 1, critic=False, **form_of(settings, env.core.layout))
        self.search = CmaEs(self.network, settings.learning_rate)
        self.module, self.optimizer, self.core = self.search, None, None
        self.population = settings.population or 2 * round(2 + 1.5 * math.log(len(self.search.path)))
        if draw is None:
            cases = [Case(*case, settings.horizon) for case in workloads_at_loads(settings, LOADS).items()]
            if settings.workload.draw is not None and len(cases) == 1:
                cases *= TABLES
        self.draw = draw or (lambda seed: cases)
        self.by = objective(settings.reward)
        self.about = agent_metadata(settings, "", 0, "last", {})
        self.started = 0
        self.metrics: dict[str, float] = {}

    def initialise(self, say: Callable[[str], None] = print) -> str | None:
        line = super().initialise(say)
        if self.settings.imitate is not None:
            line = imitate_policy(self.settings, self.network, say)
            scaled(self.network)  # the step size is relative to weights of order 1
        return line

    @property
    def samples(self) -> int:
        return self.started

    def learn(self, samples: int, between: Callable[[], None]) -> None:
        end = self.started + samples
        with executor(self.on, self.processes) as cluster:
            run = TrialRunner(cluster)
            while self.started < end:
                between()
                self._generation(run)

    def measured(self) -> dict[str, float]:
        metrics, self.metrics = self.metrics, {}
        return metrics

    def counters(self) -> dict[str, Any]:
        return {"num_timesteps": self.started}

    def resume(self, counters: dict[str, Any]) -> None:
        self.started = counters["num_timesteps"]

    def _generation(self, run: TrialRunner) -> None:
        seed = self.settings.seed_after(self.started)  # the same whether the run was interrupted or not
        candidates, draws = self.search.ask(self.population, seed)
        cases = self.draw(seed)
        trials = [
            Trial(self.about, self.search.weights_of(candidate), case.workload, case.slots, seed + n, self.by)
            for candidate in candidates
            for n, case in enumerate(cases)
        ]
        scores = run(trials)
        measured = np.array([score.measure for score in scores]).reshape(self.population, -1)
        merit = merits(measured, cases)
        ended = merit[np.isfinite(merit)]
        self.search.tell(draws, np.argsort(merit, kind="stable").tolist())
        self.started += max(sum(score.started for score in scores), 1)  # so that training ends where all pass for ever
        self.metrics = {
            f"train/median {str(self.by).removeprefix('mean ')} at {case.label}": float(np.median(measured[:, n]))
            for n, case in enumerate(cases)
        }
        self.metrics |= {
            "train/step size": float(self.search.step),
            "train/spread of the scores": float(ended.std()) if len(ended) else math.inf,
        }


def merits(measured: NDArray[np.float64], cases: Sequence[Case]) -> NDArray[np.float64]:
    """(P,) of each candidate, the lower the better, from what it measured in the cases, (P, N).

    The mean logarithm; where references are known, of the ratio to them, and ratios above 1 count double.
    """
    references = [case.reference for case in cases if case.reference is not None]
    if not references:
        return np.asarray(np.log(np.maximum(measured, 1e-9)).mean(axis=1))
    ratios = np.log((measured + FLOOR) / (np.array(references) + FLOOR))
    return np.asarray((ratios + np.maximum(ratios, 0.0)).mean(axis=1))
