"""The profile of a table of tasks: sizes, durations and arrivals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from packenv.cli.report.bins import counts_over_time, shares_in_bins
from packenv.cli.report.page import Figure, Rows, Section
from packenv.runs.text import counted, number
from packenv.workloads.fitting.profile import jobs_sample
from packenv.workloads.fitting.statistics import Sample, spread
from packenv.workloads.traces.table import exact
from packenv.workloads.workload import Workload

SHOWN = ("mean", "min", "p50", "p95", "p99", "max")


def profile_section(workload: Workload, slot_seconds: float | None) -> Section | None:
    """Of the jobs of a table, in seconds if the length of a slot is known; None for a workload that has no table."""
    if workload.jobs is None:
        return None
    jobs = workload.jobs
    sample = jobs_sample(jobs, exact(slot_seconds or 1.0, "slot_seconds"), resource_names(workload))
    unit = "slots" if slot_seconds is None else "seconds"
    columns = [("How large tasks are", "size", sample.size)]
    if len(sample.resources) > 1:
        columns += [(f"How much of {name}", name, sample.demand[:, r]) for r, name in enumerate(sample.resources)]
    figures = []
    rows = []
    for heading, name, values in columns:
        chart = shares_in_bins(values, "demand, of a server of capacity 1", "tasks")
        figures.append(Figure(heading, _spread_of(spread(values)), chart, small=True))
        rows.append(_row(name, values))
    lasts = _spread_of(spread(sample.duration), f" {unit}")
    figures.append(Figure("How long tasks are", lasts, shares_in_bins(sample.duration, unit, "tasks"), small=True))
    if sample.span > 0:
        over = counts_over_time(sample.submit - sample.submit[0], unit, "tasks")
        figures.append(Figure("When tasks arrive", _arrivals(sample, over.heights, unit), over, small=True))
    rows += [_row("duration", sample.duration), _row("tasks per job", sample.tasks_per_job)]
    rows.append(_row("time to the next", np.diff(sample.submit)))
    table = Rows(f"{counted(len(jobs), 'task')}; times in {unit}", ["", *SHOWN], rows, [False] + [True] * len(SHOWN))
    return Section("The trace", figures, tables=[table])


def resource_names(workload: Workload) -> tuple[str, ...]:
    """Those of a trace, or numbers."""
    return tuple(workload.resources or (f"resource {r + 1}" for r in range(workload.D)))


def _row(name: str, values: ArrayLike) -> list[str]:
    levels = spread(values)
    return [name, *(number(levels.get(level)) for level in SHOWN)]


def _spread_of(levels: dict[str, Any], unit: str = "") -> str:
    half, most, least, top = (number(levels.get(key)) for key in ("p50", "p95", "min", "max"))
    if least == top:
        return f"All {half}{unit}."
    return f"Half of them up to {half}{unit}, 95 % up to {most}; from {least} to {top}."


def _arrivals(sample: Sample, counts: Any, unit: str) -> str:
    busiest = f"the busiest thirtieth of the time has {float(counts.max() / np.mean(counts)):.2g} times the mean"
    return f"{counted(len(sample.submit), 'task')} within {number(sample.span)} {unit}; {busiest}."
