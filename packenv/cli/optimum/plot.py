"""The shortest schedule found, beside the best of the policies: how much of the cluster they use, and when."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from packenv.files import atomic_path
from packenv.results.schedule import Schedule
from packenv.runs.plot_style import COLOURS, GREY, light_grid, plain_numbers
from packenv.workloads.workload import Workload

Use = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Slots at which it changes, and the shares (D, changes) of the cluster in use from there."""


def use_over_time(workload: Workload, schedule: Schedule) -> Use:
    """What a schedule uses of every resource of the cluster, in slots from the first arrival; tasks without a start use none."""
    jobs = workload.jobs
    assert jobs is not None
    ran = np.flatnonzero(schedule.start >= 0)
    when = np.concatenate([schedule.start[ran], schedule.end[ran]]) - jobs.arrival[0]
    change = np.concatenate([jobs.demand[ran], -jobs.demand[ran]])
    slots, place = np.unique(when, return_inverse=True)
    used = np.zeros((len(slots), jobs.demand.shape[1]))
    np.add.at(used, place, change)
    return slots, (used.cumsum(axis=0) / workload.servers.units.sum(axis=0)).T


def draw_optimum(
    workload: Workload, schedules: dict[str, Schedule], bound: int, title: str, path: str | os.PathLike[str]
) -> None:
    """One panel per resource; the first schedule is filled, the others are lines. `bound`: slots that all schedules take."""
    uses = {name: use_over_time(workload, schedule) for name, schedule in schedules.items()}
    resources = workload.resources or tuple(f"resource {r}" if workload.D > 1 else "capacity" for r in range(workload.D))
    figure = Figure(figsize=(9, 1.1 + 1.9 * workload.D), layout="constrained")
    panels: Any = figure.subplots(workload.D, 1, sharex=True, squeeze=False)[:, 0]
    for r, axes in enumerate(panels):
        for n, (name, (slots, used)) in enumerate(uses.items()):
            axes.step(slots, used[r], where="post", color=COLOURS[n], linewidth=1.2, label=f"{name}: {slots[-1]:,} slots")
            if n == 0:
                axes.fill_between(slots, used[r], step="post", color=COLOURS[n], alpha=0.25)
        axes.axvline(bound, color=GREY, linewidth=1.2, linestyle=":", label=f"no schedule is shorter: {bound:,} slots")
        axes.set_ylabel(resources[r])
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_ylim(0, 1.05)
        light_grid(axes)
    panels[-1].set_xlabel("slots from the first arrival")
    plain_numbers(panels[-1].xaxis)
    panels[-1].set_xlim(left=0)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110)
