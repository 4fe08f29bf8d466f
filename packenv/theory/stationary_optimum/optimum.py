"""The stationary policy with the shortest mean queue (PAPERS §6).

It solves the Markov decision process of a small instance by relative value iteration. Waiting counts go up to `most`. In a slot,
jobs in service leave, each with the same probability, and jobs arrive. Then jobs are started, one after the other, for as long as
the policy chooses. The number of jobs that still wait is the slot's cost. If `most` jobs of a type wait, an arriving one is lost.
The least mean cost of this process is at most the mean queue of **any** policy without such losses that does not preempt and
knows neither coming arrivals nor the ends of services.

Proof. Let such a policy start jobs. The process with losses follows it, with the same arrivals. Where the policy starts a job, it
starts one of the same type on the same server, which leaves when the policy's job does. If none waits, it starts nothing. So it
serves some of the policy's jobs, and these fit. It never has more jobs of any type waiting. An arrival adds one to both, or is
lost to it alone. A start takes one from both, or from the policy alone while it has none. Hence its cost is no larger in any
slot. It acts on the policy's state, not only on its own, but this reveals nothing about the future. The least mean cost of a
finite decision process over all rules, with memory and chance, is reached by a stationary one. For the same reason more room for
waiting jobs never lowers the least cost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import ArgumentError, InputError
from packenv.options.fields import takes
from packenv.options.verbs import OptimalPolicyOptions
from packenv.theory.stationary_optimum.occupancies import Occupancies, SmallInstance, occupancies, small_instance, small_types
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

MOST_STATES = 3_000_000
MOST_ITERATIONS = 200_000

ITERATIONS = 16  # between two looks at the time
DEARER = "fewer sizes or servers, a larger `within` or a smaller `most` take less time, as does a shorter mean service"

Progress = Callable[[int, int, float, float], None]
"""Is told the number of states, of iterations, and the bounds so far."""


class CostBounds(NamedTuple):
    """The interval of the mean cost."""

    low: float
    high: float


class DecisionProcess:
    """Values and decisions (S, most + 1, … most + 1) by state."""

    def __init__(self, instance: SmallInstance, occupancies: Occupancies, most: int) -> None:
        types = len(instance.sizes)
        states = states_of(occupancies, types, most)
        if states > MOST_STATES:
            raise InputError(
                f"{states:,} states ({len(occupancies.jobs):,} mixes of jobs in service, up to {most} waiting of each of {types} "
                f"types) are too many for the optimal policy: at most {MOST_STATES:,}"
            )
        self.instance, self.occupancies, self.most, self.types = instance, occupancies, most, types
        self.leave = occupancies.completions(instance.departure)
        self.waiting = np.indices((most + 1,) * types, np.float64).sum(axis=0)
        self.fullest_first = np.argsort(-occupancies.jobs, kind="stable").tolist()
        self.joining = [self._joining(share * instance.rate) for share in instance.shares] if instance.poisson else []

    def solve(self, within: float, progress: Progress | None = None, until: float = math.inf) -> tuple[CostBounds, Codes]:
        """Return the least mean cost, and decisions for it.

        The cost has a relative error of `within`. Decisions are (S, most + 1, …) codes of the next start (`TypeStart.code`),
        0 for none. Look again after each start. Raises ArgumentError without a solution at the time `until` (`time.monotonic`).
        """
        bounds, values = self._iterate(within, progress, until)
        return bounds, self._decisions(self._ahead(values))

    def _iterate(self, within: float, progress: Progress | None, until: float) -> tuple[CostBounds, Floats]:
        """Run relative value iteration until the bounds are close.

        The smallest and the largest increase of a value bound the mean cost at every step. Raises ArgumentError after
        MOST_ITERATIONS, or at the time `until`.
        """
        values = np.zeros((len(self.leave), *self.waiting.shape))
        bounds = CostBounds(0.0, math.inf)
        for n in range(MOST_ITERATIONS):
            renewed = self._best(self._ahead(values))
            values -= renewed
            bounds = CostBounds(-float(values.max()), -float(values.min()))
            values = renewed - renewed.flat[0]
            if bounds.high - bounds.low <= within * bounds.low:
                return bounds, values
            if n % ITERATIONS == 0:
                if progress is not None:
                    progress(values.size, n, *bounds)
                if time.monotonic() > until:
                    break
        known = f"between {max(bounds.low, 0.0):.4g} and {bounds.high:.4g}, not to {within:g}, after {n + 1:,} iterations"
        raise ArgumentError(f"with {values.size:,} states the shortest mean queue is known to lie {known}; {DEARER}")

    def _ahead(self, values: Floats) -> Floats:
        """Return expected next values, by states after starts."""
        arrived = self._arrivals(values)
        return (self.leave @ arrived.reshape(len(arrived), -1)).reshape(values.shape)

    def _arrivals(self, values: Floats) -> Floats:
        """Return expected values after arrivals, by waiting counts before them."""
        if self.joining:
            for j, chances in enumerate(self.joining):
                flat = values.reshape(-1, self.most + 1, (self.most + 1) ** (self.types - 1 - j))
                values = (chances @ flat).reshape(values.shape)
            return values
        arrived = (1 - self.instance.rate) * values
        for j, share in enumerate(self.instance.shares):
            chance = self.instance.rate * share
            arrived[self._of(j, slice(0, -1))] += chance * values[self._of(j, slice(1, None))]
            arrived[self._of(j, slice(-1, None))] += chance * values[self._of(j, slice(-1, None))]
        return arrived

    def _joining(self, mean: float) -> Floats:
        """(most + 1, most + 1) one type's Poisson transition probabilities."""
        from scipy.stats import poisson

        more = np.arange(self.most + 1)[None] - np.arange(self.most + 1)[:, None]
        chances = poisson.pmf(more, mean)
        chances[:, -1] = poisson.sf(more[:, -1] - 1, mean)
        return np.asarray(chances)

    def _of(self, j: int, counts: slice) -> tuple[slice, ...]:
        """Return the index of type j's waiting `counts`."""
        return (slice(None), *[slice(None)] * j, counts)

    def _best(self, ahead: Floats) -> Floats:
        """Return values before the best starts, fuller occupancies first."""
        values = ahead
        values += self.waiting
        for s in self.fullest_first:
            for start in self.occupancies.starts[s]:
                waiting, one_less = self._of(start.type, slice(1, None))[1:], self._of(start.type, slice(0, -1))[1:]
                np.minimum(values[s][waiting], values[start.following][one_less], out=values[s][waiting])
        return values

    def _decisions(self, ahead: Floats) -> Codes:
        """The best next start in each state."""
        values, codes = ahead, np.zeros(ahead.shape, np.uint8)
        values += self.waiting
        for s in self.fullest_first:
            for start in self.occupancies.starts[s]:
                waiting, one_less = self._of(start.type, slice(1, None))[1:], self._of(start.type, slice(0, -1))[1:]
                better = values[start.following][one_less] < values[s][waiting]
                values[s][waiting][better] = values[start.following][one_less][better]
                codes[s][waiting][better] = start.code(len(self.occupancies.kind))
        return codes


