"""The linear network: a weighted sum of a few terms of an action, with weights that depend on how many tasks wait."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.compiled.decorators import inner
from packenv.envs.core.rules import Rules
from packenv.envs.core.state import Batch
from packenv.envs.observation.actions import INVALID, REST
from packenv.errors import InputError
from packenv.learning.agents.inference.vectors import Floats, add_scaled, copy_to
from packenv.learning.agents.inference.weights import Weights, array

TERMS = 15
COUNT = np.float32(5.0)
"""Features that are counts are log(1 + n) / COUNT."""
SIZE = 0
"""The first term of an action: the size of the task that starts."""


class LinearNetwork(NamedTuple):
    """Weights w and v: the score of an action is ⟨w + q·v, its terms⟩, q being the logarithm of the tasks waiting."""

    weights: Floats  # (2, TERMS) w, v
    at_hand: Floats  # (TERMS,) scratch: w + q·v
    terms: Floats  # (TERMS,) scratch

    @property
    def unread(self) -> int:
        """The parts of the observation that this network never reads, as bits."""
        return REST | INVALID


def linear_network(agent: str, weights: Weights, rules: Rules) -> LinearNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's rules."""
    if "actions" not in rules.seen:
        raise InputError(f"{agent}: a linear network sees observation='actions'")
    found = array(agent, weights, "actor.weights")
    if found.shape != (2, TERMS):
        raise InputError(f"{agent}: 'actor.weights' has the shape {found.shape} instead of {(2, TERMS)}")
    return LinearNetwork(found, np.zeros(TERMS, np.float32), np.zeros(TERMS, np.float32))


def best_of_linear(network: LinearNetwork, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    weights, terms, mask = network.at_hand, network.terms, b.mask[0]
    copy_to(weights, network.weights[0])
    for a in range(mask.shape[0]):
        if mask[a]:
            add_scaled(weights, b.actions[0, a, 18], network.weights[1])
            break
    best, best_score = NONE, np.float32(0.0)
    for a in range(mask.shape[0]):
        if mask[a]:
            set_terms(terms, b.actions[0, a])
            score = np.float32(0.0)
            for k in range(TERMS):
                score += terms[k] * weights[k]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best


@inner
def set_terms(terms: Floats, features: Floats) -> None:
    """Write the terms of an action from its features (packenv.envs.observation.actions)."""
    terms[SIZE] = features[2]
    terms[1] = features[3]  # room left in the server
    terms[2] = features[4]  # room left once the largest tasks that fit have started too
    terms[3] = math.sqrt(features[3])
    terms[4] = math.sqrt(features[4])
    large = 1.0 if features[2] > 0.5 else 0.0
    terms[5] = large
    terms[6] = features[2] * features[12] * COUNT  # size · log(1 + jobs in the server)
    terms[7] = features[17] * COUNT  # tasks in the virtual queue
    terms[8] = features[14] * COUNT  # waiting tasks that would fill an empty server with this one
    terms[9] = features[1]  # 1: to pass
    terms[10] = large * features[14] * COUNT  # for a large task: waiting tasks that would fill the server with it
    terms[11] = large * features[15] * COUNT  # and all that would fit beside it
    terms[12] = large if features[14] == 0.0 else 0.0  # a large task without any of the former
    terms[13] = large if features[15] == 0.0 else 0.0  # and without any of the latter
    terms[14] = (1.0 - 2.0 * large) * features[16] * COUNT  # whether small tasks are scarce, or large ones
