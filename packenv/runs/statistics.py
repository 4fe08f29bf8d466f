"""Means, shares, quantiles and paired ratios with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from packenv.content.text import number
from packenv.results.delays import Delays

DOUBT = 0.05  # the chance that a 95 % interval misses
DOUBT_IN_LOOKS = 0.025
"""Doubt of each look where seeds double until an interval is narrow: a smaller one for all looks (Pocock, Biometrika 1977).

Stopping favours seeds whose means happen to lie close together. With 0.05 the final intervals cover as little as 90 %.
"""


class Interval(NamedTuple):
    """A mean over the seeds and its 95 % interval (Student's t).

    The ends are None for a single seed, all three for none.
    """

    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return number(self.mean) if self.low is None else f"{number(self.mean)} [{number(self.low)}, {number(self.high)}]"


UNKNOWN = Interval(None, None, None)


def doubt_at(look: int) -> float:
    """Return the doubt of look 1, 2, … so that all together have DOUBT.

    Checking an interval repeatedly as seeds double would be wrong too often with 95 % each time. Σ 1 / (k (k + 1)) = 1.
    """
    return DOUBT / (look * (look + 1))


def mean_and_half(values: Sequence[float | None], doubt: float = DOUBT) -> tuple[float | None, float | None]:
    """Return mean and half-width of the 1 - `doubt` interval.

    Uses seeds that have a value. A single one has no half-width.
    """
    sample = np.array([value for value in values if value is not None], dtype=np.float64)
    if len(sample) == 0:
        return None, None
    if len(sample) == 1:
        return float(sample[0]), None
    half = stdtrit(len(sample) - 1, 1 - doubt / 2) * sample.std(ddof=1) / np.sqrt(len(sample))
    return float(sample.mean()), float(half)


def interval(values: Iterable[float | None], doubt: float = DOUBT) -> Interval:
    """Return the mean over the seeds that have a value, with its interval."""
    mean, half = mean_and_half(list(values), doubt)
    return Interval(mean, None, None) if mean is None or half is None else Interval(mean, mean - half, mean + half)


def share_within(runs: Sequence[Delays], slots: float, doubt: float = DOUBT) -> Interval:
    """Return the share of tasks that waited at most `slots`, with interval.

    It is a ratio of sums over the runs.
    """
    part, of = np.array([(run.within(slots), run.total) for run in runs], np.float64).reshape(-1, 2).T
    if of.sum() == 0:
        return UNKNOWN
    share, n = float(part.sum() / of.sum()), len(runs)
    if n == 1:
        return Interval(share, None, None)
    half = float(stdtrit(n - 1, 1 - doubt / 2)) * float((part - share * of).std(ddof=1)) * math.sqrt(n) / float(of.sum())
    return Interval(share, share - half, share + half)


def delay_quantile(runs: Sequence[Delays], share: float) -> Interval:
    """Return a quantile of the delays of all runs, in slots, with interval.

    It is the smallest delay that at least this share of the tasks do not exceed. Woodruff's interval (J. Amer. Statist. Assoc.
    1952): the quantiles at this share plus and minus the uncertainty of the share of tasks that wait no longer. The share that
    wait less counts too, as many may wait equally long.
    """
    together = Delays.together(runs)
    quantile = together.quantile(share)
    if quantile is None or len(runs) == 1:
        return Interval(quantile, None, None)
    shares = [share_within(runs, slots) for slots in (quantile, math.nextafter(quantile, -math.inf))]
    half = max(part.high - part.mean for part in shares if part.high is not None and part.mean is not None)
    return Interval(quantile, together.quantile(share - half), together.quantile(share + half))


def ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """Return the geometric mean of above / below, seed by seed.

    Unknown if one of them is 0 or None.
    """
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a and b]
    if len(pairs) < len(above):
        return UNKNOWN
    logs = interval(math.log(a / b) for a, b in pairs)
    return Interval(*(None if end is None else math.exp(end) for end in logs))


def ratio_of_means(above: Sequence[float | None], below: Sequence[float | None], doubt: float = DOUBT) -> Interval:
    """Return R = ā / b̄ over n paired seeds, with a 95 % interval.

    Delta method on the logarithm:

        ln R ± t · s / (√n ā),   s the standard deviation (n − 1) of eᵢ = aᵢ − R bᵢ,   t Student's 0.975 with n − 1

    Shared effects of the jobs cancel in e. The interval is positive, and its reciprocal is the interval of b̄ / ā. There is
    none from one seed that is not 0 / 0, or from a mean of 0. Unknown if a value is missing or b̄ is 0.
    """
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if n < len(above) or n == 0:
        return UNKNOWN
    a, b = np.array(pairs, dtype=np.float64).T
    if b.mean() == 0:
        return UNKNOWN
    quotient = float(a.mean() / b.mean())
    if (a + b > 0).sum() == 1 or quotient == 0:
        return Interval(quotient, None, None)
    error = float((a - quotient * b).std(ddof=1)) / (math.sqrt(n) * float(a.mean()))
    factor = math.exp(min(float(stdtrit(n - 1, 1 - doubt / 2)) * error, 700.0))
    return Interval(quotient, quotient / factor, quotient * factor)


def paired_ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """Return the ratio of means, seed by seed.

    A single run is paired with every seed.
    """
    seeds = max(len(above), len(below))
    above, below = ([*values] * (seeds // len(values)) for values in (above, below))
    return ratio_of_means(above, below)


def certainly_above(estimate: Interval, level: float) -> bool:
    """Return whether the interval, or a single value, lies above `level`."""
    end = estimate.mean if estimate.low is None else estimate.low
    return end is not None and end > level


def certainly_below(estimate: Interval, level: float) -> bool:
    """Return whether the interval, or a single value, lies below `level`."""
    end = estimate.mean if estimate.high is None else estimate.high
    return end is not None and end < level
