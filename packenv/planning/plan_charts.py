"""Charts of `packenv plan`, and texts of its pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from packenv.api import simulate
from packenv.content.charts import MARKERS, Entry, Line, LineChart, Mark, Point, RowChart, Rule, colours_for
from packenv.content.page import Figure, Section
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import NONE, counted, number
from packenv.planning.goals import Goal
from packenv.planning.kinds import money
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan, MixTrial
from packenv.planning.plan_servers import run_kind
from packenv.planning.search import Plan
from packenv.planning.trials import Trial
from packenv.runs.run_charts import fullness
from packenv.workloads.workload import Workload

MOST_TASKS = 1_000_000  # of a table that is run once more, to show how full the cluster is
ABOVE = 3.0
"""Curves leave the picture at this multiple of the limit."""


def server_figures(
    plans: Sequence[Plan], goals: Sequence[Goal], bounds: Sequence[Rule], slot_seconds: float | None
) -> list[Figure]:
    """Return figures of each goal's measure against the number of servers.

    Without a goal they show which numbers are stable. `bounds`: proved least numbers of servers, if any.
    """
    figures = [_server_figure(plans, n, goal, bounds, slot_seconds) for n, goal in enumerate(goals)]
    return figures or [_stable(plans, bounds)]


def of_the_rest(workload: Workload) -> str:
    """Begin the answer for a trace with much left out."""
    return f"{workload.label}: no goal is met for what is left out. For the rest: "


def work_of(workload: Workload) -> str:
    tasks = f"{counted(len(workload.jobs), 'task')}, " if workload.jobs is not None else ""
    return f"{workload.label}: {tasks}{number(workload.rate)} tasks per slot"


def runs_of_plan(workload: Workload, seeds: int, slots: int | None) -> str:
    if workload.jobs is not None:
        return "one, until all work is done"
    return f"{counted(seeds, 'seed')} of {slots:,} slots; as many others confirm the answer"


def confirmed(plans: Sequence[Plan]) -> str:
    if any(plan.fresh for plan in plans):
        return "These runs are those of the search. The answer is that of other seeds, which confirmed or moved it."
    return "All numbers of servers saw the same tasks."


def occupied(title: str, workload: Workload, policy: str) -> list[Section]:
    """Return a section on how full the servers of the answer are.

    Makes a run, as the search stores no schedule. Empty for a stream.
    """
    if workload.jobs is None or len(workload.jobs) > MOST_TASKS:
        return []
    result = simulate(workload, policy, schedule=True, **run_kind(workload))
    return [Section(title, [fullness(workload, [result])])]


def _server_figure(plans: Sequence[Plan], n: int, goal: Goal, bounds: Sequence[Rule], slot_seconds: float | None) -> Figure:
    """Draw a goal's measure against servers, a line for each policy.

    Filled marks meet all goals.
    """
    scale, unit = goal.scale(slot_seconds), goal.unit(slot_seconds)
    lines = []
    for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
        means = [(trial, trial.value(n)) for trial in plan.trials]
        points = [Point(trial.servers, value * scale, trial.meets) for trial, value in means if value is not None]
        lines.append(line_through(plan.policy, f"{plan.servers:,}", colour, points))
    chart = goal_chart(lines, goal, "servers", bounds, slot_seconds, whole=True)
    findings = "; ".join(_finding(plan, n, scale, unit) for plan in plans)
    return Figure(f"{goal.title} against the number of servers", f"{findings}. Filled marks meet all goals.", chart)


def line_through(policy: str, answer: str, colour: str, points: Sequence[Point], values: Sequence[float] | None = None) -> Line:
    """Return a policy's line through the points or at these values.

    Its name includes the answer.
    """
    at, values = [point.x for point in points], [point.y for point in points] if values is None else values
    return Line(f"{policy}: {answer}", colour, at, values, points=points, marker=MARKERS.get(policy, "o"))


def goal_chart(
    lines: Sequence[Line], goal: Goal | None, x_title: str, up: Sequence[Rule], slot_seconds: float | None, **kind: Any
) -> LineChart:
    """Return a chart of a goal's measure, cut off far above its limit.

    Without a goal: 1 for stable, 0 for unstable.
    """
    largest = max((point.y for line in lines for point in line.points), default=0.0)
    if goal is None:
        return LineChart(lines, x_title, "stable", 1.25, [], up, **kind)
    unit, limit = goal.unit(slot_seconds), goal.limit * goal.scale(slot_seconds)
    most = max(largest, limit) if goal.measure == "utilisation" or limit == 0 else min(largest, ABOVE / 1.08 * limit)
    title = f"{goal.title} ({unit.strip()})" if unit else goal.title
    return LineChart(lines, x_title, title, max(1.08 * most, 1.25 * limit) or 1.0, [Rule(limit, goal.text)], up, **kind)


def _finding(plan: Plan, n: int, scale: float, unit: str) -> str:
    def value(trial: Trial) -> str:
        mean = trial.value(n)
        return NONE if mean is None else f"{number(mean * scale)}{unit}"

    less = f", {value(plan.below)} with one less" if plan.below is not None else ""
    return f"{plan.policy}: {value(plan.at)} with {counted(plan.servers, 'server')}{less}"


def _stable(plans: Sequence[Plan], bounds: Sequence[Rule]) -> Figure:
    """Draw which numbers of servers are stable."""
    numbers = [*(int(bound.at) for bound in bounds), *(trial.servers for plan in plans for trial in plan.trials)]
    entries = []
    for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
        marks = [Mark(trial.servers, filled=trial.stable) for trial in plan.trials]
        entries.append(Entry(plan.policy, colour, marks=marks, text=f"{plan.servers:,}"))
    chart = RowChart(
        entries,
        "servers",
        (min(numbers) - 0.5, max(numbers) + 0.5),
        bounds,
    )
    findings = "; ".join(f"{plan.policy} is stable with {counted(plan.servers, 'server')}" for plan in plans)
    return Figure("Which numbers of servers are stable", f"{findings}. Filled marks are stable.", chart)


def _state(trial: Trial) -> str:
    return "stable" if trial.stable else "unstable"


def trials_table(plan: Plan, goals: Sequence[Goal], slot_seconds: float | None, endless: bool) -> Table:
    """Return the measures of each number of servers that was tried.

    For an endless workload also whether the queue was stable.
    """
    heads = [f"{goal.title} ({unit.strip()})" if (unit := goal.unit(slot_seconds)) else goal.title for goal in goals]
    columns = [*numbers("servers", *heads), *([Column("queue")] if endless else []), Column("meets all goals")]
    table = Table(f"What the search tried with {plan.policy}", columns, folded=True)
    for trial in plan.trials:
        means = [trial.value(n) for n in range(len(goals))]
        values = [number(None if m is None else m * goal.scale(slot_seconds)) for goal, m in zip(goals, means, strict=True)]
        table.add(f"{trial.servers:,}", *values, *([_state(trial)] if endless else []), "yes" if trial.meets else "no")
    return table


def mix_figures(plans: Sequence[MixPlan], goals: Sequence[Goal], bound: CostBound, slot_seconds: float | None) -> list[Figure]:
    """Draw each goal's measure against the cost of the mixes.

    Without goals: whether the queue is stable.
    """
    ran = "; ".join(f"{plan.policy}: {len(plan.trials):,} mixes were run" for plan in plans)
    finding = f"{ran}. Filled marks meet all goals; the steps are the best that mixes of no more cost reached."
    up = [Rule(float(bound.whole), f"any mix: {money(bound.whole)} at least")]
    figures = []
    for n, goal in enumerate(goals or (None,)):
        scale, lines = 1.0 if goal is None else goal.scale(slot_seconds), []
        for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
            points_of_plan = mix_points(plan, goals, n)
            points = [Point(point.cost, point.value * scale, point.mix.trial.meets) for point in points_of_plan]
            best = [value * scale for value in best_so_far(points_of_plan, goal)]
            lines.append(line_through(plan.policy, money(plan.at.cost), colour, points, best))
        chart = goal_chart(lines, goal, "cost", up, slot_seconds, steps=True)
        figures.append(Figure(f"{'stable' if goal is None else goal.title} against cost", finding, chart))
    return figures


class MixPoint(NamedTuple):
    """One mix that was run.

    `value`: the goal's measure, times in slots. Without a goal 1 if stable, else 0.
    """

    cost: float
    value: float
    mix: MixTrial


def mix_points(plan: MixPlan, goals: Sequence[Goal], n: int) -> list[MixPoint]:
    """Return the mixes of the search with a value of goal n, by cost.

    Without goals the value is the stability.
    """
    points = []
    for mix in plan.trials:
        value = mix.trial.value(n) if goals else float(mix.trial.stable)
        if value is not None:
            points.append(MixPoint(float(mix.cost), float(value), mix))
    return points


def best_so_far(points: Sequence[MixPoint], goal: Goal | None) -> list[float]:
    """Return for each point the best value at no higher cost.

    Points are in order of cost.
    """
    most = goal is None or goal.measure == "utilisation"
    best_values: list[float] = []
    for point in points:
        best = max if most else min
        best_values.append(best(best_values[-1], point.value) if best_values else point.value)
    return best_values
