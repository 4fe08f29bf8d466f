"""Windows of time of a table of jobs, and the slots in which tasks are sure to be in service in them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from packenv.jobs import Ints, Jobs

MOST_CELLS = 2 * 10**8  # tasks × windows
MOST_LEVELS = 9  # the shortest windows are the 256th part of the arrivals


def windows(jobs: Jobs, later: set[int]) -> Iterator[tuple[int, int]]:
    """First slot, and the one after the last, of the time of the arrivals, and of its halves, quarters, … down to 256ths.

    Each also begins half of its length later, and all of them `later` slots. Of many tasks there are fewer windows.
    """
    first, last = int(jobs.arrival[0]), int(jobs.arrival[-1]) + 1
    levels = min(MOST_LEVELS, max(1, int(math.log2(max(MOST_CELLS / len(jobs), 2))) - 1))
    for level in range(levels):
        length = (last - first) / 2**level
        if length < 1:
            break
        for half_steps, moved in itertools.product(range(2 ** (level + 1) - 1), sorted(later)):
            start = first + int(half_steps * length / 2) + moved
            yield start, start + math.ceil(length)


def inside(start: int, end: int) -> list[tuple[int, int]]:
    """Half as long windows in this one: the halves, and the one in the middle. None in a window of one slot."""
    length = (end - start + 1) // 2
    return [] if end - start < 2 else [(first, first + length) for first in (start, start + length // 2, end - length)]


def sure_overlap(jobs: Jobs, wait: int, start: int, end: int) -> Ints:
    """(n,) slots of [start, end) in which a task that waits for at most `wait` slots is in service, whenever it starts.

    As its start moves on, the overlap rises, stays, and falls: the least is that of the first or of the last start.
    """
    here = int(np.searchsorted(jobs.arrival, end))  # those that have arrived
    found = np.zeros(len(jobs), np.int64)
    arrival, service = jobs.arrival[:here], jobs.service[:here]
    least = _overlap(arrival, service, start, end)
    found[:here] = least if wait == 0 else np.minimum(least, _overlap(arrival + wait, service, start, end))
    return found


def _overlap(start: Ints, service: Ints, first: int, end: int) -> Ints:
    """Slots of [first, end) in which tasks that start then are in service."""
    return np.maximum(np.minimum(start + service, end) - np.maximum(start, first), 0)
