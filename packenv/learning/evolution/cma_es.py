"""CMA-ES: a search for the weights of a small network, without gradients.

A generation draws candidates from a normal distribution, and the distribution moves towards the better half of them. Only
their order counts. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772, with positive weights; equation
numbers are those of the tutorial.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from packenv.errors import ArgumentError
from packenv.learning.agents.inference.weights import Weights
from packenv.learning.networks.network import Network

MOST_WEIGHTS = 1000  # the covariance has so many squared


class CmaEs(nn.Module):
    """A normal distribution over the weights of a network's actor. Its mean is the network's weights.

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
        found, first = {}, 0
        for name, array in self.network.exported().items():
            found[name] = candidate[first : first + array.size].float().numpy().reshape(array.shape)
            first += array.size
        return found

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
        known = math.sqrt(1 - (1 - step_rate) ** (2 * int(self.generation)))
        small = norm / known < (1.4 + 2 / (n + 1)) * expected
        self.path.mul_(1 - path_rate).add_(small * math.sqrt(path_rate * (2 - path_rate) * mass) * moved)
        missing = 0.0 if small else path_rate * (2 - path_rate)
        self.covariance.mul_(1 - path_weight * (1 - missing) - rank_weight)
        self.covariance.add_(path_weight * torch.outer(self.path, self.path) + rank_weight * (steps.T * weights) @ steps)
        self.step.mul_(math.exp(step_rate / damping * (norm / expected - 1)))

    def _axes(self) -> tuple[Tensor, Tensor]:
        """(n,) lengths and (n, n) directions, in columns, of the covariance's axes."""
        squares, axes = torch.linalg.eigh(self.covariance)
        return squares.clamp(min=1e-20).sqrt(), axes
