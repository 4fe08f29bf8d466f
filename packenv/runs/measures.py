"""Means, intervals and verdicts over the seeds of one setting, and comparisons of policies that saw the same jobs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from packenv.results.result import Result
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine
from packenv.runs.summary import mean_and_half
from packenv.studies.finding import Row

KINDS = STABLE, UNSTABLE, UNDECIDED
"""A policy counts as stable where this share of the seeds say so and no seed says the opposite; unstable likewise."""

NAMES = {"bf-js": "BF-J/S", "vqs": "VQS", "vqs-bf": "VQS-BF", "fifo-ff": "FIFO-FF"}


class Interval(NamedTuple):
    """A mean over the seeds and its 95 % interval (Student's t); the ends are None for a single seed."""

    mean: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return number(self.mean) if self.low is None else f"{number(self.mean)} [{number(self.low)}, {number(self.high)}]"


def interval(values: Iterable[float | None]) -> Interval:
    mean, half = mean_and_half(list(values))
    return Interval(mean, None, None) if mean is None or half is None else Interval(mean, mean - half, mean + half)


def ratio(above: Sequence[float | None], below: Sequence[float | None]) -> Interval:
    """Geometric mean over the seeds of above / below, seed by seed, with its interval; nothing where one of them is 0."""
    pairs = [(a, b) for a, b in zip(above, below, strict=True) if a and b]
    if len(pairs) < len(above):
        return Interval(None, None, None)
    logs = interval(math.log(a / b) for a, b in pairs)
    return Interval(*(None if end is None else math.exp(end) for end in logs))


def certainly_above(found: Interval, level: float) -> bool:
    """The interval lies above `level`; of a single seed, the value."""
    end = found.mean if found.low is None else found.low
    return end is not None and end > level


def certainly_below(found: Interval, level: float) -> bool:
    """The interval lies below `level`; of a single seed, the value."""
    end = found.mean if found.high is None else found.high
    return end is not None and end < level


def kinds_of(results: Sequence[Result]) -> dict[str, int]:
    """How many seeds are stable, unstable and undecided."""
    found = Counter(result.verdict.kind for result in results)
    return {kind: found[kind] for kind in KINDS}


def agreed(results: Sequence[Result]) -> str:
    """The verdict on all seeds together."""
    return combine(result.verdict for result in results).kind


def told(counts: dict[str, int]) -> str:
    """`unstable with 7 of 8 seeds, undecided with 1`, the most frequent first."""
    some = sorted((kind for kind in KINDS if counts[kind]), key=lambda kind: -counts[kind])
    first, *others = [f"{kind} with {counts[kind]}" for kind in some]
    return ", ".join([f"{first} of {sum(counts.values())} seeds" if sum(counts.values()) > 1 else some[0], *others])


def row_of(results: Sequence[Result], **columns: float | str | None) -> Row:
    """One policy in one setting: queue and delay over the seeds, beside the verdicts."""
    row: Row = {**columns, "policy": results[0].policy, "seeds": len(results), "slots": results[0].slots}
    for key in ("mean_queue", "mean_delay"):
        found = interval(getattr(result, key) for result in results)
        row |= {key: found.mean, f"{key}_low": found.low, f"{key}_high": found.high}
    counts = kinds_of(results)
    return row | {"utilisation": interval(r.utilisation[0] for r in results).mean, "verdict": agreed(results)} | counts


def growth(result: Result) -> float:
    """Tasks per slot by which the queue grows: the slope of a straight line through all but the first tenth of its path."""
    path = result.trajectory.queue
    start = len(path) // 10
    if len(path) - start < 2:
        return 0.0
    when = (np.arange(start, len(path)) + 0.5) * result.trajectory.bin_slots
    return float(np.polyfit(when, path[start:], 1)[0])


def by_key(results: Sequence[Result], keys: Sequence[tuple[float | str, ...]]) -> dict[tuple[float | str, ...], list[Result]]:
    """The results grouped by their keys, in the order in which those first come."""
    groups: dict[tuple[float | str, ...], list[Result]] = {}
    for key, result in zip(keys, results, strict=True):
        groups.setdefault(key, []).append(result)
    return groups


def number(value: float | None, digits: int = 3) -> str:
    """For a line that people read."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
