"""Delays of runs by the size of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.results.by_size import class_bounds, delay_by_size
from packenv.results.result import Result
from packenv.runs.statistics import mean_and_half
from packenv.units import UNIT
from packenv.workloads.workload import Workload

TIMES = ("mean_delay", "delay_p999", "max_delay")
BySize = dict[str, dict[str, Any]]
"""By the largest size of a class: `tasks` that started, and TIMES in slots, None where none started."""


def by_size(workload: Workload, by_policy: Sequence[Sequence[Result]]) -> list[list[BySize]]:
    """For runs with their schedules. The size of a task is that of its largest resource; classes are those of the first run."""
    bounds: NDArray[np.int64] | None = None
    found: list[list[BySize]] = []
    for results in by_policy:
        found.append([])
        for result in results:
            assert result.schedule is not None
            jobs = workload.played_jobs(result.seed, len(result.schedule.start))
            size = jobs.demand.max(axis=1)
            bounds = class_bounds(size) if bounds is None else bounds
            classes = delay_by_size(jobs, result.schedule, size, result.warmup, bounds)
            found[-1].append(
                {
                    f"{each.up_to / UNIT:.4g}": {
                        "tasks": each.tasks,
                        **dict(zip(TIMES, (each.mean, each.p999, each.most), strict=True)),
                    }
                    for each in classes
                }
            )
    return found


def mean_by_size(seeds: Sequence[BySize]) -> BySize:
    """One policy over its seeds: means, and `interval` with their 95 % half-widths; None unless every seed has a value."""
    summary: BySize = {}
    for size in seeds[0]:
        summary[size] = {"tasks": float(np.mean([own[size]["tasks"] for own in seeds])), "interval": {}}
        for key in TIMES:
            values = [own[size][key] for own in seeds]
            summary[size][key], summary[size]["interval"][key] = (None, None) if None in values else mean_and_half(values)
    return summary
