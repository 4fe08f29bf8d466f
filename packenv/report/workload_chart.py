"""A workload as a picture: what its tasks need, how long they take, and when they arrive."""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv.report.pictures import Picture
from packenv.runs.clock import clock_for
from packenv.runs.plot_style import COLOURS, light_grid, plain_numbers
from packenv.units import UNIT
from packenv.workloads.workload import Workload

BINS = 60


def workload_chart(workload: Workload, seed: int, tasks: int) -> Picture:
    """Of the table, or of the first `tasks` tasks of a seed: shares of tasks by size, by service, and arrivals over time."""
    table = workload.at(seed).jobs
    jobs = workload.jobs_table(seed, tasks) if table is None else table
    figure = Picture(figsize=(11, 3.6), layout="constrained")
    panels: Any = figure.subplots(1, 3)
    names = workload.resources or (("size",) if workload.D == 1 else tuple(f"resource {r}" for r in range(workload.D)))
    share = np.full(len(jobs), 1 / len(jobs))
    for r, name in enumerate(names):
        panels[0].hist(jobs.demand[:, r] / UNIT, BINS, weights=share, color=COLOURS[r % len(COLOURS)], alpha=0.7, label=name)
    panels[0].set_xlabel(names[0] if len(names) == 1 else "demand")
    panels[0].set_ylabel("share of tasks")
    if len(names) > 1:
        panels[0].legend(frameon=False)
    clock = clock_for(float(np.median(jobs.service)), workload.shown_slot)
    service = jobs.service / clock.slots
    spread = service.max() > 100 * service.min()
    bins = np.geomspace(service.min(), service.max(), BINS) if spread else np.linspace(service.min(), service.max() + 1e-9, BINS)
    panels[1].hist(service, bins, weights=share, color=COLOURS[0])
    panels[1].set_xscale("log" if spread else "linear")
    panels[1].set_xlabel(f"service ({clock.unit})")
    clock = clock_for(float(jobs.arrival[-1]), workload.shown_slot)
    edges = np.linspace(0, int(jobs.arrival[-1]) + 1, BINS + 1)
    counts = np.histogram(jobs.arrival, edges)[0]
    panels[2].stairs(counts, edges / clock.slots, fill=True, color=COLOURS[0], alpha=0.7)
    panels[2].set_xlabel("slot" if clock.unit == "slots" else clock.unit)
    short = clock_for(edges[1], workload.shown_slot)
    panels[2].set_ylabel(f"arrivals in {edges[1] / short.slots:.3g} {short.unit}")
    for axes in panels:
        light_grid(axes)
    plain_numbers(panels[2].xaxis)
    what = f"{len(jobs):,} tasks" + (f" of seed {seed}" if table is None or workload.draw is not None else "")
    figure.suptitle(f"{workload.name}: {what}", fontsize=11)
    return figure
