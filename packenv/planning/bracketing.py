"""The least number that is enough, looked for in steps that double and then by halves."""

from __future__ import annotations

from collections.abc import Callable

Enough = Callable[[int], bool]
Check = Callable[[int], None]
"""Told of a number that is not enough before larger ones are tried: raises if none of them will be."""


def least_up(bound: int, most: int, enough: Enough, check: Check) -> int:
    """A number of `bound` to `most` that is enough while one less is not, or `bound`. It has asked for both.

    `check` is called with `most` too, and must raise then.
    """
    low, high, step = bound - 1, bound, max(1, bound // 16)
    while not enough(high):
        check(high)
        low, high, step = high, min(high + step, most), 2 * step
    return _halved(low, high, enough)


def least_from(start: int, bound: int, most: int, enough: Enough, check: Check) -> int:
    """As `least_up`, but the nearest such number from `start` on, up or down."""
    step = 1
    if enough(start):
        high, low = start, start - 1
        while low >= bound and enough(low):
            step *= 2
            high, low = low, low - step
        return _halved(max(low, bound - 1), high, enough)
    check(start)
    low, high = start, min(start + 1, most)
    while not enough(high):
        check(high)
        step *= 2
        low, high = high, min(high + step, most)
    return _halved(low, high, enough)


def _halved(low: int, high: int, enough: Enough) -> int:
    """`high` is enough; `low` is not, or is below what is asked for."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
