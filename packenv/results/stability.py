"""Verdicts with a confidence: was a run stable?

The mean queue of an unstable run measures its length, not the policy. So every mean has a verdict, from the waiting size over
time (CONTRIBUTING, decision 5). A run is compared with a queue at the edge of stability, whose increments have mean 0. This is a
Brownian motion reflected at 0, of order σ√T after T slots. A stable queue stays far below, an unstable one grows like T above it.

The level of a run is the mean waiting size over its second half, in units of σ√T, where σ² is the variance per slot of the
increments of the waiting size. The distribution of the level at the edge of stability is known. A run with an improbably low
level is called stable, improbably high unstable, and otherwise undecided. Fisher's method combines levels of independent runs.

Three things leave a run undecided, whatever its level. It is not settled: the servers still fill, so a short queue means nothing.
Its growth slows down: a queue that settles at a high level rises at first, too. Its σ² still grows with the length of the
blocks in the estimate: then the queue relaxes more slowly than the run can show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided"
UNASKED = "not asked"  # of a run that ends with its work, or whose queue has the length that was asked for

DOUBT = 1e-3  # probability of a wrong verdict at the edge of stability, at most; it is smaller elsewhere
FEWEST_BINS, FEWEST_BLOCKS = 64, 32
SETTLED = 20.0  # a run must last this many services, or residual services, to be stable: at first the servers fill
SLOWED = 0.5  # growth in the second half, as a share of that in the first, below which a run is not called unstable
ROUGHER = 3.0  # σ² from the longest blocks, as a multiple of that from blocks a quarter as long, above which nothing is decided
RESOLUTION = 0.01  # of the largest server: a smaller waiting size counts as 0

SHARES = (
    *(0.00001, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999),
)


class Edge(NamedTuple):
    """The law of a level at the edge of stability.

    The path is |B|, B a Brownian motion on [0, 1]. From 600,000 paths of 256 and of 512 steps (redrawn in
    tests/results/test_stability.py).
    """

    levels: tuple[float, ...]  # its quantiles at SHARES
    high_tail: float  # above them it is about normal with this deviation

    @property
    def ends(self) -> tuple[float, float]:
        """The largest stable and the smallest unstable level."""
        low, high = np.interp([DOUBT, 1 - DOUBT], SHARES, self.levels).tolist()
        return low, high


QUEUE = Edge(
    (
        *(0.0652, 0.0756, 0.0826, 0.0927, 0.1056, 0.1257, 0.1550, 0.2164, 0.2896, 0.3675, 0.4566, 0.5626),
        *(0.6904, 0.8469, 1.0443, 1.3417, 1.7692, 2.1008, 2.4087, 2.6799),
    ),
    math.sqrt(2 / 3),
)
"""Of the mean of the second half."""
SYSTEM = Edge(
    (
        *(0.0674, 0.0783, 0.0851, 0.0952, 0.1077, 0.1272, 0.1556, 0.2150, 0.2755, 0.3231, 0.3659, 0.4087),
        *(0.4550, 0.5098, 0.5819, 0.6980, 0.8855, 1.0411, 1.1953, 1.3269),
    ),
    0.403,
)
"""Of the mean of the second half above its least value: where tasks in service count too, which are there in a stable system."""
LOW_TAIL = 0.038  # below the table, ln P falls like -LOW_TAIL / level²
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
        has_verdict = self.kind != UNASKED
        return {"verdict": self.kind if has_verdict else None, "confidence": self.confidence if has_verdict else None}


NOTHING = Verdict(UNDECIDED, 0.0, math.nan, 1.0, 1.0)
"""The verdict on a run that is too short to say anything."""

NO_VERDICT = NOTHING._replace(kind=UNASKED)


def settling_time(mean_service: float, mean_residual: float) -> float:
    """Return a stable run's least length, infinite without variance.

    mean_residual  E[S²] / 2E[S], in the unit of `mean_service`: a cluster fills as fast as residual services of busy servers end
    """
    return SETTLED * max(mean_service, mean_residual)


def judge_run(
    waiting_size: NDArray[np.float64], bin_slots: float, settling: float, intensity: float, edge: Edge = QUEUE
) -> Verdict:
    """Return the verdict on a run's waiting size.

    waiting_size  (bins,) means over bins, in largest servers
    bin_slots     length of a bin, in slots
    settling      a `settling_time`, in slots
    intensity     share of the area bound; at 1 or more no run is called stable
    edge          SYSTEM: the path counts tasks in service too
    """
    bins = len(waiting_size)
    if bins < FEWEST_BINS:
        return NOTHING
    # The mean of the second half, and the deviation of a path at the edge.
    late = float(waiting_size[bins // 2 :].mean())
    drift = (late - float(waiting_size[: bins // 2].mean())) / (bins / 2 * bin_slots)
    variances = variance_rates(waiting_size)
    deviation = math.sqrt(max(variances) * bins)
    grown = waiting_size
    # With tasks in service, only the part above the least value counts.
    if edge is SYSTEM:
        grown = waiting_size[bins // 2 :]
        late -= float(grown.min())
    # The level, in units of that deviation.
    if late < RESOLUTION:
        level = 0.0
    elif deviation == 0:
        level = math.inf if drift > 0 else math.nan
    else:
        level = late / deviation
    if math.isnan(level):
        return NOTHING
    # Tails of the level at the edge, 1 where nothing can be decided.
    rough = is_rough(variances)
    low = below(level, edge) if bins * bin_slots >= settling and intensity < 1 and not rough else 1.0
    high = above(level, edge) if growth(grown) >= SLOWED and not rough else 1.0
    return Verdict(UNSTABLE if high < DOUBT else STABLE if low < DOUBT else UNDECIDED, drift, level, low, high)


def is_rough(variances: Sequence[float]) -> bool:
    """Return whether `variance_rates` still grow with the blocks' length."""
    return len(variances) > 2 and variances[-1] > ROUGHER * variances[-3] > 0


