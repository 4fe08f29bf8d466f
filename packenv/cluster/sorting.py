"""Sorting a few integers in place, without the allocations of the library's sort."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from packenv.compile import outlined


@outlined
def sort(values: NDArray[Any], n: int) -> None:
    """Sort the first n values: insertion sort in strides (Shell, with Ciura's gaps)."""
    for gap in (57000, 25000, 11000, 4500, 1750, 701, 301, 132, 57, 23, 10, 4, 1):
        if gap < n:
            for k in range(gap, n):
                value = values[k]
                m = k
                while m >= gap and values[m - gap] > value:
                    values[m] = values[m - gap]
                    m -= gap
                values[m] = value
