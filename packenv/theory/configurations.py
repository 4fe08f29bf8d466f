"""Configurations: numbers of tasks of each type on one server.

PAPERS §1.2. All maximal ones of types of given sizes, the reduced ones K_RED of the universal partition I, and those of the
weaker partition at 2^−m (PAPERS §1.3, §1.4).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.virtual_queues import reduced_configuration
from packenv.errors import InputError

Ints = NDArray[np.int64]


def reduced_configurations(levels: int) -> Ints:
    """(4 J - 4, 2 J) K_RED, J = `levels` (§1.4)."""
    rule = inspect.unwrap(reduced_configuration)  # in Python: nothing is compiled for a few small numbers
    rows = np.zeros((4 * levels - 4, 2 * levels), np.int64)
    for n, row in enumerate(rows):
        ones, j, count = rule(levels, n)
        row[1] += ones
        row[j] += count
    return rows


def halving_configurations(levels: int) -> Ints:
    """(levels, levels) configurations of 2^m tasks of type m."""
    return np.diag(2 ** np.arange(levels))


def reduced_bounds(levels: int, capacity: int) -> Ints:
    """(2 J,) units: decreasing upper ends of I's types, the last unbounded below (§1.3)."""
    level = np.arange(levels)
    return np.column_stack([capacity >> level, 2 * capacity // (3 << level)]).ravel()


def halving_bounds(levels: int, capacity: int) -> Ints:
    """(levels,) units: upper ends 2^−m of the weaker partition's types."""
    return np.asarray(capacity >> np.arange(levels))


def maximal_configurations(sizes: Sequence[int] | NDArray[np.int64], capacity: int, limit: int) -> NDArray[np.int32]:
    """(n, types) all configurations without room for another task.

    They are in descending lexicographic order. `sizes` (at least 1) and capacity are in units. InputError above `limit`.
    """
    amounts = np.asarray(sizes, np.int64)
    if amounts.ndim != 1 or len(amounts) == 0 or amounts.min() < 1 or capacity < 0:
        raise InputError(f"configurations need sizes of at least 1 unit and a capacity, not {list(sizes)} and {capacity}")
    falling = np.argsort(-amounts, kind="stable")
    left = np.array([capacity], np.int64)  # (rows,) room that the larger types leave
    counts = np.zeros((1, len(amounts)), np.int32)
    for j in falling[:-1]:  # the smallest type completes every row, so there are never more rows than in the result
        fitting = left // amounts[j]
        ends = np.cumsum(fitting + 1)
        if ends[-1] > limit:
            raise InputError(f"{len(amounts)} types have more than {limit} maximal configurations in {capacity} units")
        row = np.repeat(np.arange(len(left)), fitting + 1)
        count = ends[row] - 1 - np.arange(len(row))  # from the most that fit down to 0
        counts, left = counts[row], left[row] - count * amounts[j]
        counts[:, j] = count
    counts[:, falling[-1]] = left // amounts[falling[-1]]
    return counts[np.lexsort(counts.T[::-1])[::-1]]
