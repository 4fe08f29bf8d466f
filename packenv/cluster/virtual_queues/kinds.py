"""Kinds of server: servers of equal capacity are one kind, with its own virtual queues (PAPERS §1.5).

The scalar capacity counts, or the capacity of every resource if types are boxes of demand vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scalar_capacity(capacity: NDArray[np.int64]) -> NDArray[np.int64]:
    """(L,) capacity of each server in scalar size units: the smallest over its resources, scaled like task sizes."""
    scale = capacity.max(axis=0)
    most = int(scale.max())
    wide = capacity[:, scale > 0].astype(object) * most // scale[scale > 0].astype(object)
    return np.asarray(wide.min(axis=1), dtype=np.int64)


def server_kinds(capacity: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Kinds of server by capacity, (L,) or (L, D), in order of first appearance: (kind of each server, capacity of each kind)."""
    values, first, inverse = np.unique(capacity, return_index=True, return_inverse=True, axis=0)
    order = np.argsort(first)
    return np.argsort(order)[inverse.ravel()], values[order]


def kind_levels(levels: int, capacity: NDArray[np.int64]) -> list[int]:
    """J of each kind (PAPERS §1.5): a kind with 2^-i of the largest capacity has i levels fewer, but at least 2."""
    most = int(capacity.max())
    return [max(2, levels - ((most // max(int(own), 1)).bit_length() - 1)) for own in capacity]
