"""Stability over the seeds of one setting: verdicts counted, combined and put into words, and how fast a queue grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from packenv.results.result import Result
from packenv.results.stability import STABLE, UNDECIDED, UNSTABLE, combine

KINDS = STABLE, UNSTABLE, UNDECIDED


def verdict_counts(results: Sequence[Result]) -> dict[str, int]:
    """How many seeds are stable, unstable and undecided."""
    found = Counter(result.verdict.kind for result in results)
    return {kind: found[kind] for kind in KINDS}


def joint_verdict(results: Sequence[Result]) -> str:
    """The verdict on all seeds together."""
    return combine(result.verdict for result in results).kind


def verdicts_in_words(counts: dict[str, int]) -> str:
    """`unstable with 7 of 8 seeds, undecided with 1`, the most frequent first."""
    some = sorted((kind for kind in KINDS if counts[kind]), key=lambda kind: -counts[kind])
    first, *others = [f"{kind} with {counts[kind]}" for kind in some]
    return ", ".join([f"{first} of {sum(counts.values())} seeds" if sum(counts.values()) > 1 else some[0], *others])


def why_together(results: Sequence[Result]) -> str:
    """What all seeds together show, where that is not what most of them show: the claim rests on it."""
    counts, together = verdict_counts(results), joint_verdict(results)
    if len(results) == 1 or 2 * counts[together] > len(results):
        return ""
    rest = "what each seed shows in part adds up" if together != UNDECIDED else "no kind is certain"
    return f", all together {together} (by Fisher's method: {rest})"


def queue_growth(result: Result) -> float:
    """Tasks per slot by which the queue grows: the slope of a straight line through all but the first tenth of its path."""
    path = result.trajectory.queue
    start = len(path) // 10
    if len(path) - start < 2:
        return 0.0
    when = (np.arange(start, len(path)) + 0.5) * result.trajectory.bin_slots
    return float(np.polyfit(when, path[start:], 1)[0])
