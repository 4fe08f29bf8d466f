"""The picture of `packenv plan --types`: each goal's measure against the cost of the mixes that were run."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from packenv.cli.plan.mixes.points import best_so_far, mix_points
from packenv.cli.plan.mixes.tables import money
from packenv.cli.plan.servers.plot import limit_line
from packenv.files import atomic_path
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan
from packenv.runs.plot_style import GREY, MARKERS, colours_for, light_grid, plain_numbers
from packenv.workloads.workload import Workload


def draw_mixes(
    plans: Sequence[MixPlan],
    goals: Sequence[Goal],
    kinds: Kinds,
    bound: CostBound,
    workload: Workload,
    slot_seconds: float | None,
    path: str,
) -> None:
    """A panel for each goal with a mark for each mix that a policy ran: filled marks meet all goals.

    The steps are the best that mixes of no more cost reached. Dotted: the limit, and the cost that no mix beats. Without a goal
    the panel shows which mixes are stable.
    """
    colours, panels = colours_for([plan.policy for plan in plans]), max(1, len(goals))
    figure, grid = pyplot.subplots(1, panels, figsize=(6.5 * panels, 4.2), layout="constrained", squeeze=False)
    for n, axes in enumerate(grid[0]):
        goal = goals[n] if goals else None
        scale = slot_seconds or 1.0 if goal is not None and goal.is_time else 1.0
        for plan, colour in zip(plans, colours, strict=True):
            points = mix_points(plan, goals, n)
            best = [value * scale for value in best_so_far(points, goal)]
            label = f"{plan.policy}: {kinds.shown(plan.at.counts)} for {money(plan.at.cost)}"
            axes.step([point.cost for point in points], best, where="post", color=colour, linewidth=1.2, label=label)
            for point in points:
                face = colour if point.tried.trial.meets else "white"
                mark = MARKERS.get(plan.policy, "o")
                axes.plot(point.cost, point.value * scale, mark, color=colour, markerfacecolor=face, markersize=5)
        if goal is not None:
            limit_line(axes, goal, goal.limit * scale, "slots" if slot_seconds is None else "seconds")
        else:
            axes.set_yticks([0, 1], ["unstable", "stable"])
        axes.axvline(float(bound.whole), color=GREY, linestyle=":")
        where = {"transform": axes.get_xaxis_transform(), "va": "bottom", "ha": "left", "fontsize": 8, "color": GREY}
        axes.text(float(bound.whole), 1.0, f" any mix: {money(bound.whole)} at least", **where)
        axes.set_xlabel("cost")
        plain_numbers(axes.xaxis)
        light_grid(axes)
    grid[0][0].legend(frameon=False, title="policy: machines")
    figure.suptitle(f"{workload.name}: which machines", fontsize=11)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    pyplot.close(figure)
