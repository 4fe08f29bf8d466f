"""The sum network: a weighted sum of the features of an action, and of the context for the action that waits or passes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import WAITS
from packenv.envs.core.state import Batch
from packenv.errors import InputError
from packenv.learning.agents.inference.vectors import Floats
from packenv.learning.agents.inference.weights import Weights, of_features


class SumNetwork(NamedTuple):
    """The score of an action is ⟨w, its features⟩, and ⟨v, context⟩ is added for the action that waits."""

    of_action: Floats  # (F,) w
    of_context: Floats  # (C,) v

    @property
    def unread(self) -> int:
        """It reads all features."""
        return 0


def sum_network(agent: str, weights: Weights, layout: Layout) -> SumNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a sum network sees observation='actions'")
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    return SumNetwork(
        of_features(agent, weights, "actor.of_action", features),
        of_features(agent, weights, "actor.of_context", context),
    )


def best_of_sum(network: SumNetwork, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    mask, best, best_score = b.mask[0], NONE, np.float32(0.0)
    for a in range(mask.shape[0]):
        if mask[a]:
            row, score = b.actions[0, a], np.float32(0.0)
            for k in range(row.shape[0]):
                score += row[k] * network.of_action[k]
            if row[WAITS] > 0:
                for k in range(network.of_context.shape[0]):
                    score += b.context[0, k] * network.of_context[k]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best
