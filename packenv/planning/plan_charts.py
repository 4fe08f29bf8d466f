"""Charts of plans: each goal's measure against servers or cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packenv.api import simulate
from packenv.content.charts import MARKERS, ChartRow, Guide, Line, LineChart, Mark, Point, RowChart, colours_for
from packenv.content.page import Figure, Section
from packenv.content.text import counted, number
from packenv.planning.goals import Goal
from packenv.planning.request import PlanRequest, run_kind
from packenv.planning.trials import Trial
from packenv.runs.run_charts import fullness
from packenv.workloads.workload import Workload

MOST_TASKS = 1_000_000  # of a table that is run once more, to show how full the cluster is
ABOVE = 3.0
"""Curves leave the picture at this multiple of the limit."""


class Curve(NamedTuple):
    """The trials of a policy along an axis.

    findings  of each goal, or of the stability
    """

    policy: str
    answer: str
    trials: Sequence[tuple[float, Trial]]  # by place on the axis
    findings: Sequence[str]


def goal_figures(
    request: PlanRequest, curves: Sequence[Curve], axis: str, up: Sequence[Guide], best: bool = False, note: str = ""
) -> list[Figure]:
    """Return a figure of each goal's measure, with a line for each policy.

    Filled marks meet all goals. Without goals they show which places are stable.
    up    proved bounds
    best  lines are the best values of no larger places
    """
    colours = colours_for([curve.policy for curve in curves])
    if not request.goals:
        return [_stable(curves, colours, axis, up, note)]
    figures = []
    for n, goal in enumerate(request.goals):
        scale, unit = goal.scale(request.workload.slot_seconds), goal.unit(request.workload.slot_seconds)
        lines = []
        for curve, colour in zip(curves, colours, strict=True):
            values = [(at, trial.value(n), trial.meets) for at, trial in curve.trials]
            points = [Point(at, value * scale, meets) for at, value, meets in values if value is not None]
            y = [point.y for point in points]
            y = best_so_far(y, goal) if best else y
            name, marker = f"{curve.policy}: {curve.answer}", MARKERS.get(curve.policy, "o")
            lines.append(Line(name, colour, [point.x for point in points], y, points=points, marker=marker))
        # The chart is cut off far above the limit.
        largest, limit = max((point.y for line in lines for point in line.points), default=0.0), goal.limit * scale
        most = max(largest, limit) if goal.measure == "utilisation" or limit == 0 else min(largest, ABOVE / 1.08 * limit)
        title = f"{goal.title} ({unit.strip()})" if unit else goal.title
        top = max(1.08 * most, 1.25 * limit) or 1.0
        chart = LineChart(lines, axis, title, top, [Guide(limit, goal.text)], up, whole=not best, steps=best)
        finding = f"{_findings(curves, n)}. Filled marks meet all goals.{note}"
        figures.append(Figure(f"{goal.title} against {'the number of ' if not best else ''}{axis}", finding, chart))
    return figures


def _findings(curves: Sequence[Curve], n: int) -> str:
    return "; ".join(f"{curve.policy}: {curve.findings[n]}" for curve in curves)


def _stable(curves: Sequence[Curve], colours: Sequence[str], axis: str, up: Sequence[Guide], note: str) -> Figure:
    places = [*(rule.at for rule in up), *(at for curve in curves for at, _ in curve.trials)]
    entries = [
        ChartRow(curve.policy, colour, marks=[Mark(at, filled=trial.stable) for at, trial in curve.trials], text=curve.answer)
        for curve, colour in zip(curves, colours, strict=True)
    ]
    chart = RowChart(entries, axis, (min(places) - 0.5, max(places) + 0.5), up)
    return Figure(f"Stable runs by {axis}", f"{_findings(curves, 0)}. Filled marks are stable.{note}", chart)


def best_so_far(values: Sequence[float], goal: Goal) -> list[float]:
    """Return for each value the best up to it."""
    best, best_values = max if goal.measure == "utilisation" else min, list[float]()
    for value in values:
        best_values.append(best(best_values[-1], value) if best_values else value)
    return best_values


def work_of(workload: Workload) -> str:
    tasks = f"{counted(len(workload.jobs), 'task')}, " if workload.jobs is not None else ""
    return f"{workload.label}: {tasks}{number(workload.rate)} tasks per slot"


def occupied(title: str, workload: Workload, policy: str) -> list[Section]:
    """Return a section on the servers' fullness, by a run. Empty for streams."""
    if workload.jobs is None or len(workload.jobs) > MOST_TASKS:
        return []
    result = simulate(workload, policy, schedule=True, **run_kind(workload))
    return [Section(title, [fullness(workload, [result])])]
