"""Statistics of tasks in seconds, to compare traces and random workloads.

They contain no row of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
WINDOWS = (1, 10, 60, 600)  # seconds
FEWEST_WINDOWS = 5


@dataclass(frozen=True)
class Sample:
    """Tasks in order of submission, in seconds."""

    submit: Floats  # (n,) s
    demand: Floats  # (n, D) in units of capacity, 0 where missing
    duration: Floats  # (n,) s, NaN where unknown
    job: Ints | None  # (n,) job of each task
    resources: tuple[str, ...]  # D names

    @property
    def size(self) -> Floats:
        """(n,) the largest demand of each task."""
        return np.asarray(self.demand.max(axis=1, initial=0.0), np.float64)

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.submit[-1] - self.submit[0]) if len(self.submit) else 0.0

    @property
    def tasks_per_job(self) -> Ints:
        """(jobs,) number of tasks of each job, 1 without column `job`."""
        if self.job is None:
            return np.ones(len(self.submit), np.int64)
        return np.asarray(np.unique(self.job, return_counts=True)[1], np.int64)


def summary(sample: Sample) -> dict[str, Any]:
    """Return all statistics, in seconds and in servers of capacity 1."""
    if not len(sample.submit):
        return {"tasks": 0}
    timed = ~np.isnan(sample.duration)
    per_job = sample.tasks_per_job
    gaps = np.diff(sample.submit)
    span = sample.span
    return {
        "tasks": len(sample.submit),
        "jobs": len(per_job),
        "span_s": _round(span),
        "tasks_per_s": _round(len(sample.submit) / span) if span else None,
        "jobs_per_s": _round(len(per_job) / span) if span else None,
        "distinct": distinct(sample.demand, sample.resources),
        "size": spread(sample.size),
        **{name: spread(sample.demand[:, r]) for r, name in enumerate(sample.resources)},
        "duration_s": spread(sample.duration[timed]),
        "tasks_per_job": spread(per_job),
        "interarrival_s": spread(gaps),
        "interarrival_cv": _round(variation(gaps)),
        "dispersion": {str(window): dispersion(sample.submit, window) for window in WINDOWS},
        "correlation": correlations(sample),
        "offered_load": offered_load(sample),
    }


def spread(values: ArrayLike) -> dict[str, float | None]:
    """Return mean (None without values), minimum, maximum and the quantiles LEVELS."""
    x = np.asarray(values, np.float64)
    if not x.size:
        return {"mean": None}
    levels = {f"p{100 * level:g}": _round(value) for level, value in zip(LEVELS, np.quantile(x, LEVELS), strict=True)}
    return {"mean": _round(x.mean()), "min": _round(x.min()), **levels, "max": _round(x.max())}


def variation(values: ArrayLike) -> float:
    """Return standard deviation / mean, NaN for no values or zeros."""
    x = np.asarray(values, np.float64)
    return float(x.std() / x.mean()) if x.size and x.mean() > 0 else float("nan")


def distinct(demand: Floats, resources: tuple[str, ...]) -> dict[str, int]:
    """Count distinct values of resources, vectors ("joint") and size."""
    counts = {name: len(np.unique(demand[:, r])) for r, name in enumerate(resources)}
    return {**counts, "joint": len(np.unique(demand, axis=0)), "size": len(np.unique(demand.max(axis=1)))}


def dispersion(submit: Floats, window: float) -> float | None:
    """Return variance / mean of submissions per window of `window` seconds.

    This index of dispersion is 1 for Poisson, None for fewer than FEWEST_WINDOWS whole windows.
    """
    number = ((submit - submit[0]) // window).astype(np.int64)
    windows = int((submit[-1] - submit[0]) // window)
    if windows < FEWEST_WINDOWS:
        return None
    counts = np.unique(number[number < windows], return_counts=True)[1]  # of windows that are not empty
    mean = counts.sum() / windows
    return _round(float(counts @ counts) / windows / mean - mean) if mean else None


def correlations(sample: Sample) -> dict[str, dict[str, float | None]]:
    """Return Pearson's and Spearman's correlations of resources, and size with duration."""
    columns = {name: sample.demand[:, r] for r, name in enumerate(sample.resources)}
    pairs = [(a, b) for i, a in enumerate(columns) for b in list(columns)[i + 1 :]]
    coefficients = {f"{a}, {b}": _correlation(columns[a], columns[b]) for a, b in pairs}
    timed = ~np.isnan(sample.duration)
    return {**coefficients, "size, duration": _correlation(sample.size[timed], sample.duration[timed])}


def offered_load(sample: Sample) -> dict[str, float | None]:
    """Return busy servers of capacity 1: Σ demand · duration / span."""
    columns = {"size": sample.size, **{name: sample.demand[:, r] for r, name in enumerate(sample.resources)}}
    busy = np.nan_to_num(sample.duration)
    return {name: _round(float(amount @ busy) / sample.span) if sample.span else None for name, amount in columns.items()}


def ks_distance(a: ArrayLike, b: ArrayLike) -> float:
    """Return Kolmogorov and Smirnov's distance of two samples."""
    x, y = np.sort(np.asarray(a, np.float64)), np.sort(np.asarray(b, np.float64))
    at = np.concatenate([x, y])
    below_x, below_y = (np.searchsorted(z, at, side="right") / len(z) for z in (x, y))
    return float(np.abs(below_x - below_y).max())


def _correlation(a: Floats, b: Floats) -> dict[str, float | None]:
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return {"pearson": None, "spearman": None}
    ranks = [_ranks(values) for values in (a, b)]
    coefficients = [round(float(np.corrcoef(x, y)[0, 1]), 6) + 0.0 for x, y in ((a, b), ranks)]  # + 0.0: never -0
    return dict(zip(("pearson", "spearman"), coefficients, strict=True))


def _ranks(values: Floats) -> Floats:
    """Return ranks (n,), with the mean rank for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], np.float64)


def _round(x: float, digits: int = 6) -> float | None:
    """Round fractions to significant digits, None if not finite."""
    if not np.isfinite(x):
        return None
    return float(x) if float(x).is_integer() else float(f"{float(x):.{digits}g}")
