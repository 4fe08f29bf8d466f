"""Compiled operations on vectors of 32-bit floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.compiled.decorators import compiled

Floats = NDArray[np.float32]


@compiled
def copy_to(out: Floats, row: Floats) -> None:
    """out = row."""
    for h in range(out.shape[0]):
        out[h] = row[h]


@compiled
def add_scaled(out: Floats, x: np.float32, weights: Floats) -> None:
    """out += x · weights."""
    if x != 0.0:
        for h in range(out.shape[0]):
            out[h] += x * weights[h]


@compiled
def rectify(out: Floats) -> None:
    """out = max(out, 0)."""
    for h in range(out.shape[0]):
        out[h] = max(out[h], np.float32(0.0))


@compiled
def saturate(out: Floats) -> None:
    """out = tanh(out)."""
    for h in range(out.shape[0]):
        out[h] = np.tanh(out[h])
