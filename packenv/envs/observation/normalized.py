"""The observation "normalized": the features of "actions" in one flat array within [−1, 1], for generic clients.

First the features of action 0, then those of action 1, … then those of the context: A·F + C numbers. Flags are as they are.
Shares and logarithms, log(1 + n) / 5, go from −1 to 1: twice the feature, less 1, cut off at 1 where n is 147; of a feature
that may be negative, twice the feature. A network with small first weights sees little of numbers that stay near 0 or vary
little. The features of an action that is not valid are 0. Their number depends on the servers and types, not on the load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.envs.core.definition import Layout
from packenv.envs.observation.features import FLAG, VALID, Feature, features_of
from packenv.errors import InputError

Floats = NDArray[np.float32]


class Flattening:
    """From the features of actions and of the context of an environment to one flat array."""

    def __init__(self, layout: Layout) -> None:
        self.of_action, self.of_context = features_of(layout)
        self._of_action, self._of_context = _factors(self.of_action), _factors(self.of_context)
        self._from_action, self._from_context = _offsets(self.of_action), _offsets(self.of_context)

    def __call__(self, actions: Floats, context: Floats) -> Floats:
        """(…, A·F + C) from (…, A, F) and (…, C), in a new array."""
        *rows, count, features = actions.shape
        flat = np.empty((*rows, count * features + len(self.of_context)), np.float32)
        of_actions = flat[..., : count * features].reshape(actions.shape)
        np.multiply(actions, self._of_action, out=of_actions)
        of_actions += self._from_action * actions[..., VALID : VALID + 1]
        np.multiply(context, self._of_context, out=flat[..., count * features :])
        flat[..., count * features :] += self._from_context
        return np.clip(flat, -1.0, 1.0, out=flat)

    def lowest(self, actions: int) -> Floats:
        """(A·F + C,) −1, or 0 for flags; none is above 1."""
        of_action = np.array([0.0 if feature.scale == FLAG else -1.0 for feature in self.of_action], np.float32)
        return np.concatenate((np.tile(of_action, actions), np.full(len(self.of_context), -1.0, np.float32)))

    def names(self, actions: int) -> tuple[str, ...]:
        """(A·F + C,) `action_0.valid`, `action_0.waits`, …, `context.small_room`: the names of the tables of features."""
        of_actions = [f"action_{n}.{feature.name}" for n in range(actions) for feature in self.of_action]
        return (*of_actions, *(f"context.{feature.name}" for feature in self.of_context))


def _factors(features: tuple[Feature, ...]) -> Floats:
    return np.array([1.0 if feature.scale == FLAG else 2.0 for feature in features], np.float32)


def _offsets(features: tuple[Feature, ...]) -> Floats:
    return np.array([0.0 if feature.scale == FLAG or feature.negative else -1.0 for feature in features], np.float32)


def check_normalized(observed: object, name: str, mask_in_observation: bool) -> None:
    """Raises InputError where there are no features of actions to flatten, or the mask is asked for a second time."""
    if observed != {"actions", "context"}:
        raise InputError(f"{name} has no features of actions: observation='normalized' is made of them")
    if mask_in_observation:
        raise InputError("observation='normalized' has the mask already, as the features `action_….valid`")
