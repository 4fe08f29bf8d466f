"""Weights that were saved before the last features existed, with zeros for those: the scores are what they were.

New features are added at the end of an environment's tables, of actions and of the context.
"""

from __future__ import annotations

import numpy as np

from packenv.learning.agents.inference.weights import Weights

FIRST_LAYER = "actor.first.weight"  # (H, F + C) of the shared network
OF_ACTION, OF_CONTEXT = ("actor.of_action", "actor.per_waiting"), ("actor.of_context",)  # of the sums
FORMER_CONTEXT = {"JobFill": 7}
"""How many features the context had, by environment, before agents were saved with their number."""


def with_later_features(weights: Weights, features: int, context: int, context_then: int | None) -> Weights:
    """The weights for so many features of actions and of the context.

    `context_then`: how many features the context had when they were saved; None: as many as now. Weights for more features
    than there are stay as they are.
    """
    found = dict(weights)
    for names, length in ((OF_ACTION, features), (OF_CONTEXT, context)):
        for name in names:
            if name in found and found[name].ndim == 1:
                found[name] = _longer(found[name][None], length)[0]
    then = context if context_then is None else context_then
    if FIRST_LAYER in found and found[FIRST_LAYER].ndim == 2:
        first = found[FIRST_LAYER]
        known = first.shape[1] - then
        if 0 < known <= features and then <= context:
            found[FIRST_LAYER] = np.concatenate([_longer(first[:, :known], features), _longer(first[:, known:], context)], axis=1)
    return found


def _longer(rows: np.ndarray, length: int) -> np.ndarray:
    """(N, length) rows with zeros at their ends."""
    return np.pad(rows, ((0, 0), (0, max(length - rows.shape[1], 0))))
