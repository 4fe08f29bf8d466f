"""How often verdicts are wrong: packenv's, and two rules of a simulator of LLM inference, on queues of known load.

Every run is a queue of this file: first come, first served, on equal servers. A cell is a service law, a number of servers, a
kind of arrivals and a number of arrivals, on one side of load 1; its runs share the loads of that side evenly. Numbers below the
table count wrong answers (stable above load 1, unstable below) and the runs that were decided.

    python -m experiments.verdicts --runs 400
    python -m experiments.verdicts --runs 40 --arrivals 500 2000      # a first look

The other rules are inference-sim's `composite` and `backlog-drift` (sim/saturation, September 2026), which see completions until
the last arrival.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import packenv

Floats = NDArray[np.float64]

SERVICES = ("exponential", "fixed", "lognormal 1.5", "lognormal 2.5", "pareto 1.5")
SERVERS = (1, 16, 256)
KINDS = ("poisson", "bursty", "daily")
ARRIVALS = (500, 2_000, 6_000, 50_000)
BELOW, ABOVE = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98), (1.02, 1.05, 1.1, 1.2, 1.5)
DAY, A_DAY = 86_400.0, 500  # seconds, and arrivals in a day
SOJOURN, SWING = 25.0, 0.75  # of the bursty kind: mean interarrival times in a state, and how far the rates are from their mean
DAILY_SWING = 0.5


def services(law: str, count: int, rng: np.random.Generator) -> Floats:
    """(count,) service times with mean 1."""
    name, _, shape = law.partition(" ")
    if name == "exponential":
        return rng.exponential(size=count)
    if name == "fixed":
        return np.ones(count)
    if name == "lognormal":
        sigma = float(shape)
        return np.exp(sigma * rng.standard_normal(count) - sigma**2 / 2)
    alpha = float(shape)
    return rng.random(count) ** (-1 / alpha) * (alpha - 1) / alpha


def arrivals(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """(count,) arrival times with mean distance 1, sorted."""
    clock = np.cumsum(rng.exponential(size=count))  # Poisson in the time in which the rate is 1
    if kind == "poisson":
        return clock
    if kind == "daily":
        grid = np.linspace(0, 2 * count + A_DAY, 200_001)
        phase = 2 * np.pi / A_DAY
        passed = grid - DAILY_SWING * np.sin(phase * grid) / phase  # the night comes first
        return np.interp(clock, passed, grid)
    states = int(4 * count / SOJOURN) + 200
    stays = rng.exponential(SOJOURN, states)
    rates = 1 + SWING * (1 - 2 * ((np.arange(states) + rng.integers(2)) % 2))
    passed = np.concatenate([[0.0], np.cumsum(stays * rates)])
    return np.interp(clock, passed, np.concatenate([[0.0], np.cumsum(stays)]))


@numba.njit(cache=True)
def starts(arrival: Floats, service: Floats, servers: int) -> Floats:
    """(n,) when each task starts: the first server that is free takes the task that came first."""
    free = [0.0] * servers
    begin = np.empty(len(arrival))
    for i in range(len(arrival)):
        begin[i] = max(arrival[i], free[0])
        heapq.heapreplace(free, begin[i] + service[i])
    return begin


def composite(arrival: Floats, end: Floats) -> str:
    """The rule of `CompositeDetector`: a deficit of completions, or latencies that grow from quarter to quarter."""
    over = end <= arrival[-1]
    latency = (end - arrival)[over][np.argsort(end[over], kind="stable")]
    floor, trend, n = 1 / math.sqrt(len(arrival)), 0.0, len(latency)
    if n >= 2:
        first, second = latency[: n // 2].mean(), latency[n // 2 :].mean()
        trend = max(0.0, (second - first) / first)
        quarters = [latency[k * (n // 4) : (k + 1) * (n // 4) if k < 3 else n].mean() for k in range(4)] if n >= 20 else [0.0, 1.0]
        if not (np.diff(quarters) > 0).all():
            trend = 0.0
    score = max(1 - n / len(arrival), min(trend, 1.0))
    return "stable" if score < floor else "unstable" if trend > floor else "undecided"


def backlog_drift(arrival: Floats, end: Floats, window: float = 60.0) -> str:
    """The rule of `BacklogDriftDetector`: the slope of the requests in flight at the ends of windows of a minute."""
    edges = np.arange(1, math.floor(arrival[-1] / window) + 2) * window
    edges[-1] = arrival[-1]
    flying = np.searchsorted(arrival, edges, "right") - np.searchsorted(np.sort(end), edges, "right")
    if len(flying) < 2:
        return "stable"
    x = np.arange(len(flying)) - (len(flying) - 1) / 2
    slope, floor = float(x @ flying / (x @ x)), 1 / math.sqrt(len(arrival))
    return "stable" if slope <= floor else "unstable" if slope > 3 * floor else "undecided"
