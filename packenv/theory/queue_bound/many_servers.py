"""The function φ of the counted bound: that of the queue with k servers itself, found in floating point and rounded."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, hstack, identity
from scipy.sparse.linalg import spsolve

from packenv.theory.capacity.linear_program import Floats
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.counted import Counted, moments_of_change
from packenv.theory.queue_bound.prices import PricedTasks, Prices
from packenv.theory.queue_bound.probabilities import BITS, arrivals_below

PARTS = 1 << 40
BEYOND = 24.0  # N is k and so many standard deviations of the number of tasks that leave, or arrive, at once
MOST_PIECES = 1500
TINY = 1e-25


def counted_proof(prices: Prices, setting: Setting, tasks: PricedTasks) -> Counted:
    """The proof for tasks that arrive one by one at a price below that of what is completed.

    The equation n + E[φ(n')] - φ(n) = g is solved on 0 .. N with a parabola beyond N; its bend is the exact one.
    """
    k, leaving = tasks.most, float(setting.leaving)
    last = k + max(32, math.ceil(BEYOND * math.sqrt(k)))
    drift, square = moments_of_change(setting, tasks)
    bend = -1 / float(drift)
    arriving = np.array(arrivals_below(setting, tasks)) / 2.0**BITS
    # E[φ(n')] = Σ after[n, m] φ(m); beyond N, φ = φ(N) + slope x + bend x (x - 1) / 2
    arrive = diags(arriving, np.arange(len(arriving)), shape=(last + 1, last + len(arriving)))
    after = (_after_departures(last, k, leaving) @ arrive).tocsc()
    beyond, over = after[:, last + 1 :], np.arange(1.0, len(arriving))
    constant, sloped = beyond @ (bend * over * (over - 1) / 2), beyond @ over
    within = identity(last + 1, format="csc") - after[:, : last + 1]
    # beyond N: N + slope drift + bend (square - drift) / 2 = g, so slope = (g - fixed) / drift
    fixed = last + bend * float(square - drift) / 2
    # φ(0) = 0: its place is that of g
    first = csc_matrix((1 - sloped / float(drift))[:, None])
    end = within[:, last:] - csc_matrix(beyond.sum(axis=1))
    matrix = hstack([first, within[:, 1:last], end], format="csc")
    solved = spsolve(matrix, np.arange(last + 1) + constant - sloped * fixed / float(drift))
    g, values = float(solved[0]), np.concatenate([[0.0], solved[1:]])
    return _rounded(prices, values, (g - fixed) / float(drift), Fraction(-1) / drift, k)


def _rounded(prices: Prices, values: Floats, slope: float, bend: Fraction, k: int) -> Counted:
    """In whole parts, and the slope raised until the parabola is not above the values before it."""
    whole = [round(value * PARTS) for value in np.maximum(values, 0.0).tolist()]
    bends, last = math.floor(bend * PARTS), len(whole) - 1
    slopes = max(0, round(slope * PARTS))
    for x in range(1, k + 1):
        slopes = max(slopes, -((whole[last - x] - whole[last] - bends * x * (x + 1) // 2) // x))
    return Counted(prices, tuple(whole), slopes, bends, PARTS)


def _after_departures(last: int, k: int, leaving: float) -> Any:
    """(N + 1, N + 1) chance that n tasks become m, of which min(n, k) are in service; sparse, without tiny chances."""
    out: Floats = np.ones(1)  # chances that 0, 1, … leave
    chances, starts, ends = [], [], []
    for n in range(last + 1):
        chances.append(out)
        starts.append(np.full(len(out), n))
        ends.append(n - np.arange(len(out)))
        if n < k:
            out = np.convolve(out, [1 - leaving, leaving])
            out = out[: np.flatnonzero(out > TINY)[-1] + 1]
    places = np.concatenate(starts), np.concatenate(ends)
    return csr_matrix((np.concatenate(chances), places), shape=(last + 1, last + 1))
