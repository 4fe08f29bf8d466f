"""The shared network: every action is scored by the same weights, beside the mean of all valid actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from packenv.cluster import NONE
from packenv.envs.core.definition import Layout
from packenv.envs.core.features import CONTEXT, FIRST_FEATURES, NO_COMPANY, NO_INVALID, OF_TASKS
from packenv.envs.core.state import Batch
from packenv.errors import InputError
from packenv.learning.agents.inference.vectors import Floats, add_scaled, copy_to, rectify
from packenv.learning.agents.inference.weights import Weights, array, matrix, vector


class SharedNetwork(NamedTuple):
    """Two hidden layers of width H over F features of an action and C of the context; matrices are (inputs, outputs)."""

    first: Floats  # (F + C, H)
    first_bias: Floats  # (H,)
    second: Floats  # (2 H, H)
    second_bias: Floats  # (H,)
    last: Floats  # (H,)
    hidden: Floats  # (A, H) scratch
    base: Floats  # (H,) scratch
    mean: Floats  # (H,) scratch
    out: Floats  # (H,) scratch

    @property
    def unread(self) -> int:
        """The parts of the observation that this network never reads, as bits."""
        return NO_INVALID | (NO_COMPANY if len(self.first) == FIRST_FEATURES + CONTEXT else 0)


def shared_network(agent: str, weights: Weights, layout: Layout) -> SharedNetwork:
    """The network from its saved weights. Raises InputError where they do not fit the environment's layout."""
    width = array(agent, weights, "actor.first.bias").shape[0]
    if "actions" not in layout.observed:
        raise InputError(f"{agent}: a shared network sees observation='actions'")
    inputs = layout.observed["actions"][1] + layout.observed["context"][0]
    if layout.features is OF_TASKS and array(agent, weights, "actor.first.weight").shape == (width, FIRST_FEATURES + CONTEXT):
        inputs = FIRST_FEATURES + CONTEXT  # saved before the last features existed
    return SharedNetwork(
        first=matrix(agent, weights, "actor.first", (width, inputs)),
        first_bias=array(agent, weights, "actor.first.bias"),
        second=matrix(agent, weights, "actor.second", (width, 2 * width)),
        second_bias=vector(agent, weights, "actor.second.bias", width),
        last=matrix(agent, weights, "actor.last", (1, width))[:, 0].copy(),
        hidden=np.zeros((layout.actions, width), np.float32),
        base=np.zeros(width, np.float32),
        mean=np.zeros(width, np.float32),
        out=np.zeros(width, np.float32),
    )


def best_of_shared(network: SharedNetwork, b: Batch) -> int:
    """The valid action of the highest score, the first of equals."""
    actions, context, mask = b.actions[0], b.context[0], b.mask[0]
    features, width = network.first.shape[0] - context.shape[0], network.base.shape[0]
    base, mean, out = network.base, network.mean, network.out
    copy_to(base, network.first_bias)
    for h in range(width):
        mean[h] = np.float32(0.0)
    for k in range(context.shape[0]):
        add_scaled(base, context[k], network.first[features + k])
    valid = 0
    for a in range(mask.shape[0]):
        if mask[a]:
            valid += 1
            hidden = network.hidden[a]
            copy_to(hidden, base)
            for k in range(features):
                add_scaled(hidden, actions[a, k], network.first[k])
            rectify(hidden)
            add_scaled(mean, np.float32(1.0), hidden)
    copy_to(base, network.second_bias)
    for k in range(width):
        add_scaled(base, mean[k] / np.float32(valid), network.second[width + k])
    best, best_score = NONE, np.float32(0.0)
    for a in range(mask.shape[0]):
        if mask[a]:
            copy_to(out, base)
            for k in range(width):
                add_scaled(out, network.hidden[a, k], network.second[k])
            score = np.float32(0.0)
            for h in range(width):
                score += max(out[h], np.float32(0.0)) * network.last[h]
            if best == NONE or score > best_score:
                best, best_score = a, score
    return best
