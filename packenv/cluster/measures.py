"""Sums, delays and the trajectory, in memory of fixed size.

Between two events nothing changes. So the state after scheduling in slot `now` counts for all slots up to the next event
(PAPERS §1.1, Measure).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.devices import TAKEN
from packenv.cluster.queue.waiting import follows
from packenv.cluster.state import Cluster
from packenv.compiled.decorators import apart, compiled
from packenv.compiled.intrinsics import leading_zeros

EXACT_BITS = 11
EXACT = 1 << EXACT_BITS  # delays below are counted exactly, those above to within 2^-10 of their value
HALF = EXACT // 2
DELAY_BINS = EXACT + HALF * 30  # up to 2^41 slots


@compiled
def delay_bin(delay: int) -> int:
    """Return a delay's histogram bin: EXACT_BITS significant bits, rounded down."""
    if delay < EXACT:
        return delay
    shift = 64 - EXACT_BITS - leading_zeros(delay)
    return min(shift * HALF + (delay >> shift), DELAY_BINS - 1)


def delay_values() -> NDArray[np.float64]:
    """Return the middle delay of each bin in slots, (DELAY_BINS,)."""
    exact = np.arange(EXACT, dtype=np.float64)
    shift = np.arange(1, 31)[:, None]
    low = (np.arange(HALF, EXACT) << shift).astype(np.float64)
    return np.concatenate([exact, (low + (2.0**shift - 1) / 2).ravel()])


@compiled
def record_start(c: Cluster, i: int) -> None:
    """Record schedule and delay (gangs: one delay) of a start."""
    head = c.head[c.e]
    task = c.task[c.e, i]
    head.started += 1
    if task.since >= head.warmup and not follows(c, i):
        delay = head.now - task.since
        head.delay_sum += delay
        head.response_sum += task.slots - task.since
        head.delay_count += 1
        head.delay_max = max(head.delay_max, delay)
        if c.measures.delays.shape[1] > 0:
            c.measures.delays[c.e, delay_bin(delay)] += 1
    if task.row < c.measures.start.shape[1]:
        c.measures.start[c.e, task.row] = head.now
        c.measures.end[c.e, task.row] = task.slots
        c.measures.server[c.e, task.row] = task.server
        if c.measures.source.shape[1] > 0:
            c.measures.source[c.e, task.row] = c.reads[c.e, i]
        if c.measures.devices.shape[1] > 0:
            c.measures.devices[c.e, task.row] = c.devices.need[c.e, i, TAKEN]
    task.since = head.now


@compiled
def elapse(c: Cluster, until: int) -> None:
    """Count the present state from `now` to `until` - 1."""
    head = c.head[c.e]
    start = max(head.now, head.warmup)
    slots = until - start
    if slots > 0:
        head.measured += slots
        head.queue_sum += head.waiting * slots
        head.queue_max = max(head.queue_max, head.waiting)
        head.size_sum += float(head.waiting_size) * slots
        for r in range(c.used.shape[1]):
            c.measures.used[c.e, r] += float(c.used[c.e, r]) * slots
    add_to_bins(c, head.now, until)


@compiled
def add_to_bins(c: Cluster, start: int, until: int) -> None:
    """Add slots to the trajectory, merging pairs of full bins."""
    head = c.head[c.e]
    bins = c.measures.bins.shape[1]
    if bins == 0:
        return
    while until > bins * head.bin_slots:
        merge_bins(c)
    while start < until:
        b = start // head.bin_slots
        end = min(until, (b + 1) * head.bin_slots)
        c.measures.bins[c.e, b, 0] += float(head.waiting) * (end - start)
        c.measures.bins[c.e, b, 1] += float(head.waiting_size) * (end - start)
        start = end


@apart
def merge_bins(c: Cluster) -> None:
    bins = c.measures.bins
    for b in range(bins.shape[1] // 2):
        for k in range(2):
            bins[c.e, b, k] = bins[c.e, 2 * b, k] + bins[c.e, 2 * b + 1, k]
    for b in range(bins.shape[1] // 2, bins.shape[1]):
        for k in range(2):
            bins[c.e, b, k] = 0.0
    c.head[c.e].bin_slots *= 2
