"""The Markov decision process of a small instance.

Waiting counts go up to `most`. It is solved by relative value iteration. In a slot, jobs in service leave, each with the same
probability, and jobs arrive. Then jobs are started, one after the other, for as long as the policy chooses. The number of jobs
that still wait is the slot's cost. If `most` jobs of a type wait, an arriving one is lost. The least mean cost of this process is
at most the mean queue of **any** policy without such losses that does not preempt and knows neither coming arrivals nor the ends
of services.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import ArgumentError, InputError
from packenv.theory.stationary_optimum.occupancies import Occupancies, SmallInstance

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

MOST_STATES = 3_000_000
MOST_ITERATIONS = 200_000

ITERATIONS = 16  # between two looks at the time
DEARER = "fewer sizes or servers, a larger `within` or a smaller `most` take less time, as does a shorter mean service"

Progress = Callable[[int, int, float, float], None]
"""Is told the number of states, of iterations, and the bounds so far."""


class Bounds(NamedTuple):
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

    def solve(self, within: float, progress: Progress | None = None, until: float = math.inf) -> tuple[Bounds, Codes]:
        """Return the least mean cost, and decisions for it.

        The cost has a relative error of `within`. Decisions are (S, most + 1, …) codes (`Start.code`) of the next start, 0 for
        none; look again after each start. Raises ArgumentError without a solution at the time `until` (`time.monotonic`).
        """
        bounds, values = self._iterate(within, progress, until)
        return bounds, self._decisions(self._ahead(values))

    def _iterate(self, within: float, progress: Progress | None, until: float) -> tuple[Bounds, Floats]:
        """Run relative value iteration until the bounds are close.

        The smallest and the largest increase of a value bound the mean cost at every step. Raises ArgumentError after
        MOST_ITERATIONS, or at the time `until`.
        """
        values = np.zeros((len(self.leave), *self.waiting.shape))
        bounds = Bounds(0.0, math.inf)
        for n in range(MOST_ITERATIONS):
            renewed = self._best(self._ahead(values))
            values -= renewed
            bounds = Bounds(-float(values.max()), -float(values.min()))
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
