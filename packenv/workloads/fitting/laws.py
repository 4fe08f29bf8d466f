"""Laws fitted to a sample of tasks.

They are groups of similar demands, service by group, tasks per job and modulated arrivals. All results are statistics (rounded
values with weights, and quantiles), plain numbers for the JSON of a workload.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.workloads.fitting.statistics import WINDOWS, Sample, dispersion

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VECTORS = 60
FEWEST_TASKS = 30  # a demand vector that fewer tasks have is merged with others of about the same size
CELLS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
TASKS_PER_CELL = 10


class Groups(NamedTuple):
    """Tasks grouped by their demands."""

    member: Ints  # (n,) group of each task
    vectors: Floats  # (G, D) the group's demands, in 4 significant digits
    weights: Floats  # (G,) share of the tasks


def group(sample: Sample, most: int = VECTORS) -> Groups:
    """Group tasks by demand, into at most `most` groups.

    Each frequent demand vector has one. The others are merged by size, with equal work each. A merged group's vector is its
    tasks' mean, weighted by duration, so that its offered load does not change.
    """
    vectors, vector, count = np.unique(sample.demand, axis=0, return_inverse=True, return_counts=True)
    vector = vector.reshape(-1)
    # Frequent vectors are groups.
    by_count = np.argsort(-count, kind="stable")
    frequent = by_count[: most * 4 // 5]
    frequent = frequent[count[frequent] >= FEWEST_TASKS]
    number = np.empty(len(vectors), np.int64)
    number[frequent] = np.arange(len(frequent))
    # Rare vectors are merged by size into bins of equal work.
    rare = by_count[len(frequent) :]
    if len(rare):
        rare = rare[np.argsort(vectors[rare].max(axis=1), kind="stable")]
        work = np.bincount(vector, sample.size * sample.duration)[rare]
        bins = min(most - len(frequent), max(int(count[rare].sum()) // FEWEST_TASKS, 1))
        middle = np.cumsum(work) - work / 2
        number[rare] = len(frequent) + np.floor(middle / work.sum() * bins).astype(np.int64)
    _, member = np.unique(number[vector], return_inverse=True)  # leaves out empty bins
    # Mean demands, weighted by duration.
    time = np.bincount(member, sample.duration)
    mean = [np.bincount(member, sample.demand[:, r] * sample.duration) / time for r in range(sample.demand.shape[1])]
    return Groups(member, significant(np.stack(mean, axis=1)), np.bincount(member) / len(member))


def significant(values: Floats, digits: int = 4) -> Floats:
    """Round to a number of significant digits."""
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    return np.asarray(np.rint(values * scale) / scale, np.float64)


def cells(values: Floats) -> tuple[Floats, Floats]:
    """Return histogram edges (k + 1,) at quantiles, and weights (k,).

    Fewer values have fewer cells. The histogram has the mean of the values: the last edge is lowered if one large value stretches
    its cell, then all inner edges are scaled by one factor. Edges have 4 significant digits.
    """
    levels = np.array(CELLS)
    if len(values) < TASKS_PER_CELL * len(levels):
        levels = np.linspace(0, 1, max(len(values) // TASKS_PER_CELL, 2) + 1)
    # Edges at quantiles.
    edges = np.unique(significant(np.quantile(values, levels)))
    if len(edges) < 2:
        return np.array([edges[0] * 0.999, edges[0]]), np.ones(1)
    cell = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)
    weights = np.bincount(cell, minlength=len(edges) - 1) / len(values)
    # Lower the last edge if the mean is too high, then scale the inner edges.
    pull = (np.append(weights, 0.0) + np.insert(weights, 0, 0.0)) / 2  # change of the mean with each edge
    surplus = float(pull @ edges) - float(values.mean())
    edges[-1] = max(edges[-1] - max(surplus, 0.0) / pull[-1], significant(edges[-2] * 1.002)) if pull[-1] > 0 else edges[-1]
    edges[-1] = significant(edges[-1])
    inner = float(pull[1:-1] @ edges[1:-1])
    if inner > 0:
        scale = (float(values.mean()) - pull[0] * edges[0] - pull[-1] * edges[-1]) / inner
        scaled = significant(edges[1:-1] * np.clip(scale, 1.01 * edges[0] / edges[1], 0.99 * edges[-1] / edges[-2]))
        if np.all(np.diff(scaled, prepend=edges[0], append=edges[-1]) > 0):
            edges[1:-1] = scaled
    return edges, weights


def job_sizes(tasks: Ints, most: int = 60) -> tuple[Ints, Floats]:
    """Return `most` values of tasks per job, large ones merged, with weights."""
    values, count = np.unique(tasks, return_counts=True)
    if len(values) > most:
        unmerged = most // 2
        jobs_above = np.repeat(values[unmerged:], count[unmerged:])
        parts = np.array_split(jobs_above, most - unmerged)
        values = np.concatenate([values[:unmerged], [round(float(part.mean())) for part in parts]])
        count = np.concatenate([count[:unmerged], [len(part) for part in parts]])
        values, place = np.unique(values, return_inverse=True)
        count = np.bincount(place, count)
    return values.astype(np.int64), count / count.sum()


# Where the fit of the phases begins: every pair of these.
START_RATES = ((0.2, 5.0), (5.0, 50.0), (3.0, 0.2))  # relative to the first phase
START_SOJOURNS = ((100, 30, 1), (600, 60, 5), (50, 50, 50))  # s


class Phases(NamedTuple):
    """Modulated Poisson process with equally frequent phases, rates of mean 1."""

    rates: Floats  # (phases,)
    sojourns: Floats  # (phases,) s


def phase_dispersion(phases: Phases, jobs_per_s: float, windows: tuple[float, ...]) -> Floats:
    """Return the index of dispersion of jobs in windows of w seconds.

    It is 1 + (2/(λw)) ∫ (w − u) c(u) du over [0, w], with the covariance c of the rate. After an exponential sojourn the phase
    changes to any other one with equal probability (Fischer and Meier-Hellstern, 1993).
    """
    # The phases as a Markov chain, and the share of time in each.
    n = len(phases.rates)
    leave = 1 / phases.sojourns
    moves = np.repeat(leave[:, None], n, axis=1) / (n - 1)
    np.fill_diagonal(moves, -leave)
    share = phases.sojourns / phases.sojourns.sum()
    rate = phases.rates * jobs_per_s / (phases.rates @ share)
    # The covariance of the rate is a sum of exponentials.
    root = np.sqrt(share)
    decay, basis = np.linalg.eigh(root[:, None] * moves / root[None, :])  # symmetric: the chain is reversible
    strength = (basis.T @ (root * rate)) ** 2
    result = np.ones(len(windows))
    for k in np.argsort(decay)[: n - 1]:  # the largest eigenvalue, 0, is the squared mean
        a = -decay[k]
        for i, w in enumerate(windows):
            result[i] += 2 * strength[k] / (jobs_per_s * w) * (w / a - (1 - np.exp(-a * w)) / a**2)
    return result


def fit_phases(sample: Sample, phases: int = 3) -> Phases:
    """Fit phases to the sample's dispersion of tasks in WINDOWS.

    It is a least-squares fit. For jobs of B tasks: dispersion of tasks = var B / mean B + mean B · dispersion of jobs.
    """
    from scipy.optimize import least_squares

    tasks = sample.tasks_per_job
    jobs_per_s = len(tasks) / sample.span
    measured = {window: dispersion(sample.submit, window) for window in WINDOWS}
    windows = tuple(float(window) for window, value in measured.items() if value)  # 0: submissions as regular as a clock
    target = np.array([value for value in measured.values() if value])
    if not len(windows) or phases < 2:
        return Phases(np.ones(1), np.ones(1))
    tasks_alone = tasks.var() / tasks.mean()

    def unpack(x: Floats) -> Phases:
        sojourns = np.exp(x[phases - 1 :])
        rates = np.exp(np.concatenate([[0.0], x[: phases - 1]]))
        return Phases(rates / (rates @ sojourns / sojourns.sum()), sojourns)

    def misfit(x: Floats) -> Floats:
        model = tasks_alone + tasks.mean() * phase_dispersion(unpack(x), jobs_per_s, windows)
        return np.concatenate([np.log(model / target) * 10, 0.02 * x[: phases - 1]])

    # Fit from several starting points, within bounds.
    starts = [np.log([*rates, *sojourns]) for rates in START_RATES for sojourns in START_SOJOURNS]
    low = np.concatenate([np.full(phases - 1, np.log(1e-3)), np.full(phases, np.log(0.1))])
    high = np.concatenate([np.full(phases - 1, np.log(1e3)), np.full(phases, np.log(max(sample.span / 10, 1.0)))])
    tries = [
        least_squares(misfit, np.clip(_trim(start, phases), low + 1e-6, high - 1e-6), bounds=(low, high)) for start in starts
    ]
    best = unpack(min(tries, key=lambda solution: float(solution.cost)).x)
    return Phases(significant(best.rates, 3), significant(best.sojourns, 3))


def _trim(start: Floats, phases: int) -> Floats:
    """Turn a starting point for three phases into one for `phases`."""
    return np.concatenate([np.resize(start[:2], phases - 1), np.resize(start[2:], phases)])
