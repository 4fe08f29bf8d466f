"""Scores by which six policies choose a server and its device (PAPERS §7).

The highest score wins. Each is a number from 0 to 100. The published program cuts off the decimals, so most decisions are
ties, and the rule for ties decides the result. TIES names the rules.
"""

from __future__ import annotations

import math

from packenv.compiled.decorators import compiled
from packenv.policies.gpus.fragmentation import WHOLE, Ints, TaskShapes, fragmentation

SCORES = ("fgd", "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "random")
FGD, BEST_FIT, DOT_PRODUCT, PACKING, CLUSTERING, RANDOM = range(len(SCORES))

TIES = ("order", "file", "random", "exact", "best-fit")
"""Which of the servers with the highest score is taken.

order     the first in one random order, which is drawn once a run and kept: as published
file      the first in the order of the table of servers
random    any of them, drawn anew at each decision
exact     scores keep their decimals; what is equal then, by `order`
best-fit  the one that best fit would choose, by its exact score; what is equal then, by `order`
"""
BY_ORDER, BY_FILE, AT_RANDOM, EXACT, BY_BEST_FIT = range(len(TIES))

CLASSES = 10  # of tasks, to `gpu-clustering`: a share, 1 to 8 whole devices, more; without devices: none
NO_CLASS = -1


@compiled
def class_of(share: int, count: int) -> int:
    """Return a task's class: 0 with a share, else its devices < CLASSES."""
    if share == 0:
        return NO_CLASS
    return 0 if share < WHOLE else min(count, CLASSES - 1)


@compiled
def accepts(left: Ints, devices: int, kind: int, share: int, count: int, kinds: int) -> bool:
    """Return whether a server's devices have room. Kinds count even without devices."""
    if kinds & kind == 0:
        return False
    if share == 0:
        return True
    with_room = 0
    for d in range(devices):
        with_room += left[d] >= share
    return with_room >= count


@compiled
def tightest_device(left: Ints, devices: int, share: int) -> int:
    """Return the first device with the least room that holds a share."""
    best = -1
    for d in range(devices):
        if left[d] >= share and (best < 0 or left[d] < left[best]):
            best = d
    return best


@compiled
def take(left: Ints, devices: int, share: int, count: int, device: int) -> None:
    """Take a share of `device`, or the first `count` free devices."""
    if share < WHOLE:
        if share > 0:
            left[device] -= share
        return
    for d in range(devices):
        if count > 0 and left[d] == WHOLE:
            left[d] = 0
            count -= 1


@compiled
def fgd_after(shapes: TaskShapes, before: float, cpu: int, left: Ints, devices: int, kind: int, beside: float) -> float:
    """Return 100·σ of the drop in F (devices) after a task joins."""
    less = before - fragmentation(shapes, cpu, left, devices, kind, beside)
    return 100.0 / (1.0 + math.exp(-less / (shapes.total * 1000.0)))


@compiled
def fgd_device(
    shapes: TaskShapes, before: float, cpu: int, left: Ints, devices: int, kind: int, beside: float, share: int, exact: bool
) -> tuple[float, int]:
    """Return the first best device for a share, and its score."""
    best, chosen = -1.0, -1
    for d in range(devices):
        if left[d] >= share and first_with(left, d):
            left[d] -= share
            score = fgd_after(shapes, before, cpu, left, devices, kind, beside)
            left[d] += share
            if not exact:
                score = math.floor(score)
            if score > best:
                best, chosen = score, d
    return best, chosen


@compiled
def first_with(left: Ints, d: int) -> bool:
    """Return whether no earlier device has equal room, hence equal score."""
    for other in range(d):
        if left[other] == left[d]:
            return False
    return True


@compiled
def best_fit_score(cpu: int, idle: int, needs_cpu: int, needs: int, most_cpu: int, most_idle: int) -> float:
    """Return a high score for little room left.

    `most_…`: of the largest server. Published scores are min–max normalised, with the same order.
    """
    return (1.0 - 0.5 * ((cpu - needs_cpu) / most_cpu) - 0.5 * ((idle - needs) / most_idle)) * 100.0


@compiled
def dot_product_score(cpu: int, idle: int, needs_cpu: int, needs: int, most_cpu: int, most_idle: int) -> float:
    """Return a high score for a small alignment, unlike Tetris."""
    return 100.0 * (1.0 - ((cpu / most_cpu) * (needs_cpu / most_cpu) + (idle / most_idle) * (needs / most_idle)) / 2.0)


@compiled
def packing_score(left: Ints, devices: int, share: int, count: int) -> float:
    """Prefer used devices, then used servers; 0 without devices."""
    free = 0
    for d in range(devices):
        free += left[d] == WHOLE
    if share == 0:
        return 0.0
    if free == devices:
        return float(max(33 - free, free))
    if share == WHOLE or left[tightest_device(left, devices, share)] == WHOLE:
        return float(max(50 - count, 33))
    return float(max(100 - left[tightest_device(left, devices, share)] // 10 // 10, 50))


@compiled
def clustering_score(idle: int, most_idle: int, alike: int, classes: int) -> float:
    """Prefer servers with this class alone, then mixed, empty, others. Then fuller."""
    base = (75 if classes == 1 else 50) if alike > 0 else (25 if classes == 0 else 0)
    return float(base + 25 * (most_idle - idle) // most_idle)
