"""Tables whose tasks come in so many times the time: faster or slower, and else the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from packenv.jobs import Jobs


def spread(jobs: Jobs, times: float) -> Jobs:
    """The table with arrivals in so many times the time: drawn together below 1."""
    return replace(jobs, arrival=np.floor(jobs.arrival * times).astype(np.int64))


def spread_draw(draw: Callable[[int], Jobs], times: float) -> Callable[[int], Jobs]:
    """The function from a seed to a table, with arrivals in so many times the time; one that can be longer still can."""
    return (LastingSpread if isinstance(draw, Lasting) else Spread)(draw, times)


@runtime_checkable
class Lasting(Protocol):
    """What a workload's function from a seed to a table offers besides, if its tables are parts of a stream that goes on."""

    def longer(self, times: int) -> Callable[[int], Jobs]:
        """The function whose tables are so many times as long."""
        ...


@dataclass(frozen=True)
class Spread:
    """A function from a seed to a table whose arrivals are spread out, or drawn together."""

    draw: Any  # a function from a seed to a table
    times: float

    def __call__(self, seed: int) -> Jobs:
        return spread(self.draw(seed), self.times)


@dataclass(frozen=True)
class LastingSpread(Spread):
    """Of a function whose tables can be longer."""

    def longer(self, times: int) -> LastingSpread:
        """The function whose tables are so many times as long."""
        return replace(self, draw=self.draw.longer(times))
