"""The universal partition I and its reduced configurations K_RED, and the weaker partition at 2^−m (PAPERS §1.3, §1.4)."""

from __future__ import annotations

import inspect

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.virtual_queues.reduced import reduced_configuration

Ints = NDArray[np.int64]


def reduced_configurations(levels: int) -> Ints:
    """K_RED for J = `levels`, in the order of §1.4: numbers of tasks of each type, (4 J - 4, 2 J)."""
    rule = inspect.unwrap(reduced_configuration)  # in Python: nothing is compiled for a few small numbers
    found = np.zeros((4 * levels - 4, 2 * levels), np.int64)
    for n, row in enumerate(found):
        ones, j, count = rule(levels, n)
        row[1] += ones
        row[j] += count
    return found


def halving_configurations(levels: int) -> Ints:
    """The configurations of the weaker partition: 2^m tasks of type m = 0 .. levels - 1, (levels, levels)."""
    return np.diag(2 ** np.arange(levels))


def reduced_bounds(levels: int, capacity: int) -> Ints:
    """(2 J,) units: the upper ends of the types of I, decreasing; the last type also holds all smaller sizes (§1.3)."""
    level = np.arange(levels)
    return np.column_stack([capacity >> level, 2 * capacity // (3 << level)]).ravel()


def halving_bounds(levels: int, capacity: int) -> Ints:
    """(levels,) units: the upper ends 2^−m of the types of the weaker partition."""
    return np.asarray(capacity >> np.arange(levels))
