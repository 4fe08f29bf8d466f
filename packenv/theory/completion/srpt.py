"""Shortest remaining processing time on one machine: the least sum of completion times with preemption (Schrage 1968)."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Pooled(NamedTuple):
    """What SRPT does with N jobs, in exact integers: times are in slots · speed."""

    total: int  # Σ completion times
    behind: NDArray[np.float64]  # (N,) jobs that are there and not completed while each is served, itself included, on average


def srpt(release: Ints, work: list[int], speed: int) -> Pooled:
    """SRPT with releases (N,) in slots, of `work` of each job, on a machine that does `speed` in a slot."""
    order = np.argsort(release, kind="stable").tolist()
    waiting: list[tuple[int, int]] = []
    now, total, k = 0, 0, 0
    crowd = [0.0] * len(work)
    while k < len(order) or waiting:
        if not waiting:
            now = max(now, int(release[order[k]]) * speed)
        while k < len(order) and int(release[order[k]]) * speed <= now:
            heapq.heappush(waiting, (work[order[k]], order[k]))
            k += 1
        left, job = waiting[0]
        until = now + left if k == len(order) else min(now + left, int(release[order[k]]) * speed)
        crowd[job] += len(waiting) * (until - now)
        if until - now == left:
            heapq.heappop(waiting)
            total += until
        else:
            heapq.heapreplace(waiting, (left - (until - now), job))
        now = until
    return Pooled(total, np.array(crowd) / np.maximum(np.array(work, float), 1.0))
