"""The sum and the varying network: a weighted sum of the features of an action, and of the context for the one that waits.

The weights of the varying one change with the number of waiting tasks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import WAITS
from packenv.envs.core.state import Batch
from packenv.errors import InputError
from packenv.learning.agents.inference.vectors import Floats, add_scaled, copy_to
from packenv.learning.agents.inference.weights import Weights, of_features


class WeightedSum(NamedTuple):
    """The score of an action is ⟨w + q·v, its features⟩, and ⟨u, context⟩ is added for the action that waits.

    q is the context's feature of waiting tasks.
    """

    of_action: Floats  # (F,) w
    per_waiting: Floats  # (F,) v
    of_context: Floats  # (C,) u
    waiting: int  # the position of q in the context
    at_hand: Floats  # (F,) scratch: w + q·v

    @property
    def unread(self) -> int:
        """It reads all features."""
        return 0


def varying_network(agent: str, weights: Weights, layout: Layout) -> WeightedSum:
    """The varying network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    waiting = layout.features.waiting
    if "actions" not in layout.observed or waiting is None:
        raise InputError(f"{agent}: a varying network sees observation='actions', and how many tasks wait in its context")
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    return WeightedSum(
        of_features(agent, weights, "actor.of_action", features),
        of_features(agent, weights, "actor.per_waiting", features),
        of_features(agent, weights, "actor.of_context", context),
        waiting,
        np.zeros(features, np.float32),
    )


def sum_network(agent: str, weights: Weights, layout: Layout) -> WeightedSum:
    """The sum network from its saved weights, the same however many tasks wait: v = 0.

    Raises InputError where they do not fit the environment's layout.
    """
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a sum network sees observation='actions'")
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    return WeightedSum(
        of_features(agent, weights, "actor.of_action", features),
        np.zeros(features, np.float32),
        of_features(agent, weights, "actor.of_context", context),
        0,
        np.zeros(features, np.float32),
    )


def best_of_sum(network: WeightedSum, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    mask, weights, best, best_score = b.mask[0], network.at_hand, NONE, np.float32(0.0)
    copy_to(weights, network.of_action)
    add_scaled(weights, b.context[0, network.waiting], network.per_waiting)
    for a in range(mask.shape[0]):
        if mask[a]:
            row, score = b.actions[0, a], np.float32(0.0)
            for k in range(row.shape[0]):
                score += row[k] * weights[k]
            if row[WAITS] > 0:
                for k in range(network.of_context.shape[0]):
                    score += b.context[0, k] * network.of_context[k]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best
