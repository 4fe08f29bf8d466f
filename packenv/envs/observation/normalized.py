"""The observation "normalized": the features of "actions" in one flat array within [−1, 1], for generic clients.

First the features of action 0, then those of action 1, … then those of the context: A·F + C numbers. Flags are as they are.
Shares and logarithms, log(1 + n) / 5, go from −1 to 1: twice the feature, less 1, cut off at 1 where n is 147; of a feature
that may be negative, twice the feature. A network with small first weights sees little of numbers that stay near 0 or vary
little. The features of an action that is not valid are 0. Their number depends on the servers and types, not on the load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.observation.features import ACTION_FEATURES, CONTEXT, CONTEXT_FEATURES, FEATURES, FLAG, VALID, Feature
from packenv.errors import InputError

Floats = NDArray[np.float32]


def _factors(features: tuple[Feature, ...]) -> Floats:
    return np.array([1.0 if feature.scale == FLAG else 2.0 for feature in features], np.float32)


def _offsets(features: tuple[Feature, ...]) -> Floats:
    return np.array([0.0 if feature.scale == FLAG or feature.negative else -1.0 for feature in features], np.float32)


OF_ACTION, OF_CONTEXT = _factors(ACTION_FEATURES), _factors(CONTEXT_FEATURES)
FROM_ACTION, FROM_CONTEXT = _offsets(ACTION_FEATURES), _offsets(CONTEXT_FEATURES)


def normalized(actions: Floats, context: Floats) -> Floats:
    """(…, A·F + C) from (…, A, F) and (…, C), in a new array."""
    *rows, count, _ = actions.shape
    flat = np.empty((*rows, count * FEATURES + CONTEXT), np.float32)
    of_actions = flat[..., :-CONTEXT].reshape(actions.shape)
    np.multiply(actions, OF_ACTION, out=of_actions)
    of_actions += FROM_ACTION * actions[..., VALID : VALID + 1]
    np.multiply(context, OF_CONTEXT, out=flat[..., -CONTEXT:])
    flat[..., -CONTEXT:] += FROM_CONTEXT
    return np.clip(flat, -1.0, 1.0, out=flat)


def lowest(actions: int) -> Floats:
    """(A·F + C,) −1, or 0 for flags; none is above 1."""
    of_action = np.array([0.0 if feature.scale == FLAG else -1.0 for feature in ACTION_FEATURES], np.float32)
    return np.concatenate((np.tile(of_action, actions), np.full(CONTEXT, -1.0, np.float32)))


def feature_names(actions: int) -> tuple[str, ...]:
    """(A·F + C,) `action_0.valid`, `action_0.waits`, …, `context.small_room`: the names of the tables of features."""
    of_actions = [f"action_{n}.{feature.name}" for n in range(actions) for feature in ACTION_FEATURES]
    return (*of_actions, *(f"context.{feature.name}" for feature in CONTEXT_FEATURES))


def check_normalized(observed: object, name: str, mask_in_observation: bool) -> None:
    """Raises InputError where there are no features of actions to flatten, or the mask is asked for a second time."""
    if observed != {"actions", "context"}:
        raise InputError(f"{name} has no features of actions: observation='normalized' is made of them")
    if mask_in_observation:
        raise InputError("observation='normalized' has the mask already, as the features `action_….valid`")
