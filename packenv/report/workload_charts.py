"""Charts of a workload: demands, durations, and arrivals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packenv.content.charts import BinChart, Key, counts_over_time, shares_in_bins
from packenv.content.page import Charts, Figure, Section
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import counted, number
from packenv.inputs.numbers import exact
from packenv.jobs import Jobs
from packenv.report.drawing import draw
from packenv.report.plot_style import light_grid
from packenv.workloads.fitting.profile import jobs_sample
from packenv.workloads.fitting.statistics import Sample, spread
from packenv.workloads.traces import Trace
from packenv.workloads.workload import Workload

SHOWN = ("mean", "min", "p50", "p95", "p99", "max")


def workload_charts(workload: Workload, seed: int, tasks: int) -> Charts:
    """Draw shares of tasks by size and service, and arrivals over time.

    They are of the table, or of the first `tasks` tasks of a seed.
    """
    table = workload.at(seed).jobs
    jobs = workload.jobs_table(seed, tasks) if table is None else table
    what = f"{len(jobs):,} tasks" + (f" of seed {seed}" if table is None or workload.draw is not None else "")
    return Charts(f"{workload.label}: {what}", _figures(_sample(jobs, workload), _unit(workload)))


def profile_section(workload: Workload) -> Section | None:
    """Return the profile of a table of jobs, None without a table.

    Times are in seconds if the length of a slot is known.
    """
    if workload.jobs is None:
        return None
    sample, unit = _sample(workload.jobs, workload), _unit(workload)
    quantities: dict[str, ArrayLike] = {name: values for _, name, values in _demands(sample)}
    quantities |= {"duration": sample.duration, "tasks per job": sample.tasks_per_job, "time to the next": np.diff(sample.submit)}
    table = Table(f"{counted(len(workload.jobs), 'task')}; times in {unit}", [Column(""), *numbers(*SHOWN)])
    for name, values in quantities.items():
        levels = spread(values)
        table.add(name, *(number(levels.get(level)) for level in SHOWN))
    return Section("The trace", _figures(sample, unit), tables=[table])


def _sample(jobs: Jobs, workload: Workload) -> Sample:
    return jobs_sample(jobs, exact(workload.slot_seconds or 1.0, "slot_seconds"), workload.resource_names)


def _unit(workload: Workload) -> str:
    return "slots" if workload.slot_seconds is None else "seconds"


def _demands(sample: Sample) -> list[tuple[str, str, NDArray[np.float64]]]:
    """Return headings, names and values (tasks,) of sizes and resources."""
    of_each = [(f"How much of {name}", name, sample.demand[:, r]) for r, name in enumerate(sample.resources)]
    if _has_own_units(sample):
        return of_each
    return [("How large tasks are", "size", sample.size), *(of_each if len(of_each) > 1 else [])]


def _has_own_units(sample: Sample) -> bool:
    """Return whether resources have units, such as cores and GB."""
    return len(sample.resources) > 1 and bool(sample.demand.max(initial=0.0) > 1)


def _figures(sample: Sample, unit: str) -> list[Figure]:
    axis = "demand" if _has_own_units(sample) else "demand, of a server of capacity 1"
    bins = [(heading, spread(values), "", shares_in_bins(values, axis, "tasks")) for heading, _, values in _demands(sample)]
    bins.append(("How long tasks are", spread(sample.duration), f" {unit}", shares_in_bins(sample.duration, unit, "tasks")))
    figures = [Figure(heading, _spread_of(levels, of), chart, small=True) for heading, levels, of, chart in bins]
    if sample.span > 0:
        over = counts_over_time(sample.submit - sample.submit[0], unit, "tasks")
        figures.append(Figure("When tasks arrive", _arrivals(sample, over, unit), over, small=True))
    return figures


def _spread_of(levels: dict[str, Any], unit: str = "") -> str:
    half, most, least, top = (number(levels.get(key)) for key in ("p50", "p95", "min", "max"))
    if least == top:
        return f"All {half}{unit}."
    return f"Half of them up to {half}{unit}, 95 % up to {most}; from {least} to {top}."


def _arrivals(sample: Sample, over: BinChart, unit: str) -> str:
    busiest = float(over.heights.max() / np.mean(over.heights))
    often = f"the busiest thirtieth of the time has {busiest:.2g} times the mean"
    return f"{counted(len(sample.submit), 'task')} within {number(sample.span)} {unit}; {often}."


@dataclass(frozen=True)
class RequestsChart:
    """Tasks by requested level: panels of name, levels (k,) and tasks (k,)."""

    direct: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    panels: Sequence[tuple[str, NDArray[np.float64], NDArray[np.int64]]]

    def height(self, narrow: bool) -> int:
        return 365

    def keys(self) -> list[Key]:
        return []


def requests_charts(trace: Trace, title: str) -> Charts:
    """Draw tasks by requested level, a panel for each resource.

    It is figure 1 of the paper (PAPERS §1.6). All tasks of the trace count, also in the initial snapshot. `title` describes
    the data. The paper reports for a full day of Google's trace: "more than 700 discrete memory requirements and 400 discrete
    CPU requirements".
    """
    timed = trace.timed()
    panels = [(name, *requests(demand)) for name, demand in zip(timed.resources, timed.demand.T, strict=True)]
    return Charts(f"{title}, {len(timed):,} tasks", [Figure("", "", RequestsChart(panels))])


@draw.register
def _draw_requests(chart: RequestsChart, figure: Any, narrow: bool) -> None:
    for axes, (resource, level, tasks) in zip(figure.subplots(1, len(chart.panels), squeeze=False)[0], chart.panels, strict=True):
        axes.vlines(level, 0.5, tasks, linewidth=0.8)
        axes.plot(level, tasks, ".", markersize=3)
        axes.set_yscale("log")
        axes.set_ylim(0.5)
        axes.set_xlabel(f"{resource} requested (share of capacity)")
        axes.set_ylabel("tasks")
        axes.set_title(f"{resource}: {len(level):,} distinct requests", loc="left")
        light_grid(axes)


def requests(demand: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct demands of a resource (k,), and their tasks (k,).

    Levels are in increasing order.
    """
    levels, tasks = np.unique(demand[~np.isnan(demand)], return_counts=True)
    return levels, tasks
