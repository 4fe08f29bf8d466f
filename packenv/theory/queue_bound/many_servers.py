"""The function φ of the counted bound: that of the queue with k servers itself, found in floating point and rounded."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from packenv.theory.capacity.linear_program import Floats
from packenv.theory.queue_bound.arrivals import Setting
from packenv.theory.queue_bound.counted import Counted
from packenv.theory.queue_bound.prices import Prices

PARTS = 1 << 40
BEYOND = 24.0  # N is k and so many standard deviations of the number of tasks that leave, or arrive, at once
MOST_SERVERS = 1500


def counted_proof(prices: Prices, setting: Setting, k: int, rate: Fraction) -> Counted:
    """The proof for k servers and tasks that arrive one by one at this rate, below that of what k servers complete.

    The equation n + E[φ(n')] - φ(n) = g is solved on 0 .. N with a parabola beyond N; its bend is the exact one.
    """
    leaving, mean = float(setting.leaving), float(rate)
    last = k + max(32, math.ceil(BEYOND * math.sqrt(k)))
    drift = rate - setting.leaving * k
    out = setting.leaving * k
    square = setting.second_moment(rate / setting.rate, rate / setting.rate) - 2 * rate * out
    square += out**2 + out * (1 - setting.leaving)
    bend = -1 / float(drift)
    arriving = _arriving(setting.bernoulli, mean)
    rows = _after_departures(last, k, leaving)  # (N + 1, N + 1)
    # E[φ(n')] = Σ rows[n, m] Σ_i arriving[i] φ(m + i); beyond N, φ = φ(N) + slope x + bend x (x - 1) / 2
    reach = np.zeros((last + 1, last + len(arriving)))
    for i, p in enumerate(arriving):
        reach[np.arange(last + 1), np.arange(last + 1) + i] += p
    step = rows @ reach
    over = np.arange(len(arriving) - 1) + 1.0
    constant = step[:, last + 1 :] @ (bend * over * (over - 1) / 2)
    sloped = step[:, last + 1 :] @ over
    step[:, last] += step[:, last + 1 :].sum(axis=1)
    # beyond N: N + slope drift + bend (square - drift) / 2 = g, so slope = (g - fixed) / drift
    fixed = last + bend * float(square - drift) / 2
    matrix = np.eye(last + 1) - step[:, : last + 1]
    matrix[:, 0] = 1 - sloped / float(drift)  # φ(0) = 0: its place is that of g
    solved = np.linalg.solve(matrix, np.arange(last + 1) + constant - sloped * fixed / float(drift))
    g, values = float(solved[0]), np.concatenate([[0.0], solved[1:]])
    return _rounded(prices, values, (g - fixed) / float(drift), Fraction(-1) / drift, k)


def _rounded(prices: Prices, values: Floats, slope: float, bend: Fraction, k: int) -> Counted:
    """In whole parts, and the slope raised until the parabola is not above the values before it."""
    whole = [round(value * PARTS) for value in np.maximum.accumulate(values).tolist()]
    bends, last = math.floor(bend * PARTS), len(whole) - 1
    slopes = max(0, round(slope * PARTS))
    for x in range(1, k + 1):
        slopes = max(slopes, -((whole[last - x] - whole[last] - bends * x * (x + 1) // 2) // x))
    return Counted(prices, tuple(whole), slopes, bends, PARTS)


def _arriving(bernoulli: bool, mean: float) -> Floats:
    """Chances of 0, 1, … arrivals."""
    if bernoulli:
        return np.array([1 - mean, mean])
    ratios = mean / np.arange(1, math.ceil(mean + 10 * math.sqrt(mean) + 10))
    return np.asarray(math.exp(-mean) * np.cumprod([1.0, *ratios]))


def _after_departures(last: int, k: int, leaving: float) -> Floats:
    """(N + 1, N + 1) chance that n tasks become m, of which min(n, k) are in service."""
    found = np.zeros((last + 1, last + 1))
    out: Floats = np.ones(1)  # chances that 0, 1, … leave
    for n in range(last + 1):
        found[n, n - np.arange(len(out))] = out
        if n < k:
            out = np.convolve(out, [1 - leaving, leaving])
    return found
