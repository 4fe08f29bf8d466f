"""The scale of a score: the logarithm of the mean.

    score = 100 · ln(reference / candidate) / ln(reference / bound)      for each case. A suite's score is the mean over its cases

0 is the reference, 100 the bound for all policies. Half as good as the reference loses as much as twice as good wins.
Means are over seeds, with the same jobs for both. The interval is the jackknife's over the seeds, case by case (Miller,
Biometrika 1974). Degrees of freedom are by Welch and Satterthwaite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from packenv.extend import DOUBT, UNKNOWN, Interval

WORST = -100.0
"""The lowest score, also for a candidate with a fault (such as unstable, unlike the reference)."""

LEAST = 1e-6
"""Smaller means count as this one: nothing waits."""


def score_of(candidate: float, reference: float, bound: float) -> float:
    """Scale `candidate`: reference 0, bound 100, at least WORST."""
    candidate, reference = max(candidate, LEAST), max(reference, LEAST)
    return max(WORST, 100 * math.log(reference / candidate) / math.log(reference / bound))


def case_score(candidate: Sequence[float], reference: Sequence[float], bounds: Sequence[float]) -> tuple[float, float]:
    """Return a case's score and its error variance.

    Each argument has (n,) means, one per seed. A law has the same bound for all. One seed has infinite variance.
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
    """Average the scores. No 95 % interval for one seed."""
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
