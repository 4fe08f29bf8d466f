"""Configurations: how many tasks of each type a server can hold at once (PAPERS §1.2), for types of given sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError


def maximal_configurations(sizes: Sequence[int] | NDArray[np.int64], capacity: int, limit: int) -> NDArray[np.int32]:
    """All maximal configurations of types of these `sizes`: those that leave no room for another task of any type.

    Returns the number of tasks of each type, (n, types), in descending lexicographic order. Sizes (at least 1) and capacity
    are in units. Raises InputError if there are more than `limit`.
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
