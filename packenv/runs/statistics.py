"""Means, shares and quantiles with 95 % intervals over seeds, and ratios of two policies that saw the same jobs, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from packenv.content.text import number
from packenv.results.delays import Delays

DOUBT = 0.05  # the chance that a 95 % interval misses


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


def doubt_at(look: int) -> float:
    """The doubt that the interval of look 1, 2, … may have, so that all of them together have DOUBT, however many there are.

    Who looks at more and more seeds until an interval lies on one side of a limit, looks often: with 95 % each time he would be
    wrong more often than that. Σ 1 / (k (k + 1)) = 1.
    """
    return DOUBT / (look * (look + 1))


def mean_and_half(values: Sequence[float | None], doubt: float = DOUBT) -> tuple[float | None, float | None]:
    """Mean and half-width of the 1 - `doubt` interval over the seeds that have a value; no half-width for a single one."""
    sample = np.array([value for value in values if value is not None], dtype=np.float64)
    if len(sample) == 0:
        return None, None
    if len(sample) == 1:
        return float(sample[0]), None
    half = stdtrit(len(sample) - 1, 1 - doubt / 2) * sample.std(ddof=1) / np.sqrt(len(sample))
    return float(sample.mean()), float(half)


def interval(values: Iterable[float | None], doubt: float = DOUBT) -> Interval:
    """The mean over the seeds that have a value."""
    mean, half = mean_and_half(list(values), doubt)
    return Interval(mean, None, None) if mean is None or half is None else Interval(mean, mean - half, mean + half)


def share_within(runs: Sequence[Delays], slots: float, doubt: float = DOUBT) -> Interval:
    """Share of the tasks of all runs that waited for at most so long: a ratio of sums, with its interval over the runs."""
    part, of = np.array([(run.within(slots), run.total) for run in runs], np.float64).reshape(-1, 2).T
    if of.sum() == 0:
        return UNKNOWN
    share, n = float(part.sum() / of.sum()), len(runs)
    if n == 1:
        return Interval(share, None, None)
    half = float(stdtrit(n - 1, 1 - doubt / 2)) * float((part - share * of).std(ddof=1)) * math.sqrt(n) / float(of.sum())
    return Interval(share, share - half, share + half)


def delay_quantile(runs: Sequence[Delays], share: float) -> Interval:
    """The smallest delay, in slots, that at least this share of the tasks of all runs together do not exceed, and its interval.

    Woodruff's interval (J. Amer. Statist. Assoc. 1952): the quantiles of the shares that lie as far below and above this one as
    the share of the tasks that wait no longer is uncertain; or that of those that wait less, as many may wait equally long.
    """
    together = Delays.together(runs)
    quantile = together.quantile(share)
    if quantile is None or len(runs) == 1:
        return Interval(quantile, None, None)
    shares = [share_within(runs, slots) for slots in (quantile, math.nextafter(quantile, -math.inf))]
    half = max(part.high - part.mean for part in shares if part.high is not None and part.mean is not None)
    return Interval(quantile, together.quantile(share - half), together.quantile(share + half))


def ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """Geometric mean over the seeds of above / below, seed by seed; unknown where one of them is 0 or None."""
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a and b]
    if len(pairs) < len(above):
        return UNKNOWN
    logs = interval(math.log(a / b) for a, b in pairs)
    return Interval(*(None if end is None else math.exp(end) for end in logs))


def ratio_of_means(above: Sequence[float | None], below: Sequence[float | None], doubt: float = DOUBT) -> Interval:
    """R = ā / b̄ over n seeds, paired seed by seed, with a 95 % interval (delta method, on the scale of the logarithm).

        ln R ± t · s / (√n ā),   s the standard deviation (n − 1) of eᵢ = aᵢ − R bᵢ,   t Student's 0.975 with n − 1

    What both policies suffer from the same jobs cancels in e. The interval is positive, and that of b̄ / ā is its
    reciprocal. No interval from one seed that is not 0 / 0, or from a mean of 0; unknown where a value is missing or b̄ is 0.
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
    """The ratio of means, seed by seed; a single run, which depends on no seed, stands beside those of every seed."""
    seeds = max(len(above), len(below))
    above, below = ([*values] * (seeds // len(values)) for values in (above, below))
    return ratio_of_means(above, below)


def certainly_above(estimate: Interval, level: float) -> bool:
    """Whether the interval lies above `level`; of a single seed, the value."""
    end = estimate.mean if estimate.low is None else estimate.low
    return end is not None and end > level


def certainly_below(estimate: Interval, level: float) -> bool:
    """Whether the interval lies below `level`; of a single seed, the value."""
    end = estimate.mean if estimate.high is None else estimate.high
    return end is not None and end < level
