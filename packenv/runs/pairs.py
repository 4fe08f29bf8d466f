"""Two policies on the same jobs: how many times as long one's queue is as the other's, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from packenv.runs.measures import Interval

NOTHING = Interval(None, None, None)


def ratio_of_means(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """R = ā / b̄ over n seeds, paired seed by seed, with a 95 % interval (delta method, on the scale of the logarithm).

        ln R ± t · s / (√n ā),   s the standard deviation (n − 1) of eᵢ = aᵢ − R bᵢ,   t Student's 0.975 with n − 1

    What both policies suffer from the same jobs cancels in e. The interval is positive, and that of b̄ / ā is its
    reciprocal. No interval from one seed, or from a mean of 0; nothing at all where a value is missing or b̄ is 0.
    """
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if n < len(above) or n == 0:
        return NOTHING
    a, b = np.array(pairs, dtype=np.float64).T
    if b.mean() == 0:
        return NOTHING
    ratio = float(a.mean() / b.mean())
    if n == 1 or ratio == 0:
        return Interval(ratio, None, None)
    error = float((a - ratio * b).std(ddof=1)) / (math.sqrt(n) * float(a.mean()))
    factor = math.exp(min(float(stdtrit(n - 1, 0.975)) * error, 700.0))
    return Interval(ratio, ratio / factor, ratio * factor)
