"""Which differences between orders the windows of a log decide, and how many windows would.

Windows that overlap are not independent. The half-width of a mean difference counts the autocovariances up to where windows no
longer overlap (Newey and West, Econometrica 1987), and Student's t with as many windows as the log has side by side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from packenv.runs.statistics import DOUBT

Floats = NDArray[np.float64]


class Difference(NamedTuple):
    """The mean of a paired difference over windows."""

    mean: float
    half: float  # of its 95 % interval
    deviation: float  # of a window's difference
    apart: int  # windows that do not overlap

    @property
    def decided(self) -> bool:
        return abs(self.mean) > self.half

    @property
    def windows(self) -> float:
        """Independent windows that would decide a difference as large as this one; infinite if there is none."""
        return math.inf if self.mean == 0 else max(2, math.ceil((1.96 * self.deviation / self.mean) ** 2))


def independent(first: Floats, second: Floats) -> Difference:
    """Of windows that are taken to be independent, as ten random ones are: 1.96 standard errors."""
    gap = first - second
    deviation = float(gap.std(ddof=1))
    return Difference(float(gap.mean()), 1.96 * deviation / math.sqrt(len(gap)), deviation, len(gap))


def overlapping(first: Floats, second: Floats, overlap: int) -> Difference:
    """Of windows in their order, each of which overlaps with the `overlap` − 1 next ones."""
    gap = first - second
    n, off = len(gap), gap - gap.mean()
    variance = float(off @ off) / n
    for lag in range(1, min(overlap, n)):
        variance += 2 * (1 - lag / overlap) * float(off[lag:] @ off[:-lag]) / n
    apart = max(2, 1 + (n - 1) // overlap)
    half = float(stdtrit(apart - 1, 1 - DOUBT / 2)) * math.sqrt(max(variance, 0.0) / n)
    return Difference(float(gap.mean()), half, float(gap.std(ddof=1)), apart)
