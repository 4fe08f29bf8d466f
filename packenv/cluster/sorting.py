"""Sorting without allocation: Shell sort for few, radix for thousands."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.fields import Field, Sizes
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.frame import Frame

LARGE = 1024  # larger batches are sorted before they are inserted: neighbouring keys then share cache lines
LOW_BITS = 32
DIGIT_BITS = 11
DIGITS = 1 << DIGIT_BITS
SIGN = 63  # the sign bit, never set: a digit that starts here is 0


class Sorting(Frame):
    """Working memory for one large batch per cluster, maybe empty."""

    words: Annotated[NDArray[np.int64], Field("clusters", "batch", scratch=True)]
    spare: Annotated[NDArray[np.int64], Field("clusters", "batch", scratch=True)]
    counts: Annotated[NDArray[np.int64], Field("clusters", "digits", scratch=True)]


def sorting_sizes(clusters: int, largest: int) -> Sizes:
    batch, digits = (largest, DIGITS) if largest > LARGE else (0, 0)
    return {"clusters": clusters, "batch": batch, "digits": digits}


@compiled
def sort(values: NDArray[Any], n: int) -> None:
    """Sort n values by Shell sort with Ciura's gaps."""
    for gap in (57000, 25000, 11000, 4500, 1750, 701, 301, 132, 57, 23, 10, 4, 1):
        if gap < n:
            for k in range(gap, n):
                value = values[k]
                m = k
                while m >= gap and values[m - gap] > value:
                    values[m] = values[m - gap]
                    m -= gap
                values[m] = value


@apart
def sort_by_high_half(s: Sorting, e: int, n: int) -> None:
    """Sort n words >= 0 by their high halves, stably."""
    words, spare = s.words[e], s.spare[e]
    bits = 0
    for k in range(n):
        bits |= words[k]
    # two digits a round, so that the result is in `words` again
    shift = LOW_BITS
    while shift < SIGN and bits >> shift > 0:
        sort_by_digit(words, spare, s.counts[e], n, shift)
        sort_by_digit(spare, words, s.counts[e], n, min(shift + DIGIT_BITS, SIGN))
        shift += 2 * DIGIT_BITS


@compiled
def sort_by_digit(words: NDArray[np.int64], target: NDArray[np.int64], counts: NDArray[np.int64], n: int, shift: int) -> None:
    """Copy n words to `target`, stably sorted by a digit."""
    # count the words of each digit
    for digit in range(DIGITS):
        counts[digit] = 0
    for k in range(n):
        counts[(words[k] >> shift) & (DIGITS - 1)] += 1
    # the first target position of each digit
    start = 0
    for digit in range(DIGITS):
        count = counts[digit]
        counts[digit] = start
        start += count
    # copy in order
    for k in range(n):
        digit = (words[k] >> shift) & (DIGITS - 1)
        target[counts[digit]] = words[k]
        counts[digit] += 1
