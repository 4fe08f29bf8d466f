"""Pictures of schedules: tasks on servers, and waiting tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.charts import Key
from packenv.content.page import Charts, Figure
from packenv.content.text import Clock, clock_for, counted
from packenv.errors import InputError
from packenv.jobs import GPU, HOW_MANY, Jobs
from packenv.results.job_times import cut, eligible_slots
from packenv.results.occupancy import Occupation, in_service
from packenv.results.result import Result
from packenv.results.schedule_table import Schedule
from packenv.workloads.workload import Workload

MOST_TASKS, MOST_SERVERS = 2000, 60
"""A picture with more shows a part."""
COLOUR_BY = ("job", "size")

Ints = NDArray[np.int64]


class RunView(NamedTuple):
    """A run to draw, with eligible slots and used resources."""

    policy: str
    jobs: Jobs
    schedule: Schedule
    eligible: Ints  # (n,) slot from which the task waits; -1 if never
    served: Occupation


@dataclass(frozen=True)
class ScheduleChart:
    """Waiting tasks and servers of each run, `start` to `end`.

    capacity  (servers, D) units, of the servers that are drawn
    resource  a task is as high as its demand of this resource
    devices   (servers,) devices of each server; tasks lie on them if the resource is their sum; otherwise None
    colour    one of COLOUR_BY
    origin    the date of slot 0, if the workload has one
    """

    direct: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    views: Sequence[RunView]
    start: int
    end: int
    clock: Clock
    capacity: Ints
    resource: int
    colour: str
    origin: datetime | None
    devices: Ints | None = None

    @property
    def servers_height(self) -> float:
        return min(max(0.32 * len(self.capacity), 1.6), 9.0)

    def height(self, narrow: bool) -> int:
        return round(96 * (0.9 + len(self.views) * (self.servers_height + 1.7)))

    def keys(self) -> list[Key]:
        return []


def schedule_charts(
    runs: Sequence[Result], workload: Workload, first: int | None = None, last: int | None = None, colour: str | None = None
) -> Charts:
    """Draw waiting tasks and servers, from `first` to `last`.

    A task's height is its demand of the first run's most used resource. A row is as high as the largest server, and a task
    without room in one piece is split. Tasks lie on their devices, such as GPUs. By default the chart shows the whole run, but at
    most MOST_TASKS tasks from the end of the warm-up on, and MOST_SERVERS servers.
    colour  "job" gives a job's tasks one colour, the default for tables with jobs; or "size"

    Raises InputError for runs without a schedule, an empty span, or another `colour`.
    """
    views = [_view_of(run, workload) for run in runs]
    colour = colour or ("job" if views[0].jobs.job is not None else "size")
    if colour not in COLOUR_BY:
        raise InputError(f"colour must be one of {', '.join(COLOUR_BY)}, not {colour!r}")
    start, end = _span(runs, views, first, last)
    clock = clock_for(end - start, workload.slot_seconds)
    resource, capacity, devices = _most_used(views[0], workload.servers.units), workload.servers.units[:MOST_SERVERS], None
    on_devices = workload.has_devices and workload.network is None and GPU in workload.resource_names
    if on_devices and workload.servers.devices is not None:
        resource, devices = workload.resource_names.index(GPU), workload.servers.devices[:MOST_SERVERS, HOW_MANY]
    chart = ScheduleChart(views, start, end, clock, capacity, resource, colour, workload.origin, devices)
    title = _title(runs, workload, start, end, clock, resource)
    if first is None and last is None and end < max(run.slots for run in runs):
        title += f"\nthe first {MOST_TASKS:,} tasks {'after the warm-up' if start else 'of a run'}, the most for a picture"
    return Charts(title, [Figure(title, "", chart)])


def _view_of(run: Result, workload: Workload) -> RunView:
    if run.schedule is None:
        raise InputError(f"the run of {run.policy} has no schedule: simulate with schedule=True")
    jobs = workload.played_jobs(run.seed, len(run.schedule.start))
    schedule = cut(run.schedule, run.slots)
    return RunView(run.policy, jobs, schedule, eligible_slots(jobs, schedule), in_service(jobs, schedule, workload.network))


def _span(runs: Sequence[Result], views: Sequence[RunView], first: int | None, last: int | None) -> tuple[int, int]:
    """Return the requested slots, or slots with MOST_TASKS tasks."""
    longest = max(run.slots for run in runs)
    few = all(len(view.served.start) <= MOST_TASKS for view in views)
    start = first if first is not None else 0 if few else max(run.warmup for run in runs)
    end = longest if last is None else min(last, longest)
    if not 0 <= start < end:
        raise InputError(f"first and last must be slots of the run, one before the other: not {first} and {last}")
    if last is None:
        for view in views:
            later = np.sort(view.served.start[view.served.end > start])
            if len(later) > MOST_TASKS:
                end = min(end, max(int(later[MOST_TASKS]), start + 1))
    return start, end


def _most_used(view: RunView, capacity: Ints) -> int:
    area = (view.served.end - view.served.start) @ view.served.demand
    return int(np.argmax(area / np.maximum(capacity.sum(axis=0), 1)))


def _title(runs: Sequence[Result], workload: Workload, start: int, end: int, clock: Clock, resource: int) -> str:
    what = f", heights: {workload.resource_names[resource]}" if workload.D > 1 else ""
    servers = len(workload.servers)
    some = f"servers 0 to {MOST_SERVERS - 1} of {servers:,}" if servers > MOST_SERVERS else counted(servers, "server")
    ends = " to ".join(f"{slot / clock.slots:,.4g}" for slot in (start, end))
    part = "" if (start, end) == (0, max(run.slots for run in runs)) else f", {clock.unit} {ends}"
    return f"{workload.name}: {some}{what}{part}"
