"""The stationary policy with the shortest mean queue (PAPERS §6)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.options.fields import takes
from packenv.options.verbs import OptimalPolicyOptions
from packenv.theory.stationary_optimum.decision_process import MOST_STATES, DecisionProcess, Progress, states_of
from packenv.theory.stationary_optimum.occupancies import Occupancies, SmallInstance, occupancies, small_instance, small_types
from packenv.workloads.workload import Workload

SETTLED = 1e-3
"""Waiting counts are enough when twice as many lengthen the shortest mean queue by less than this share."""
FIRST = 8
"""The waiting counts that are tried first, when nobody says how many."""


@dataclass(frozen=True, eq=False)
class StationaryOptimum:
    """A policy for waiting counts up to `most`, with bounds."""

    workload: Workload
    instance: SmallInstance
    occupancies: Occupancies
    most: int  # counts above it are taken for it
    decisions: NDArray[np.uint8]  # (S, most + 1, …, one axis for each type) what to start next (`Start.code`), 0 for nothing
    lower: float  # no policy has a shorter mean queue
    smaller: float  # the least mean queue where more than `most` jobs of a type cannot wait
    larger: float  # no less than the least mean queue where more than 2 · `most` cannot wait
    states: int  # of the larger of the two processes that were solved
    seconds: float

    @property
    def settled(self) -> bool:
        """Whether doubling the counts adds less than 0.1 %."""
        return self.lower - self.smaller <= SETTLED * self.lower


@takes(OptimalPolicyOptions, without=("slots", "seeds"))
def stationary_optimum(workload: Workload, options: OptimalPolicyOptions, progress: Progress | None = None) -> StationaryOptimum:
    """Return the non-preemptive policy with the shortest mean queue, and bounds.

    workload   one resource, discrete sizes, geometric service, Bernoulli or Poisson arrivals
    options    fields of OptimalPolicyOptions. By default `most` is 8, 16, … until doubling changes the queue by less than 0.1 %

    Two processes are solved. They lose arriving jobs if `most`, or 2 · `most`, of their type wait. Both lower bounds hold for the
    workload itself (packenv.theory.stationary_optimum.decision_process). The policy is the larger process's, for the counts of
    the smaller one. Near its own limit, it would wait for losses that do not happen.
    Raises InputError for another workload, an unstable one, more than 3,000,000 states, or no solution in time (with the bounds
    so far).
    """
    most, within = options.most, options.within
    if not 0 < within < 1:
        raise InputError(f"within must lie between 0 and 1, not {within}")
    if most is not None and most < 1:
        raise InputError(f"most must be at least 1, not {most}")
    began, until = time.perf_counter(), time.monotonic() + options.seconds
    every = occupancies(small_types(workload))  # refuses what is too large before ρ* is sought
    instance = small_instance(workload)
    count = FIRST if most is None else most
    process = DecisionProcess(instance, every, 2 * count)  # refused before the smaller one takes minutes
    smaller = DecisionProcess(instance, every, count).solve(within, progress, until)[0]
    # Double the counts until that changes the queue little, or states are too many.
    while True:
        larger, decisions = process.solve(within, progress, until)
        settled = larger.low - smaller.low <= SETTLED * larger.low
        if most is not None or settled or states_of(every, process.types, 4 * count) > MOST_STATES:
            break
        count, smaller = 2 * count, larger
        process = DecisionProcess(instance, every, 2 * count)
    # Decisions near the limit of the larger process are left out.
    kept = decisions[(slice(None), *[slice(0, count + 1)] * process.types)].copy()
    return StationaryOptimum(
        workload=workload,
        instance=instance,
        occupancies=every,
        most=count,
        decisions=kept,
        lower=larger.low,
        smaller=smaller.low,
        larger=larger.high,
        states=states_of(every, process.types, 2 * count),
        seconds=time.perf_counter() - began,
    )
