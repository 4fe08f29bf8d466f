"""Figure 1 of the paper (PAPERS §1.6): how many distinct requests of CPU and of memory a trace has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from packenv.files import atomic_path
from packenv.runs.plot_style import check_picture
from packenv.workloads.traces import SlotTrace, Trace

PAPER = "more than 700 discrete memory requirements and 400 discrete CPU requirements"


def draw_requests(trace: Trace | SlotTrace, path: str | Path, title: str) -> None:
    """Tasks by the level that they request, a panel for each resource, written to `path` (.png, .pdf, .svg).

    All tasks of the trace count, in the initial snapshot too; `title` says what data it is. The paper's own count, for a
    full day of Google's trace: PAPER.
    """
    check_picture(path, "a figure is written as")
    timed = trace.timed() if isinstance(trace, SlotTrace) else trace
    figure = Figure(figsize=(5.2 * len(timed.resources), 3.8), layout="constrained")
    for r, resource in enumerate(timed.resources):
        axes = figure.add_subplot(1, len(timed.resources), r + 1)
        level, tasks = requests(timed.demand[:, r])
        axes.vlines(level, 0.5, tasks, linewidth=0.8)
        axes.plot(level, tasks, ".", markersize=3)
        axes.set_yscale("log")
        axes.set_ylim(0.5)
        axes.set_xlabel(f"{resource} requested (share of capacity)")
        axes.set_ylabel("tasks")
        axes.set_title(f"{resource}: {len(level):,} distinct requests", fontsize=10)
    figure.suptitle(f"{title}, {len(timed):,} tasks", fontsize=11)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)


def requests(demand: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct levels (k,) of a resource's demands, in increasing order, and the tasks (k,) that ask for each."""
    levels, tasks = np.unique(demand[~np.isnan(demand)], return_counts=True)
    return levels, tasks
