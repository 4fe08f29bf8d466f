"""CMA-ES: a search for the weights of a small network by whole runs in the compiled loop, without gradients.

A generation draws weights from a normal distribution, lets all of them play the same jobs at every load, and moves the
distribution towards those with the shortest queues. Only their order counts, so neither the arrivals' noise, which they
share, nor the scale of queues at different loads matters. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv
1604.00772, with positive weights; numbers of equations are its own.
"""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from packenv.api import simulate
from packenv.envs.faces.sb3 import PackVecEnv
from packenv.errors import InputError
from packenv.learning.agents.description import describe
from packenv.learning.agents.saved import SavedAgent, Weights
from packenv.learning.checkpoints import seed_at
from packenv.learning.evaluation import evaluation_workloads
from packenv.learning.networks import Network
from packenv.learning.settings import Settings
from packenv.workloads.workload import Workload

LOADS = 4  # that every candidate plays, evenly over the interval
MOST_WEIGHTS = 1000  # the covariance has so many squared


class Game(NamedTuple):
    """One run of one candidate."""

    about: dict[str, Any]
    weights: Weights
    workload: Workload
    slots: int
    seed: int


class Score(NamedTuple):
    """What came of it."""

    queue: float  # mean number of waiting tasks
    started: int


def play(game: Game) -> Score:
    result = simulate(game.workload, SavedAgent("candidate", game.about, game.weights), game.slots, game.seed)
    return Score(result.mean_queue or 0.0, result.started)


class Search(nn.Module):
    """The distribution: its mean is the network's weights. All of it is kept in checkpoints."""

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
            raise InputError(
                f"cma-es looks for at most {MOST_WEIGHTS:,} weights, this network has {n:,}: choose --network linear"
            )
        self.register_buffer("step", torch.tensor(step, dtype=torch.float64))  # σ
        self.register_buffer("covariance", torch.eye(n, dtype=torch.float64))  # C
        self.register_buffer("step_path", torch.zeros(n, dtype=torch.float64))  # p_σ
        self.register_buffer("path", torch.zeros(n, dtype=torch.float64))  # p_c
        self.register_buffer("generation", torch.zeros((), dtype=torch.int64))

    @property
    def mean(self) -> Tensor:
        """(n,)"""
        return parameters_to_vector(self.network.actor.parameters()).detach().double()

    def weights_of(self, candidate: Tensor) -> Weights:
        """(n,) numbers as the network's weights, by name."""
        found, first = {}, 0
        for name, array in self.network.exported().items():
            found[name] = candidate[first : first + array.size].float().numpy().reshape(array.shape)
            first += array.size
        return found

    def ask(self, population: int, seed: int) -> tuple[Tensor, Tensor]:
        """(λ, n) candidates, and (λ, n) the standard normal draws that they are made of; (38)–(40)."""
        draws = torch.randn(population, len(self.path), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        lengths, axes = self._axes()
        return self.mean + self.step * (draws * lengths) @ axes.T, draws

    def tell(self, draws: Tensor, order: list[int]) -> None:
        """Move towards the better half; `order`: the candidates from the best to the worst; (41)–(47)."""
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
        known = math.sqrt(1 - (1 - step_rate) ** (2 * int(self.generation)))
        small = norm / known < (1.4 + 2 / (n + 1)) * expected
        self.path.mul_(1 - path_rate).add_(small * math.sqrt(path_rate * (2 - path_rate) * mass) * moved)
        missing = 0.0 if small else path_rate * (2 - path_rate)
        self.covariance.mul_(1 - path_weight * (1 - missing) - rank_weight)
        self.covariance.add_(path_weight * torch.outer(self.path, self.path) + rank_weight * (steps.T * weights) @ steps)
        self.step.mul_(math.exp(step_rate / damping * (norm / expected - 1)))

    def _axes(self) -> tuple[Tensor, Tensor]:
        """(n,) lengths and (n, n) directions, as columns, of the covariance's axes."""
        squares, axes = torch.linalg.eigh(self.covariance)
        return squares.clamp(min=1e-20).sqrt(), axes


class Evolution:
    """The algorithm, as a training run drives it. What it learned is `policy`; a sample is a task that a candidate started."""

    def __init__(self, settings: Settings, processes: int) -> None:
        self.settings, self.processes = settings, processes
        space = PackVecEnv(settings.environment, 1, bare=True, **settings.env_options()).observation_space
        self.policy = Search(Network(space, 1, settings.network, settings.hidden, critic=False), settings.learning_rate)
        self.population = settings.population or 2 * round(2 + 1.5 * math.log(len(self.policy.path)))
        self.workloads = evaluation_workloads(settings, LOADS)
        self.about = describe(settings, "", 0, "last", {})
        self.num_timesteps = 0

    def set_logger(self, logger: Any) -> None:
        self.logger = logger

    def set_random_seed(self, seed: int) -> None:
        """Every generation has a seed of its own, whether the run was interrupted or not."""

    def learn(self, samples: int, callback: Any, **_: Any) -> None:
        """So many samples more, and what the generation has left to play."""
        end = self.num_timesteps + samples
        callback.init_callback(self)
        callback.on_training_start({}, {})
        with Players(self.processes) as players:
            while self.num_timesteps < end:
                callback.on_rollout_start()
                self._generation(players)
                callback.on_step()

    def _generation(self, players: Players) -> None:
        seed = seed_at(self.settings.seed, self.num_timesteps)
        candidates, draws = self.policy.ask(self.population, seed)
        games = [
            Game(self.about, self.policy.weights_of(candidate), workload, self.settings.horizon, seed + n)
            for candidate in candidates
            for n, workload in enumerate(self.workloads.values())
        ]
        scores = players(games)
        queues = np.array([score.queue for score in scores]).reshape(self.population, -1)
        merit = np.log(np.maximum(queues, 1e-9)).mean(axis=1)
        self.policy.tell(draws, np.argsort(merit, kind="stable").tolist())
        self.num_timesteps += sum(score.started for score in scores)
        for n, label in enumerate(self.workloads):
            self.logger.record(f"train/median queue at {label}", float(np.median(queues[:, n])))
        self.logger.record("train/step size", float(self.policy.step))
        self.logger.record("train/spread of the scores", float(merit.std()))


class Players:
    """Games side by side, in processes of their own if there are several; scores in the order of the games."""

    def __init__(self, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(processes, mp_context=context) if processes > 1 else None

    def __enter__(self) -> Players:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def __call__(self, games: list[Game]) -> list[Score]:
        if self.pool is None:
            return [play(game) for game in games]
        return list(self.pool.map(play, games))
