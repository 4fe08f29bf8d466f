"""The picture of `packenv plan`: each goal's measure against the number of servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

from packenv.files import atomic_path
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.queue_servers import Fewest
from packenv.planning.search import Plan
from packenv.runs.plot_style import GREY, MARKERS, colours_for, light_grid, plain_numbers
from packenv.workloads.workload import Workload


def draw_plans(
    plans: Sequence[Plan], goals: Sequence[Goal], bound: Fewest, workload: Workload, slot_seconds: float | None, path: str
) -> None:
    """A panel for each goal with a line for each policy: filled marks meet all goals. Dotted: the limit, and the lower bound.

    Without a goal the panel shows which numbers of servers are stable.
    """
    colours, panels = colours_for([plan.policy for plan in plans]), max(1, len(goals))
    figure, grid = pyplot.subplots(1, panels, figsize=(6.5 * panels, 4.2), layout="constrained", squeeze=False)
    for n, axes in enumerate(grid[0]):
        goal = goals[n] if goals else None
        scale = slot_seconds or 1.0 if goal is not None and goal.is_time else 1.0
        for plan, colour in zip(plans, colours, strict=True):
            shown = [(trial, float(trial.stable) if goal is None else trial.value(n)) for trial in plan.tried]
            known = [(trial, value * scale) for trial, value in shown if value is not None]
            line = [trial.servers for trial, _ in known], [value for _, value in known]
            axes.plot(*line, color=colour, linewidth=1.4, label=f"{plan.policy}: {plan.servers:,}")
            for trial, value in known:
                face = colour if trial.meets else "white"
                axes.plot(trial.servers, value, MARKERS.get(plan.policy, "o"), color=colour, markerfacecolor=face)
        if goal is not None:
            limit_line(axes, goal, goal.limit * scale, "slots" if slot_seconds is None else "seconds")
        else:
            axes.set_yticks([0, 1], ["unstable", "stable"])
        axes.axvline(bound.servers, color=GREY, linestyle=":")
        label = {"va": "bottom", "ha": "left", "fontsize": 8, "color": GREY}
        axes.text(
            bound.servers, 1.0, f" any {bound.whom}: {bound.servers:,} at least", transform=axes.get_xaxis_transform(), **label
        )
        axes.set_xlabel("servers")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        plain_numbers(axes.xaxis)
        light_grid(axes)
    grid[0][0].legend(frameon=False, title="policy: servers")
    figure.suptitle(f"{workload.name}: how many servers", fontsize=11)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    pyplot.close(figure)


def limit_line(axes: Any, goal: Goal, limit: float, unit: str) -> None:
    """The goal's limit across the picture, and its axis."""
    axes.axhline(limit, color=GREY, linestyle=":")
    axes.set_ylabel(goal.title + (f" ({unit})" if goal.is_time else ""))
    axes.set_title(goal.text, fontsize=10, loc="right")
    if axes.get_ylim()[1] > 20 * limit > 0 and goal.measure != "utilisation":
        axes.set_yscale("symlog", linthresh=limit / 10)
    axes.set_ylim(bottom=0)
    if goal.measure != "utilisation":
        plain_numbers(axes.yaxis)
