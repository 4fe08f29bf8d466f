"""All maximal configurations of the upper-rounded types (PAPERS §1.5, MaxWeight; counts in §1.4)."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError

MOST_LEVELS = 5
"""At J = 6 there are hundreds of thousands of feasible ones."""


@functools.cache
def maximal_configurations(levels: int) -> NDArray[np.int64]:
    """(N, 2J) counts k with Σ k_j · sup I_j ≤ 1 to which no job can be added, in descending lexicographic order.

    Raises InputError above J = 5.
    """
    if levels > MOST_LEVELS:
        raise InputError(f"all maximal configurations are listed up to J={MOST_LEVELS}, not for J={levels}")
    whole = 3 << levels  # capacity in units in which every supremum is whole
    supremum = [size for m in range(levels) for size in (whole >> m, 2 * whole // (3 << m))]
    found: list[list[int]] = []
    _extend([], 0, whole, supremum, found)
    return np.array(found, np.int64)


def _extend(counts: list[int], j: int, left: int, supremum: list[int], found: list[list[int]]) -> None:
    """Choose the number of type j, most first."""
    if j == len(supremum):
        if left < min(supremum):
            found.append(counts)
        return
    for count in range(left // supremum[j], -1, -1):
        _extend([*counts, count], j + 1, left - count * supremum[j], supremum, found)
