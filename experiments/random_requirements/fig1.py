"""Figure 1: how many distinct requests of CPU and of memory there are."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.finding import Claim, Finding, Settings
from packenv.jobs import Jobs
from packenv.workloads.find import workload
from packenv.workloads.traces import Trace

LIKE = "google2011-like"
DAY = 86_400.0  # seconds
CLAIMED = {"cpu": ("CPU", 400), "memory": ("memory", 700)}
SHORT = {"mem": "memory"}


def reproduce(settings: Settings) -> Finding:
    """Of the trace at hand, or of a day of the workload that is fitted to one."""
    if settings.trace is None:
        return found_in(a_day(settings.slots), f"{LIKE}, a random workload fitted to 2.8 hours of the trace")
    return found_in(settings.trace, settings.trace_name)


def a_day(slots: int | None) -> Trace:
    """A day of the fitted workload, or as many slots."""
    like = workload(LIKE)
    assert like.slot_seconds is not None
    length = slots or int(DAY / like.slot_seconds)
    rows = max(2, int(like.rate * length))
    jobs = like.jobs_table(0, rows)
    while jobs.arrival[-1] < length:  # arrivals come in bursts
        rows += rows // 4 + 1
        jobs = like.jobs_table(0, rows)
    n = max(1, int(np.searchsorted(jobs.arrival, length)))
    day = Jobs(jobs.arrival[:n], jobs.demand[:n], jobs.service[:n])
    return Trace.in_slots(day, like.resources or ("cpu", "memory"), LIKE)


def found_in(data: Trace, name: str) -> Finding:
    from packenv.report.pictures import picture_of
    from packenv.report.workload_charts import requests, requests_charts

    timed = data.timed()
    hours = float(timed.submit[-1] - timed.submit[0]) / 3.6e9
    full = hours * 3600 >= 0.95 * DAY
    levels = {resource: requests(timed.demand[:, r]) for r, resource in enumerate(timed.resources)}
    rows = [
        {"resource": resource, "level": float(level), "tasks": int(tasks)}
        for resource, counts in levels.items()
        for level, tasks in zip(*counts, strict=True)
    ]
    distinct = {SHORT.get(resource, resource): len(counts[0]) for resource, counts in levels.items()}
    where = f"{len(timed):,} tasks in {hours:.3g} hours of {name}"
    claims = [
        Claim(
            "fig1",
            f"more than {least} distinct {spoken} requests in a full day",
            distinct.get(resource, 0) > least and full,
            f"{distinct[resource]:,} in {where}" if resource in distinct else f"no column {resource!r} in {name}",
        )
        for resource, (spoken, least) in CLAIMED.items()
    ]

    def draw() -> Figure:
        return picture_of(requests_charts(timed, f"Distinct requests in {name}"))

    notes = [] if full else [f"fig1: {hours:.3g} hours are not a full day"]
    return Finding("fig1", f"Figure 1: distinct requests in {name}", claims, {"": rows}, draw, notes)
