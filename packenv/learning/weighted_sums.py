"""Weighted sums, the networks that evolution trains.

The score of an action is ⟨weights, terms of the action⟩. `linear` weighs fifteen terms of sizes and rooms, `sum` the features of
the action, and `varying` these with weights that change with the number of waiting tasks. Compiled inference
(packenv.learning.agents.networks) reads the weights by the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Layout
from packenv.envs.core.features import OF_TASKS, WAITING, WAITS
from packenv.errors import ArgumentError, InputError
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.networks import SIZE, TERMS, terms_of
from packenv.learning.agents.weights import Weights, with_later_features

Doubles = NDArray[np.float64]
Observation = Mapping[str, NDArray[Any]]


def first_weights(kind: str, layout: Layout) -> Weights:
    """Return first weights: `linear` as best fit, otherwise zeros."""
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    if kind == "linear":
        if layout.features is not OF_TASKS:
            raise ArgumentError("the linear network reads the features of sizes and servers: choose `network` sum or varying")
        weights = np.zeros((2, TERMS), np.float32)  # w, and v, which counts times the logarithm of the waiting tasks
        weights[0, SIZE] = 1.0
        return {"actor.weights": weights}
    sums = {"actor.of_action": np.zeros(features, np.float32), "actor.of_context": np.zeros(context, np.float32)}
    if kind == "sum":
        return sums
    if layout.features.waiting is None:
        raise ArgumentError("the varying network needs the number of waiting tasks, not in the context: choose `network` sum")
    return sums | {"actor.per_waiting": np.zeros(features, np.float32)}


def terms(kind: str, layout: Layout, seen: Observation) -> Doubles:
    """Return each action's terms, (N, A, n), as in `as_vector`."""
    actions, context = seen["actions"].astype(np.float64), seen["context"].astype(np.float64)
    if kind == "linear":
        features = terms_of(seen["actions"])
        return np.concatenate([features, actions[:, :, WAITING : WAITING + 1] * features], axis=2)
    parts = [actions, actions[:, :, WAITS : WAITS + 1] * context[:, None]]
    if kind == "varying":
        parts.append(context[:, layout.features.waiting, None, None] * actions)
    return np.concatenate(parts, axis=2)


def as_vector(weights: Weights) -> Doubles:
    """Return all weights, one array after the other, (n,)."""
    return np.concatenate([array.ravel() for array in weights.values()]).astype(np.float64)


def as_weights(vector: Doubles, like: Weights) -> Weights:
    """Return arrays of `like`'s shapes with these numbers."""
    ends = np.cumsum([array.size for array in like.values()])[:-1]
    parts = zip(like.items(), np.split(vector.astype(np.float32), ends), strict=True)
    return {name: part.reshape(array.shape) for (name, array), part in parts}


def weights_of_agent(agent: SavedAgent, kind: str, like: Weights, layout: Layout) -> Weights:
    """Return a saved agent's weights to begin with (InputError)."""
    features, context = layout.observed["actions"][1], layout.observed["context"][0]
    saved = with_later_features(agent.weights, features, context, agent.context)
    if kind == "varying" and agent.network == "sum":
        saved["actor.per_waiting"] = np.zeros_like(like["actor.per_waiting"])
    if {name: array.shape for name, array in saved.items()} != {name: array.shape for name, array in like.items()}:
        raise InputError(f"{agent.name}: its network is not of the kind and size that is to be trained")
    return {name: saved[name] for name in like}
