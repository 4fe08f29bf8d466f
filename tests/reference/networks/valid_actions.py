"""The valid actions of a batch of observations as rows, and sums and means over the actions of each environment.

E environments, A actions each; N valid actions in all; H hidden units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

Observation = Mapping[str, Tensor]


class ValidActions(NamedTuple):
    """A row for each valid action of each environment, N in all, environment by environment.

    Few of the E · A actions are valid, so a network that looks at these rows alone does a fraction of the work.
    """

    features: Tensor  # (N, F)
    context: Tensor  # (E, C)
    environment: Tensor  # (N,) which environment a row belongs to
    place: Tensor  # (N,) where the row's score goes in (E · A)
    valid: Tensor  # (E, 1) the number of valid actions of each environment


def valid_actions(observation: Observation, mask: Tensor) -> ValidActions:
    """The rows of an observation's valid actions; `mask` (E, A)."""
    actions, valid = observation["actions"], mask.sum(1, keepdim=True)
    place = mask.flatten().nonzero().squeeze(1)
    environment = torch.div(place, mask.shape[1], rounding_mode="floor")
    return ValidActions(actions.flatten(0, 1).index_select(0, place), observation["context"], environment, place, valid)


def layer_of(layer: nn.Linear, features: Tensor, common: Tensor, rows: ValidActions) -> Tensor:
    """(N, H) relu(W [each; common] + b), the common part (E, C) computed once per environment."""
    width = features.shape[1]
    of_common = linear(common, layer.weight[:, width:], layer.bias).index_select(0, rows.environment)
    return torch.relu_(torch.addmm(of_common, features, layer.weight[:, :width].T))


def mean_of(features: Tensor, rows: ValidActions) -> Tensor:
    """(E, H) mean over the valid actions of each environment."""
    sums = features.new_zeros(len(rows.valid), features.shape[1]).index_add(0, rows.environment, features)
    return sums / rows.valid


def random_valid(mask: Tensor) -> Tensor:
    """(E,) one of the valid actions of each row, all equally likely."""
    return (torch.rand(mask.shape) * mask).argmax(dim=1)
