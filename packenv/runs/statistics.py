"""Means with 95 % intervals over seeds, and ratios of two policies that saw the same jobs, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from packenv.runs.text import number


class Interval(NamedTuple):
    """A mean over the seeds and its 95 % interval (Student's t); the ends are None for a single seed, all for none."""

    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return number(self.mean) if self.low is None else f"{number(self.mean)} [{number(self.low)}, {number(self.high)}]"


UNKNOWN = Interval(None, None, None)


def mean_and_half(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean and half-width of the 95 % interval over the seeds that have a value; no half-width for a single one."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if len(known) == 0:
        return None, None
    if len(known) == 1:
        return float(known[0]), None
    half = stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known))
    return float(known.mean()), float(half)


def interval(values: Iterable[float | None]) -> Interval:
    """The mean over the seeds that have a value."""
    mean, half = mean_and_half(list(values))
    return Interval(mean, None, None) if mean is None or half is None else Interval(mean, mean - half, mean + half)


def ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """Geometric mean over the seeds of above / below, seed by seed; unknown where one of them is 0 or None."""
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a and b]
    if len(pairs) < len(above):
        return UNKNOWN
    logs = interval(math.log(a / b) for a, b in pairs)
    return Interval(*(None if end is None else math.exp(end) for end in logs))


def ratio_of_means(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """R = ā / b̄ over n seeds, paired seed by seed, with a 95 % interval (delta method, on the scale of the logarithm).

        ln R ± t · s / (√n ā),   s the standard deviation (n − 1) of eᵢ = aᵢ − R bᵢ,   t Student's 0.975 with n − 1

    What both policies suffer from the same jobs cancels in e. The interval is positive, and that of b̄ / ā is its
    reciprocal. No interval from one seed, or from a mean of 0; unknown where a value is missing or b̄ is 0.
    """
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if n < len(above) or n == 0:
        return UNKNOWN
    a, b = np.array(pairs, dtype=np.float64).T
    if b.mean() == 0:
        return UNKNOWN
    quotient = float(a.mean() / b.mean())
    if n == 1 or quotient == 0:
        return Interval(quotient, None, None)
    error = float((a - quotient * b).std(ddof=1)) / (math.sqrt(n) * float(a.mean()))
    factor = math.exp(min(float(stdtrit(n - 1, 0.975)) * error, 700.0))
    return Interval(quotient, quotient / factor, quotient * factor)


def certainly_above(found: Interval, level: float) -> bool:
    """Whether the interval lies above `level`; of a single seed, the value."""
    end = found.mean if found.low is None else found.low
    return end is not None and end > level


def certainly_below(found: Interval, level: float) -> bool:
    """Whether the interval lies below `level`; of a single seed, the value."""
    end = found.mean if found.high is None else found.high
    return end is not None and end < level
