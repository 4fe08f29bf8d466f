"""Delays of runs by the size of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.results.job_times import eligible_slots
from packenv.results.result import Result
from packenv.results.schedule_table import Schedule
from packenv.runs.statistics import mean_and_half
from packenv.units import UNIT
from packenv.workloads.demand import scalar_size
from packenv.workloads.workload import Workload

Ints = NDArray[np.int64]
MOST_DISCRETE = 4  # sizes of a table with a class for each
TIMES = {"mean_delay": "mean delay", "delay_p999": "p99.9", "max_delay": "largest"}
"""Measures of a class, in slots, and the headings of their columns."""

BySize = dict[str, dict[str, Any]]
"""For each class, by its largest size: `tasks` that started, and TIMES, None if none started."""


def by_size(workload: Workload, by_policy: Sequence[Sequence[Result]]) -> list[list[BySize]]:
    """Return delays of tasks by size, in the classes of the first run.

    Runs have schedules. Sizes are in units of capacity. Of several resources, the size is the largest share of the largest
    server.
    """
    bounds: Ints | None = None
    measured: list[list[BySize]] = []
    for runs in by_policy:
        measured.append([])
        for run in runs:
            assert run.schedule is not None
            jobs = workload.played_jobs(run.seed, len(run.schedule.start))
            size = scalar_size(jobs.demand, workload.servers)
            bounds = class_bounds(size) if bounds is None else bounds
            classes = delay_by_size(jobs, run.schedule, size, run.warmup, bounds)
            measured[-1].append(
                {
                    f"{group.up_to / UNIT * workload.servers.size_unit:.4g}": dict(zip(group._fields[1:], group[1:], strict=True))
                    for group in classes
                }
            )
    return measured


def mean_by_size(seeds: Sequence[BySize]) -> BySize:
    """Return one policy's means over its seeds, with `interval` (95 %).

    None unless every seed has a value.
    """
    summary: BySize = {}
    for size in seeds[0]:
        summary[size] = {"tasks": float(np.mean([of_seed[size]["tasks"] for of_seed in seeds])), "interval": {}}
        for key in TIMES:
            values = [of_seed[size][key] for of_seed in seeds]
            summary[size][key], summary[size]["interval"][key] = (None, None) if None in values else mean_and_half(values)
    return summary


class SizeClass(NamedTuple):
    """Delays of the tasks of one class, in slots.

    They are None if no task started.
    """

    up_to: int  # units: the largest size in the class
    tasks: int  # that started
    mean_delay: float | None
    delay_p999: float | None  # the smallest delay that at least 99.9 % of the tasks do not exceed
    max_delay: int | None


def class_bounds(size: Ints) -> Ints:
    """Return class bounds (classes,), units, ascending.

    They are up to four sizes, or the quartiles of more.
    """
    bounds = np.unique(size)
    if len(bounds) > MOST_DISCRETE:
        bounds = np.unique(np.quantile(size, (0.25, 0.5, 0.75, 1), method="inverted_cdf"))
    return np.asarray(bounds, np.int64)


def delay_by_size(
    jobs: Jobs, schedule: Schedule, size: Ints, warmup: int = 0, bounds: Ints | None = None
) -> tuple[SizeClass, ...]:
    """Return a class for each bound, smallest sizes first.

    The last class includes larger sizes. `size` (n,) units, of each row. `bounds`: of `class_bounds`, by default of these
    sizes. Only tasks eligible in slot `warmup` or later count. Raises InputError if the schedule and the table differ in
    length.
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