def states_of(occupancies: Occupancies, types: int, most: int) -> int:
    return len(occupancies.jobs) * (most + 1) ** types


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
    decisions: NDArray[np.uint8]  # (S, most + 1, …, one axis for each type) what to start next (`TypeStart.code`), 0 for nothing
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
def stationary_optimum(workload: Any, options: OptimalPolicyOptions, progress: Progress | None = None) -> StationaryOptimum:
    """Return the non-preemptive policy with the shortest mean queue, and bounds.

    workload   what `packenv.workload` takes: one resource, discrete sizes, geometric service, Bernoulli or Poisson arrivals
    options    fields of OptimalPolicyOptions. By default `most` is 8, 16, … until doubling changes the queue by less than 0.1 %

    Two processes are solved. They lose arriving jobs if `most`, or 2 · `most`, of their type wait. Both lower bounds hold for the
    workload itself (packenv.theory.stationary_optimum.optimum). The policy is the larger process's, for the counts of
    the smaller one. Near its own limit, it would wait for losses that do not happen.
    Raises InputError for another workload, an unstable one, more than 3,000,000 states, or no solution in time (with the bounds
    so far).
    """
    most, within = options.most, options.within
    if not 0 < within < 1:
        raise InputError(f"within must lie between 0 and 1, not {within}")
    if most is not None and most < 1:
        raise InputError(f"most must be at least 1, not {most}")
    workload = find_workload(workload)
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
    table = decisions[(slice(None), *[slice(0, count + 1)] * process.types)].copy()
    return StationaryOptimum(
        workload=workload,
        instance=instance,
        occupancies=every,
        most=count,
        decisions=table,
        lower=larger.low,
        smaller=smaller.low,
        larger=larger.high,
        states=states_of(every, process.types, 2 * count),
        seconds=time.perf_counter() - began,
    )
