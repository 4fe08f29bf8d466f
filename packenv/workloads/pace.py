"""Tables with faster or slower arrivals, otherwise unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from packenv.jobs import Jobs


def spread(jobs: Jobs, times: float) -> Jobs:
    """Multiply the arrival slots by `times`."""
    return replace(jobs, arrival=np.floor(jobs.arrival * times).astype(np.int64))


def spread_draw(draw: Callable[[int], Jobs], times: float) -> Callable[[int], Jobs]:
    """Spread the tables of a function, which stays `Lasting`."""
    return (LastingSpread if isinstance(draw, Lasting) else Spread)(draw, times)


@runtime_checkable
class Lasting(Protocol):
    """Function from a seed to a part of an endless stream."""

    def longer(self, times: int) -> Callable[[int], Jobs]:
        """Return the function whose tables are `times` as long."""
        ...


@dataclass(frozen=True)
class Spread:
    """Function from a seed to a table with spread arrivals."""

    draw: Any  # a function from a seed to a table
    times: float

    def __call__(self, seed: int) -> Jobs:
        return spread(self.draw(seed), self.times)


@dataclass(frozen=True)
class LastingSpread(Spread):
    """Spread of a function whose tables can be longer."""

    def longer(self, times: int) -> LastingSpread:
        return replace(self, draw=self.draw.longer(times))
