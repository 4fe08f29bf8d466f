"""The valid actions of a batch of observations as rows, and sums and means over the actions of each environment.

E environments, A actions each; N valid actions in all; H hidden units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, linear

Observation = Mapping[str, Tensor]


class ValidActions(NamedTuple):
    """A row for each valid action of each environment, N in all, environment by environment.

    Few of the E · A actions are valid, so a network that looks at these rows alone does a fraction of the work.
    """

    features: Tensor  # (N, F)
    context: Tensor  # (E, C)
    environment: Tensor  # (N,) which environment a row belongs to
    first: Tensor  # (E,) the first row of each environment
    place: Tensor  # (N,) where the row's score goes in (E · A)
    valid: Tensor  # (E, 1) the number of valid actions of each environment


def valid_actions(seen: Observation, mask: Tensor) -> ValidActions:
    """The rows of an observation's valid actions; `mask` (E, A)."""
    actions, valid = seen["actions"], mask.sum(1, keepdim=True)
    place = mask.flatten().nonzero().squeeze(1)
    environment = torch.div(place, mask.shape[1], rounding_mode="floor")
    first = valid.squeeze(1).long().cumsum(0) - valid.squeeze(1).long()
    return ValidActions(actions.flatten(0, 1).index_select(0, place), seen["context"], environment, first, place, valid)


class ToActions(torch.autograd.Function):
    """(E, H) to (N, H): an environment's vector, repeated for each of its rows."""

    @staticmethod
    def forward(ctx: Any, common: Tensor, rows: ValidActions) -> Tensor:
        ctx.rows = rows
        return common.index_select(0, rows.environment)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return summed(gradients[0], ctx.rows), None


class ToEnvironments(torch.autograd.Function):
    """(N, H) to (E, H): the sum over the rows of each environment."""

    @staticmethod
    def forward(ctx: Any, each: Tensor, rows: ValidActions) -> Tensor:
        ctx.rows = rows
        return summed(each, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].index_select(0, ctx.rows.environment), None


to_actions: Callable[[Tensor, ValidActions], Tensor] = ToActions.apply
to_environments: Callable[[Tensor, ValidActions], Tensor] = ToEnvironments.apply


def summed(each: Tensor, rows: ValidActions) -> Tensor:
    """(E, H) sums over the rows of each environment. Rows lie side by side, so this takes an eighth of index_add's time."""
    return embedding_bag(torch.arange(len(each)), each, rows.first, mode="sum")


def layer_of(layer: nn.Linear, own: Tensor, common: Tensor, rows: ValidActions) -> Tensor:
    """(N, H) relu(W [own; common] + b), the common part (E, C) computed once per environment."""
    width = own.shape[1]
    of_common = to_actions(linear(common, layer.weight[:, width:], layer.bias), rows)
    return torch.relu_(torch.addmm(of_common, own, layer.weight[:, :width].T))


def mean_of(each: Tensor, rows: ValidActions) -> Tensor:
    """(E, H) mean over the valid actions of each environment."""
    return to_environments(each, rows) / rows.valid


def random_valid(mask: Tensor) -> Tensor:
    """(E,) one of the valid actions of each row, all equally likely."""
    return (torch.rand(mask.shape) * mask).argmax(dim=1)
