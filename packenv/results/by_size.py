"""Delays by size class: how long the large tasks of a run waited beside the small ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots
from packenv.results.schedule import Schedule

Ints = NDArray[np.int64]
MOST_DISCRETE = 4  # a table of at most so many sizes has a class for each


class SizeClass(NamedTuple):
    """Delays of the tasks of one class, in slots; None if none of them started."""

    up_to: int  # units: the largest size in the class
    tasks: int  # that started
    mean: float | None
    p999: float | None  # the smallest delay that at least 99.9 % of the tasks do not exceed
    most: int | None


def class_bounds(size: Ints) -> Ints:
    """(classes,) units, ascending: each of at most four sizes, or the quartiles of more."""
    bounds = np.unique(size)
    if len(bounds) > MOST_DISCRETE:
        bounds = np.unique(np.quantile(size, (0.25, 0.5, 0.75, 1), method="inverted_cdf"))
    return np.asarray(bounds, np.int64)


def delay_by_size(
    jobs: Jobs, schedule: Schedule, size: Ints, warmup: int = 0, bounds: Ints | None = None
) -> tuple[SizeClass, ...]:
    """A class for each bound, the smallest sizes first; those above the last bound count in its class.

    `size` (n,) units, of each row of the table; `bounds` of `class_bounds`, by default of these sizes. Delays are of tasks that
    became eligible in slot `warmup` or later. Raises InputError if the schedule has not as many rows as the table.
    """
    if not len(jobs) == len(size) == len(schedule.start):
        raise InputError(f"a schedule of {len(schedule.start)} rows and {len(size)} sizes do not go with {len(jobs)} tasks")
    eligible = eligible_slots(jobs, schedule)
    measured = (schedule.start >= 0) & (eligible >= warmup)
    bounds = class_bounds(size) if bounds is None else bounds
    of = np.searchsorted(bounds[:-1], size)
    return tuple(_class(int(up_to), (schedule.start - eligible)[measured & (of == k)]) for k, up_to in enumerate(bounds))


def _class(up_to: int, delays: Ints) -> SizeClass:
    if len(delays) == 0:
        return SizeClass(up_to, 0, None, None, None)
    p999 = float(np.quantile(delays, 0.999, method="inverted_cdf"))
    return SizeClass(up_to, len(delays), float(delays.mean()), p999, int(delays.max()))
