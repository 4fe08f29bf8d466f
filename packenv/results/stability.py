"""Verdicts with a confidence: was a run stable?

The mean queue of an unstable run measures its length, not the policy. So every mean has a verdict, from the waiting size over
time (CONTRIBUTING, decision 5). A run is compared with a queue at the edge of stability, whose increments have mean 0. This is a
Brownian motion reflected at 0, of order σ√T after T slots. A stable queue stays far below, an unstable one grows like T above it.

The level of a run is the mean waiting size over its second half, in units of σ√T, where σ² is the variance per slot of the
increments of the waiting size. The distribution of the level at the edge of stability is known. A run with an improbably
low level is called stable, improbably high unstable, and otherwise undecided. Levels of independent runs are
combined by Fisher's method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided"
UNASKED = "not asked"  # of a run that ends with its work, or whose queue has the length that was asked for

DOUBT = 1e-3  # probability of a wrong verdict at the edge of stability, at most; it is smaller elsewhere
FEWEST_BINS, FEWEST_BLOCKS = 64, 32
SETTLED = 20.0  # a run must last this many mean services to be stable: at first the servers fill, and nothing waits
RESOLUTION = 0.01  # of the largest server: a smaller waiting size counts as 0

# The level at the edge: quantiles of the mean of |B| over the second half of [0, 1], B a Brownian motion
# (600,000 paths of 256 steps; tests/results/test_stability.py draws some again).
SHARES = (
    *(0.00001, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999),
)
LEVELS = (
    *(0.0652, 0.0756, 0.0826, 0.0927, 0.1056, 0.1257, 0.1550, 0.2164, 0.2896, 0.3675, 0.4566, 0.5626),
    *(0.6904, 0.8469, 1.0443, 1.3417, 1.7692, 2.1008, 2.4087, 2.6799),
)
LOW_TAIL = 0.038  # below the table, ln P falls like -LOW_TAIL / level²
HIGH_TAIL = math.sqrt(2 / 3)  # above the table, the level is about normal with this deviation: the path never returned to 0
LEAST = 1e-15


class Verdict(NamedTuple):
    """A verdict. `low`, `high`: P(at most, at least this level) at the edge."""

    kind: str  # STABLE, UNSTABLE, UNDECIDED or UNASKED
    drift: float  # growth of the waiting size per slot, in largest servers
    level: float  # mean waiting size over the second half, in units of σ√T
    low: float
    high: float

    def __str__(self) -> str:
        return self.kind

    @property
    def confidence(self) -> float:
        """1 - `low` if stable, 1 - `high` if unstable, else 0."""
        return {STABLE: 1 - self.low, UNSTABLE: 1 - self.high}.get(self.kind, 0.0)

    @property
    def plain(self) -> dict[str, Any]:
        """`verdict` and `confidence` in JSON, or null."""
        asked = self.kind != UNASKED
        return {"verdict": self.kind if asked else None, "confidence": self.confidence if asked else None}


NOTHING = Verdict(UNDECIDED, 0.0, math.nan, 1.0, 1.0)
"""The verdict on a run that is too short to say anything."""

NO_VERDICT = NOTHING._replace(kind=UNASKED)


def judge_run(waiting_size: NDArray[np.float64], bin_slots: int, mean_service: float, intensity: float) -> Verdict:
    """Return the verdict on a waiting size: (bins,) means, in largest servers.

    `bin_slots` is the length of a bin, `mean_service` is in slots. At an `intensity` (share of the area bound) of 1 or more no
    run is called stable.
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
    """Combine verdicts on independent runs of the same setting.

    All are unstable if one run is, beyond doubt for this number of runs. All are stable only if each level is below the median at
    the edge of stability. Runs without a verdict do not count.
    """
    everyone = list(verdicts)
    runs = [run for run in everyone if run.kind != UNASKED] or everyone[:1]
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
    """Estimate the factor for a verdict: levels scale with 1/√T if stable, else √T."""
    if math.isnan(verdict.level):
        return math.inf
    low, middle, high = np.interp([DOUBT, 0.5, 1 - DOUBT], SHARES, LEVELS).tolist()
    return (verdict.level / low) ** 2 if verdict.level < middle else (high / verdict.level) ** 2


def variance_rate(path: NDArray[np.float64]) -> float:
    """Return the variance per bin of a path's increments, over block lengths the largest.

    The increments are differences of the means of neighbouring blocks; a Brownian motion's have ⅔ of its variance.
    """
    most, length = 0.0, 1
    while len(path) // length >= FEWEST_BLOCKS:
        means = path[: len(path) // length * length].reshape(-1, length).mean(axis=1)
        most = max(most, 1.5 * float(np.diff(means).var(ddof=1)) / length)
        length *= 2
    return most


def below(level: float) -> float:
    """P(at most this level) at the edge of stability."""
    if level < LEVELS[0]:
        tail = SHARES[0] * math.exp(LOW_TAIL * (1 / LEVELS[0] ** 2 - 1 / max(level, 1e-3) ** 2))
        return max(tail, LEAST)
    return float(np.exp(np.interp(level, LEVELS, np.log(SHARES))))


def above(level: float) -> float:
    """P(at least this level) at the edge of stability."""
    if level > LEVELS[-1]:
        return max(math.erfc(level / HIGH_TAIL / math.sqrt(2)), LEAST)
    return float(np.exp(np.interp(level, LEVELS, np.log1p(-np.array(SHARES)))))


def fisher(probabilities: list[float]) -> float:
    """Return Fisher's probability of independent uniform values this small."""
    from scipy.special import chdtrc  # half a second, for several runs alone

    return float(chdtrc(2 * len(probabilities), -2 * sum(math.log(max(p, LEAST)) for p in probabilities)))