def growth(waiting_size: NDArray[np.float64]) -> float:
    """Return second / first half's growth: 1 steady, 0 settled."""
    eighths = waiting_size[: len(waiting_size) // 8 * 8].reshape(8, -1).mean(axis=1)
    middle = (eighths[3] + eighths[4]) / 2
    first, second = float(middle - eighths[0]), float(eighths[7] - middle)
    if second <= 0:
        return 0.0
    return second / first if first > 0 else math.inf


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine verdicts on independent runs of the same setting.

    All are unstable if one run is, beyond doubt for this number of runs, unless the growth of most long queues slows down. All
    are stable only if each level is below the median at the edge of stability. Runs without a verdict do not count.
    """
    everyone = list(verdicts)
    runs = [run for run in everyone if run.kind != UNASKED] or everyone[:1]
    if len(runs) == 1:
        return runs[0]
    low, high = fisher([run.low for run in runs]), fisher([run.high for run in runs])
    least_high = min(run.high for run in runs)
    # Of long queues, most must still grow: by chance some do that settle.
    long_queues = [run.high < 1 for run in runs if run.level > QUEUE.levels[SHARES.index(0.5)]]
    grows = 2 * sum(long_queues) > len(long_queues)
    kind = UNDECIDED
    if grows and (high < DOUBT or least_high < DOUBT / len(runs)):
        kind = UNSTABLE
    elif low < DOUBT and max(run.low for run in runs) < 1 / 2:
        kind = STABLE
    drift, level = (float(np.mean([getattr(run, key) for run in runs])) for key in ("drift", "level"))
    return Verdict(kind, drift, level, low, min(high, len(runs) * least_high) if grows else 1.0)


def longer(verdict: Verdict, edge: Edge = QUEUE) -> float:
    """Estimate the factor for a verdict: levels scale with 1/√T if stable, else √T."""
    if math.isnan(verdict.level):
        return math.inf
    (low, high), middle = edge.ends, float(np.interp(0.5, SHARES, edge.levels))
    return (verdict.level / low) ** 2 if verdict.level < middle else (high / verdict.level) ** 2


def variance_rates(path: NDArray[np.float64]) -> list[float]:
    """Return variances per bin of a path's increments.

    Blocks have 1, 2, 4, … bins. The increments are differences of the means of neighbouring blocks. A Brownian motion's have ⅔ of
    its variance.
    """
    rates, length = [], 1
    while len(path) // length >= FEWEST_BLOCKS:
        means = path[: len(path) // length * length].reshape(-1, length).mean(axis=1)
        rates.append(1.5 * float(np.diff(means).var(ddof=1)) / length)
        length *= 2
    return rates


def below(level: float, edge: Edge = QUEUE) -> float:
    """P(at most this level) at the edge of stability."""
    least = edge.levels[0]
    if level < least:
        return max(SHARES[0] * math.exp(LOW_TAIL * (1 / least**2 - 1 / max(level, 1e-3) ** 2)), LEAST)
    return float(np.exp(np.interp(level, edge.levels, np.log(SHARES))))


def above(level: float, edge: Edge = QUEUE) -> float:
    """P(at least this level) at the edge of stability."""
    if level > edge.levels[-1]:
        return max(math.erfc(level / edge.high_tail / math.sqrt(2)), LEAST)
    return float(np.exp(np.interp(level, edge.levels, np.log1p(-np.array(SHARES)))))


def fisher(probabilities: list[float]) -> float:
    """Return Fisher's probability of independent uniform values this small."""
    from scipy.special import chdtrc  # half a second, for several runs alone

    return float(chdtrc(2 * len(probabilities), -2 * sum(math.log(max(p, LEAST)) for p in probabilities)))
