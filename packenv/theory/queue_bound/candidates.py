"""Prices to try: those under which the cluster is as full as under its capacity, or almost.

Sizes above 1 / (n + 1) of a server are held at most n at a time (Counted). More generally ⌈(n + 1) x⌉ - 1 for a size of x
servers: tasks that fit a server cost at most n together (a dual feasible function of bin packing). And the prices that
prove the upper bound on ρ*.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from packenv.theory.capacity.one_resource.certificate import Bounded
from packenv.theory.capacity.one_resource.size_law import SizeLaw
from packenv.theory.capacity.several_resources.certificate import LARGEST_WEIGHT, Scalarised
from packenv.theory.queue_bound.prices import Prices

STEPS = 12
MANY_STEPS = (48, 240, 1000)  # for small sizes, whose prices are then almost in proportion to them
SMALL = 4
FEW = 64  # sizes: each is a threshold
CAPACITIES = 4
FINEST = 240  # the largest price, of those that prove the bound on ρ*


def weightings(kinds: Any, bounded: Any) -> list[tuple[int, ...]]:
    """Weights of the resources: () for one; each resource alone, all alike, and those that bound ρ*."""
    if kinds.capacity.ndim == 1:
        return [()]
    largest = kinds.capacity.max(axis=0)
    alike = np.maximum(LARGEST_WEIGHT // 64 * largest.min() // largest, 1)
    found = [*np.eye(len(largest), dtype=np.int64), alike]
    own = [bounded.weights] if isinstance(bounded, Scalarised) else []
    return list(dict.fromkeys([*(tuple(one.tolist()) for one in found), *own]))


def thresholds(law: SizeLaw, capacities: list[int]) -> list[int]:
    """Least sizes of the tasks to be counted."""
    low, high = int(law.low[0]), int(law.low[-1])
    found = {capacity // n + 1 for capacity in capacities[:CAPACITIES] for n in range(2, STEPS + 2)} | {low}
    if len(law.low) <= FEW:
        found |= set(law.low.tolist())
    return sorted(t for t in found if max(low, 1) <= t <= high)


def step_prices(law: SizeLaw, capacities: list[int], weights: tuple[int, ...]) -> Iterator[Prices]:
    """⌈(n + 1) x⌉ - 1 for n = 2, 3, … and each of the capacities."""
    high = int(law.low[-1])
    for capacity in capacities[:CAPACITIES]:
        for n in (*range(2, STEPS + 1), *(MANY_STEPS if SMALL * high <= capacity else ())):
            steps = [t for j in range(1, n + 1) if (t := capacity * j // (n + 1) + 1) <= high]
            if steps and len(set(steps)) == len(steps):
                yield Prices(tuple(steps), tuple(range(1, len(steps) + 1)), weights)


def dual_prices(bounded: Any, law: SizeLaw, weights: tuple[int, ...]) -> Iterator[Prices]:
    """The prices that bound ρ*, as steps."""
    proof = bounded.bounded if isinstance(bounded, Scalarised) and bounded.weights == weights else bounded
    if not isinstance(proof, Bounded):
        return
    scale = max(proof.prices)
    steps: dict[int, int] = {}
    for point, price in zip(proof.points, proof.prices, strict=True):
        rounded = round(price * FINEST / scale)
        if rounded > max(steps.values(), default=0) and point <= law.low[-1]:
            steps[point] = rounded
    if steps:
        yield Prices(tuple(steps), tuple(steps.values()), weights)
