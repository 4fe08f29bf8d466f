"""Saved weights by name, checked for their shape and for finite values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError

Weights = dict[str, NDArray[np.float32]]


def array(agent: str, weights: Weights, key: str) -> NDArray[np.float32]:
    """The array of this name. Raises InputError if it is missing or has a value that is not finite."""
    if key not in weights:
        raise InputError(f"{agent}: its weights lack {key!r}")
    found = np.ascontiguousarray(weights[key], np.float32)
    if not np.isfinite(found).all():
        raise InputError(f"{agent}: {key!r} has weights that are not finite")
    return found


def matrix(agent: str, weights: Weights, layer: str, shape: tuple[int, int]) -> NDArray[np.float32]:
    """(inputs, outputs) of a layer whose saved weights have the `shape` (outputs, inputs). Raises InputError for another."""
    found = array(agent, weights, f"{layer}.weight")
    if found.shape != shape:
        sizes = f"{layer} has the shape {found.shape}, this cluster or these options need {shape}"
        raise InputError(f"{agent}: made for another cluster, environment or set of features: {sizes}")
    return np.ascontiguousarray(found.T)


def vector(agent: str, weights: Weights, key: str, length: int) -> NDArray[np.float32]:
    """(length,) Raises InputError for another shape."""
    found = array(agent, weights, key)
    if found.shape != (length,):
        raise InputError(f"{agent}: {key!r} has the shape {found.shape} instead of ({length},)")
    return found


def of_features(agent: str, weights: Weights, key: str, features: int) -> NDArray[np.float32]:
    """(features,) weights of features. Raises InputError for another number of them: later versions have more."""
    found = array(agent, weights, key)
    if found.shape != (features,):
        has = f"{key!r} weighs {found.size} features, the environment of this version has {features}"
        raise InputError(f"{agent}: an agent for another set of features: {has}")
    return found
