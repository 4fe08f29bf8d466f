"""A first verdict on a run: stable, unstable, or undecided (DESIGN, decision 5).

The mean queue of an unstable run says how long the run was, not how good the policy is, so a verdict stands beside
every mean. It looks at the path of the waiting size, not at its level: an unstable queue drifts up and does not come
back; a stable one keeps coming back near to empty, or shows no drift that stands out from its own fluctuations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STABLE, UNSTABLE, UNDECIDED = "stable", "unstable", "undecided"

BATCHES = 20
FEWEST_BINS = 5 * BATCHES
NEAR_EMPTY = 0.01  # waiting size that counts as near-empty, as a share of the cluster's capacity; never below ...
ONE_SERVER = 1.0  # ... one unit of capacity


class Verdict(NamedTuple):
    """`drift`: growth of the waiting size per slot (units of capacity); `score`: how many standard errors that is."""

    kind: str
    drift: float
    score: float

    def __str__(self) -> str:
        return self.kind


def judge_run(waiting_size: NDArray[np.float64], bin_slots: int, capacity: float) -> Verdict:
    """Verdict on a path of the waiting size: (bins,) mean per bin of `bin_slots` slots, in units of capacity.

    `capacity`: of the whole cluster, in the same units.
    """
    path = waiting_size[len(waiting_size) // 10 :]  # let it fill up first
    if len(path) < FEWEST_BINS:
        return Verdict(UNDECIDED, 0.0, 0.0)
    length = len(path) // BATCHES
    means = path[len(path) - BATCHES * length :].reshape(BATCHES, length).mean(axis=1)
    steps = np.diff(means)
    drift = float(steps.mean())
    error = float(steps.std(ddof=1)) / np.sqrt(len(steps))
    score = drift / error if error > 0 else 0.0
    near_empty = max(NEAR_EMPTY * capacity, ONE_SERVER)
    quarters = np.array([part.min() for part in np.array_split(path, 4)])
    back_at_the_end = path[-len(path) // 10 :].min() <= max(near_empty, float(np.median(path)))
    if (quarters <= near_empty).all() and back_at_the_end:
        kind = STABLE
    elif score > 3 and (np.diff(quarters) > 0).all():
        kind = UNSTABLE
    elif (quarters[2:] <= np.maximum(quarters[:2], near_empty)).any() and abs(score) < 1:
        kind = STABLE
    else:
        kind = UNDECIDED
    return Verdict(kind, drift / (length * bin_slots), score)
