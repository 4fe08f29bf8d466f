"""Actors and critics: the networks that score actions, and those that value a state.

`SharedActor` scores every action by the same weights, so virtual queues and servers may be permuted and their number may
change; `LinearActor` is a weighted sum of a few terms of an action, `SumActor` of its features, `VaryingActor` with weights
that change with the load; `Mlp` reads all arrays at once and works only for the numbers of servers and types that it was
made for.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from packenv.envs.core import features as feature
from packenv.learning.agents.networks import COUNT, SIZE, TERMS
from tests.reference.networks.valid_actions import ValidActions, layer_of, mean_of


class SharedActor(nn.Module):
    """Scores an action by its own features, the context, and the mean of the first hidden layer over all valid actions."""

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(features + context, hidden)
        self.second = nn.Linear(2 * hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, rows: ValidActions) -> Tensor:
        """(N,) scores of the valid actions."""
        first = layer_of(self.first, rows.features, rows.context, rows)
        second = layer_of(self.second, first, mean_of(first, rows), rows)
        scores: Tensor = self.last(second).squeeze(1)
        return scores


class SharedCritic(nn.Module):
    """The value of a state, from the context and the mean of the first hidden layer over all valid actions."""

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(features + context, hidden)
        self.second = nn.Linear(hidden + context, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, rows: ValidActions) -> Tensor:
        """(E, 1) values."""
        mean = mean_of(layer_of(self.first, rows.features, rows.context, rows), rows)
        value: Tensor = self.last(torch.relu(self.second(torch.cat((mean, rows.context), dim=1))))
        return value


class LinearActor(nn.Module):
    """⟨w + q·v, terms of the action⟩, q being the feature `waiting` of the action, the logarithm of the tasks waiting.

    With its initial weights the score is the size of the task, so the agent starts as best fit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(2, TERMS))  # w, v
        with torch.no_grad():
            self.weights[0, SIZE] = 1.0

    def forward(self, rows: ValidActions) -> Tensor:
        """(N,) scores of the valid actions."""
        plain, scaled = linear(terms_of(rows.features), self.weights).unbind(1)
        return plain + rows.features[:, feature.WAITING] * scaled


def terms_of(features: Tensor) -> Tensor:
    """(N, TERMS) from (N, F) features, as `set_terms` of packenv.learning.agents.networks."""
    of_server = feature.WAITS, feature.SIZE, feature.ROOM_LEFT, feature.ROOM_FILLED, feature.JOBS
    passing, size, left, filled, jobs = (features[:, k] for k in of_server)
    of_queue = feature.COMPLEMENTS, feature.COMPANIONS, feature.EXCESS, feature.QUEUE_PER_ROOT
    exact, fitting, excess, queue = (features[:, k] for k in of_queue)
    count, large = float(COUNT), (size > 0.5).float()
    shares = size, left, filled, left.sqrt(), filled.sqrt(), large
    counts = size * jobs * count, queue * count, exact * count, passing
    company = large * exact * count, large * fitting * count, large * (exact == 0), large * (fitting == 0)
    return torch.stack((*shares, *counts, *company, (1 - 2 * large) * excess * count), dim=1)


class SumActor(nn.Module):
    """⟨w, features of the action⟩, plus ⟨v, context⟩ for the action that waits. With its initial weights all are equal."""

    def __init__(self, features: int, context: int) -> None:
        super().__init__()
        self.of_action = nn.Parameter(torch.zeros(features))
        self.of_context = nn.Parameter(torch.zeros(context))

    def forward(self, rows: ValidActions) -> Tensor:
        """(N,) scores of the valid actions."""
        waiting = (rows.context @ self.of_context).index_select(0, rows.environment)
        return rows.features @ self.of_action + rows.features[:, feature.WAITS] * waiting


class VaryingActor(SumActor):
    """⟨w + q·v, features of the action⟩, plus ⟨u, context⟩ for the action that waits.

    q is the number at `waiting` in the context, the logarithm of the waiting tasks. With v = 0 it is `SumActor`.
    """

    def __init__(self, features: int, context: int, waiting: int) -> None:
        super().__init__(features, context)
        self.per_waiting = nn.Parameter(torch.zeros(features))
        self.waiting = waiting

    def forward(self, rows: ValidActions) -> Tensor:
        """(N,) scores of the valid actions."""
        q = rows.context[:, self.waiting].index_select(0, rows.environment)
        return super().forward(rows) + q * (rows.features @ self.per_waiting)


class Mlp(nn.Module):
    """A multilayer perceptron with two hidden layers."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        widths = [inputs, hidden, hidden, outputs]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in pairwise(widths)])

    def forward(self, x: Tensor) -> Tensor:
        """(E, inputs) to (E, outputs)."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        result: Tensor = self.layers[-1](x)
        return result
