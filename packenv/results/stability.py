"""Is a run stable? A verdict with its confidence, from the path of the waiting size (DESIGN, decision 5).

The mean queue of an unstable run says how long the run was, not how good the policy is, so a verdict stands beside
every mean. The yardstick is the queue at the edge of stability: netput without drift, a Brownian motion reflected at
0, which after T slots has the order σ√T. A stable queue stays far below that, an unstable one grows past it as T does.

The level of a run is the mean waiting size over its second half, in units of σ√T, σ² the variance per slot of the
waiting size's increments. How likely such a level or less (or more) is at the edge is known; a run that is unlikely
there on the low side is stable, on the high side unstable, and in between undecided. Levels of independent runs are
combined by Fisher's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, erfc

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided"

DOUBT = 1e-3  # a verdict is wrong with at most this probability at the edge of stability, and less away from it
FEWEST_BINS, FEWEST_BLOCKS = 64, 32
SETTLED = 20.0  # mean services that a run must last: the servers fill first, and nothing waits meanwhile
RESOLUTION = 0.01  # units of capacity: a waiting size below is none

# The level at the edge: quantiles of the mean of |B| over the second half of [0, 1], B a Brownian motion
# (600,000 paths of 256 steps; tests/theory/test_stability.py draws some again).
SHARES = (
    *(0.00001, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999),
)
LEVELS = (
    *(0.0652, 0.0756, 0.0826, 0.0927, 0.1056, 0.1257, 0.1550, 0.2164, 0.2896, 0.3675, 0.4566, 0.5626),
    *(0.6904, 0.8469, 1.0443, 1.3417, 1.7692, 2.1008, 2.4087, 2.6799),
)
LOW_TAIL = 0.038  # below the table, ln P falls like -LOW_TAIL / level²
HIGH_TAIL = math.sqrt(2 / 3)  # above it, the mean is that of a Brownian motion that has not come back: normal, this deviation
LEAST = 1e-15


class Verdict(NamedTuple):
    """`low`, `high`: probability of such a level or less, or more, at the edge of stability."""

    kind: str
    drift: float  # growth of the waiting size per slot (units of capacity)
    level: float  # mean waiting size over the second half, in units of σ√T
    low: float
    high: float

    def __str__(self) -> str:
        return self.kind

    @property
    def confidence(self) -> float:
        """1 - the probability that a run at the edge of stability would look as much like this verdict; 0 if undecided."""
        return {STABLE: 1 - self.low, UNSTABLE: 1 - self.high}.get(self.kind, 0.0)


NOTHING = Verdict(UNDECIDED, 0.0, math.nan, 1.0, 1.0)


def judge_run(waiting_size: NDArray[np.float64], bin_slots: int, mean_service: float, intensity: float) -> Verdict:
    """Verdict on a path of the waiting size: (bins,) mean per bin of `bin_slots` slots, in units of capacity.

    `mean_service` in slots; at an `intensity` of 1 or more (share of the area bound) no run is called stable.
    """
    bins = len(waiting_size)
    if bins < FEWEST_BINS:
        return NOTHING
    settled = bins * bin_slots >= SETTLED * mean_service
    late = float(waiting_size[bins // 2 :].mean())
    drift = (late - float(waiting_size[: bins // 2].mean())) / (bins / 2 * bin_slots)
    deviation = math.sqrt(variance_rate(waiting_size) * bins)
    if late < RESOLUTION:
        level = 0.0
    elif deviation == 0:
        level = math.inf if drift > 0 else math.nan
    else:
        level = late / deviation
    if math.isnan(level):
        return NOTHING
    low, high = below(level), above(level)
    kind = UNDECIDED
    if high < DOUBT:
        kind = UNSTABLE
    elif low < DOUBT and settled and intensity < 1:
        kind = STABLE
    return Verdict(kind, drift, level, low if settled and intensity < 1 else 1.0, high)


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict on independent runs of the same setting.

    A queue that locks up in some runs is not stable: one run beyond doubt for that many makes all unstable, and all are
    stable only if each looks more like it than not.
    """
    runs = list(verdicts)
    if len(runs) == 1:
        return runs[0]
    low, high = fisher([run.low for run in runs]), fisher([run.high for run in runs])
    least_high = min(run.high for run in runs)
    kind = UNDECIDED
    if high < DOUBT or least_high < DOUBT / len(runs):
        kind = UNSTABLE
    elif low < DOUBT and max(run.low for run in runs) < 1 / 2:
        kind = STABLE
    drift, level = (float(np.mean([getattr(run, key) for run in runs])) for key in ("drift", "level"))
    return Verdict(kind, drift, level, low, min(high, len(runs) * least_high))


def longer(verdict: Verdict) -> float:
    """About how many times as long a run would have to be for a verdict: levels fall like 1/√T if stable, rise like √T if not."""
    if math.isnan(verdict.level):
        return math.inf
    low, middle, high = np.interp([DOUBT, 0.5, 1 - DOUBT], SHARES, LEVELS).tolist()
    return (verdict.level / low) ** 2 if verdict.level < middle else (high / verdict.level) ** 2


def variance_rate(path: NDArray[np.float64]) -> float:
    """Variance per bin of the increments of a path of bin means: the largest over lengths of block.

    Increments are those between the means of neighbouring blocks; for a Brownian motion their variance is ⅔ of its own.
    """
    most, length = 0.0, 1
    while len(path) // length >= FEWEST_BLOCKS:
        means = path[: len(path) // length * length].reshape(-1, length).mean(axis=1)
        most = max(most, 1.5 * float(np.diff(means).var(ddof=1)) / length)
        length *= 2
    return most


def below(level: float) -> float:
    """P(level or less) at the edge of stability."""
    if level < LEVELS[0]:
        tail = SHARES[0] * math.exp(LOW_TAIL * (1 / LEVELS[0] ** 2 - 1 / max(level, 1e-3) ** 2))
        return max(tail, LEAST)
    return float(np.exp(np.interp(level, LEVELS, np.log(SHARES))))


def above(level: float) -> float:
    """P(level or more) at the edge of stability."""
    if level > LEVELS[-1]:
        return max(float(erfc(level / HIGH_TAIL / math.sqrt(2))), LEAST)
    return float(np.exp(np.interp(level, LEVELS, np.log1p(-np.array(SHARES)))))


def fisher(probabilities: list[float]) -> float:
    """The probability of such small ones by chance, if each is uniform."""
    return float(chdtrc(2 * len(probabilities), -2 * sum(math.log(max(p, LEAST)) for p in probabilities)))
