"""The scale of a score: 0 is the reference, 100 the bound that no policy can beat, by the logarithm of the mean.

    score = 100 · ln(reference / candidate) / ln(reference / bound)      of each case; the suite's is the mean over the cases

A candidate that is half as good as the reference loses as much as one that is twice as good wins. Means are over seeds, the same
jobs for both; the interval is the jackknife's over the seeds, case by case (Miller, Biometrika 1974; degrees of freedom by
Welch and Satterthwaite).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from packenv.extend import DOUBT, UNKNOWN, Interval

WORST = -100.0
"""The least score, and that of a candidate with a fault, or unstable where the reference is stable."""

LEAST = 1e-6
"""A smaller mean counts as this one: nothing waits."""


def score_of(candidate: float, reference: float, bound: float) -> float:
    """Where `candidate` lies between the reference (0) and the bound (100); not below WORST."""
    candidate, reference = max(candidate, LEAST), max(reference, LEAST)
    return max(WORST, 100 * math.log(reference / candidate) / math.log(reference / bound))


def case_score(candidate: Sequence[float], reference: Sequence[float], bounds: Sequence[float]) -> tuple[float, float]:
    """The score of a case with (n,) means over seeds, and the variance of its error (infinite for a single seed).

    bounds  of each seed; where they are all one, of the law
    """
    columns = np.array([candidate, reference, bounds], float)  # (3, n)
    n = columns.shape[1]
    score = score_of(*columns.mean(axis=1).tolist())
    if n < 2:
        return score, math.inf
    without = (columns.sum(axis=1)[:, None] - columns) / (n - 1)  # (3, n) means without each seed
    left_out = np.array([score_of(*means) for means in without.T.tolist()])
    return score, float((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())


def suite_score(cases: Sequence[tuple[float, float]], seeds: int) -> Interval:
    """The mean of the cases' scores with its 95 % interval; no interval of a single seed."""
    if not cases:
        return UNKNOWN
    scores, variances = (np.array(column) for column in zip(*cases, strict=True))
    mean, variance = float(scores.mean()), float(variances.sum()) / len(cases) ** 2
    if not math.isfinite(variance):
        return Interval(mean, None, None)
    if variance == 0:
        return Interval(mean, mean, mean)
    freedom = (seeds - 1) * variances.sum() ** 2 / (variances**2).sum()
    half = float(stdtrit(freedom, 1 - DOUBT / 2)) * math.sqrt(variance)
    return Interval(mean, mean - half, mean + half)
