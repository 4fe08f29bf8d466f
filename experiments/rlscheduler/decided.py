"""Which differences between orders the windows of a log decide, and how many windows would.

Windows that overlap are not independent. The half-width of a mean difference counts the autocovariances up to where windows no
longer overlap (Newey and West, Econometrica 1987), and Student's t with as many windows as the log has side by side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from packenv.runs.statistics import DOUBT

NORMAL = float(ndtri(1 - DOUBT / 2))  # Student's t of many windows
MOST_EXACT = 1_000  # from so many windows on Student's t is the normal law

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
        if self.mean == 0:
            return math.inf
        windows = max(2, math.ceil((NORMAL * self.deviation / self.mean) ** 2))
        while half_width(self.deviation, windows) >= abs(self.mean) and windows < MOST_EXACT:
            windows += 1
        return windows


def independent(first: Floats, second: Floats) -> Difference:
    """Return the difference over windows that are taken to be independent."""
    gap = first - second
    deviation = float(gap.std(ddof=1))
    return Difference(float(gap.mean()), half_width(deviation, len(gap)), deviation, len(gap))


def half_width(deviation: float, windows: int) -> float:
    """Return the half-width of the 95 % interval of a mean over independent windows, by Student's t."""
    return float(stdtrit(windows - 1, 1 - DOUBT / 2)) * deviation / math.sqrt(windows)


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
