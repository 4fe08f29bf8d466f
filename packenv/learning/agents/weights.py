"""Saved weights by name, with checked shapes and finite values.

Weights saved before the last features existed get zeros for them, so scores stay the same. Add new features at the end of an
environment's tables, of actions and of the context.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError

FIRST_LAYER = "actor.first.weight"  # (H, F + C) of the shared network
OF_ACTION, OF_CONTEXT = ("actor.of_action", "actor.per_waiting"), ("actor.of_context",)  # of the sums
FORMER_CONTEXT = {"JobFill": 7}
"""How many features the context had, by environment, before agents were saved with their number."""


def with_later_features(weights: Weights, features: int, context: int, context_then: int | None) -> Weights:
    """Return weights with zeros for later features.

    `context_then` is the context's number of features when they were saved, None: the present one. Weights for more features than
    there are stay unchanged.
    """
    padded = dict(weights)
    for names, length in ((OF_ACTION, features), (OF_CONTEXT, context)):
        for name in names:
            if name in padded and padded[name].ndim == 1:
                padded[name] = _longer(padded[name][None], length)[0]
    then = context if context_then is None else context_then
    if FIRST_LAYER in padded and padded[FIRST_LAYER].ndim == 2:
        first = padded[FIRST_LAYER]
        split = first.shape[1] - then
        if 0 < split <= features and then <= context:
            padded[FIRST_LAYER] = np.concatenate(
                [_longer(first[:, :split], features), _longer(first[:, split:], context)], axis=1
            )
    return padded


def _longer(rows: np.ndarray, length: int) -> np.ndarray:
    """Return (N, length) rows with zeros at their ends."""
    return np.pad(rows, ((0, 0), (0, max(length - rows.shape[1], 0))))


Weights = dict[str, NDArray[np.float32]]


def array(agent: str, weights: Weights, key: str) -> NDArray[np.float32]:
    """Return a finite array by name, otherwise InputError."""
    if key not in weights:
        raise InputError(f"{agent}: its weights lack {key!r}")
    values = np.ascontiguousarray(weights[key], np.float32)
    if not np.isfinite(values).all():
        raise InputError(f"{agent}: {key!r} has weights that are not finite")
    return values


def matrix(agent: str, weights: Weights, layer: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return a saved (outputs, inputs) as (inputs, outputs), or InputError."""
    values = array(agent, weights, f"{layer}.weight")
    if values.shape != shape:
        sizes = f"{layer} has the shape {values.shape}, this cluster or these options need {shape}"
        raise InputError(f"{agent}: made for another cluster, environment or set of features: {sizes}")
    return np.ascontiguousarray(values.T)


def vector(agent: str, weights: Weights, key: str, length: int) -> NDArray[np.float32]:
    """Return an array (length,), or raise InputError."""
    values = array(agent, weights, key)
    if values.shape != (length,):
        raise InputError(f"{agent}: {key!r} has the shape {values.shape} instead of ({length},)")
    return values


def of_features(agent: str, weights: Weights, key: str, features: int) -> NDArray[np.float32]:
    """Return weights (features,), or InputError for other numbers."""
    values = array(agent, weights, key)
    if values.shape != (features,):
        has = f"{key!r} weighs {values.size} features, the environment of this version has {features}"
        raise InputError(f"{agent}: an agent for another set of features: {has}")
    return values
