"""The page of `packenv plan --types`: the machines, each goal's measure against their cost, and how full they are."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.cli.plan.mixes.points import best_so_far, mix_points
from packenv.cli.plan.mixes.tables import mix_answer, mix_table, money
from packenv.cli.plan.servers.report import ABOVE, MOST_TASKS, occupied, scale_of, unit_of, work_of
from packenv.cli.report.drawing import Rule, colours_of
from packenv.cli.report.lines import Line, LineChart, Point
from packenv.cli.report.page import Figure, Report, Section
from packenv.cli.report.profile import profile_section
from packenv.cli.report.tables import rows_of
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan
from packenv.runs.text import number
from packenv.workloads.workload import Workload


def mix_report(
    plans: Sequence[MixPlan],
    refused: Sequence[str],
    goals: Sequence[Goal],
    kinds: Kinds,
    bound: CostBound,
    workload: Workload,
    slot_seconds: float | None,
) -> Report:
    """The page of `packenv plan --types`: the mix of each policy, its cost, what one machine less does, and how full it is."""
    table = rows_of(mix_table(workload, goals, kinds, plans, slot_seconds))
    profile = profile_section(workload, slot_seconds)
    asked = [
        ("Work", work_of(workload)),
        ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
        ("Machines", "; ".join(f"{text} at {money(cost)}" for text, cost in zip(kinds.texts, kinds.cost, strict=True))),
        ("Policies", ", ".join(plan.policy for plan in plans)),
        ("No mix costs less than", money(bound.whole)),
    ]
    title = f"Which machines for {workload.name}"
    curves = [_figure(plans, n, goals, kinds, bound, slot_seconds) for n in range(max(1, len(goals)))]
    sections = [Section("The cheapest machines that were found", curves, tables=[table])]
    best = min(plans, key=lambda plan: plan.at.cost)
    if workload.jobs is not None and len(workload.jobs) <= MOST_TASKS:
        where = f"With {kinds.shown(best.at.counts)} and {best.policy}"
        sections.append(occupied(where, with_mix(workload, best.at.counts), best.policy, workload.jobs, slot_seconds))
    sections += [profile] if profile else []
    return Report(title, mix_answer(goals, kinds, plans, bound), asked, sections, refused)


def _figure(
    plans: Sequence[MixPlan], n: int, goals: Sequence[Goal], kinds: Kinds, bound: CostBound, slot_seconds: float | None
) -> Figure:
    """Goal n's measure (without goals: whether the queue is stable) of each mix that was run, against its cost."""
    goal = goals[n] if goals else None
    scale, unit = (1.0, "") if goal is None else (scale_of(goal, slot_seconds), unit_of(goal, slot_seconds))
    name = "stable" if goal is None else goal.title
    lines, largest = [], 0.0
    for plan, colour in zip(plans, colours_of([plan.policy for plan in plans]), strict=True):
        found = mix_points(plan, goals, n)
        points = []
        for point in found:
            value = ("stable" if point.value else "unstable") if goal is None else f"{number(point.value * scale)}{unit}"
            said = f"{plan.policy}, {kinds.shown(point.tried.counts)} for {money(point.tried.cost)}: {value}"
            points.append(Point(point.cost, point.value * scale, point.tried.trial.meets, said))
        best = [value * scale for value in best_so_far(found, goal)]
        lines.append(Line(f"{plan.policy}: {money(plan.at.cost)}", colour, [point.x for point in points], best, points=points))
        largest = max([largest, *(point.y for point in points)])
    limit = 1.0 if goal is None else goal.limit * scale
    free = goal is not None and goal.measure != "utilisation" and limit > 0
    top = min(largest * 1.08, ABOVE * limit) if free else max(largest, limit) * 1.08
    chart = LineChart(
        lines,
        "cost",
        f"{name}{f' ({unit.strip()})' if unit else ''}",
        max(top, 1.25 * limit) or 1.0,
        across=[] if goal is None else [Rule(limit, goal.text)],
        up=[Rule(float(bound.whole), f"any mix: {money(bound.whole)} at least")],
        steps=True,
    )
    ran = "; ".join(f"{plan.policy}: {len(plan.tried):,} mixes were run" for plan in plans)
    steps = "the steps are the best that mixes of no more cost reached"
    return Figure(f"{name} against cost", f"{ran}. Filled marks meet all goals; {steps}.", chart)
