"""The page of `packenv plan --types`: the machines, each goal's measure against their cost, and how full they are."""

from __future__ import annotations

from collections.abc import Sequence

from packenv.cli.plan.mixes.points import best_so_far, mix_points
from packenv.cli.plan.mixes.tables import mix_answer, mix_table, money
from packenv.cli.plan.servers.report import MOST_TASKS, goal_chart, line_through, occupied, scale_of, work_of
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan
from packenv.report.charts import Point, Rule
from packenv.report.page import Figure, Report, Section
from packenv.report.pictures import Picture, picture_of
from packenv.report.plot_style import colours_for
from packenv.report.workload_charts import profile_section
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
    table = mix_table(workload, goals, kinds, plans, slot_seconds)
    profile = profile_section(workload)
    asked = [
        ("Work", work_of(workload)),
        ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
        ("Machines", "; ".join(f"{text} at {money(cost)}" for text, cost in zip(kinds.texts, kinds.cost, strict=True))),
        ("Policies", ", ".join(plan.policy for plan in plans)),
        ("No mix costs less than", money(bound.whole)),
    ]
    title = f"Which machines for {workload.name}"
    curves = _figures(plans, goals, bound, slot_seconds)
    sections = [Section("The cheapest machines that were found", curves, tables=[table])]
    best = min(plans, key=lambda plan: plan.at.cost)
    if workload.jobs is not None and len(workload.jobs) <= MOST_TASKS:
        where = f"With {kinds.shown(best.at.counts)} and {best.policy}"
        sections.append(occupied(where, with_mix(workload, best.at.counts), best.policy))
    sections += [profile] if profile else []
    return Report(title, mix_answer(goals, kinds, plans, bound), asked, sections, refused)


def mix_chart(
    plans: Sequence[MixPlan], goals: Sequence[Goal], bound: CostBound, workload: Workload, slot_seconds: float | None
) -> Picture:
    """Each goal's measure (without goals: whether the queue is stable) of each mix that was run, against its cost."""
    return picture_of(f"{workload.name}: which machines", _figures(plans, goals, bound, slot_seconds))


def _figures(plans: Sequence[MixPlan], goals: Sequence[Goal], bound: CostBound, slot_seconds: float | None) -> list[Figure]:
    ran = "; ".join(f"{plan.policy}: {len(plan.tried):,} mixes were run" for plan in plans)
    finding = f"{ran}. Filled marks meet all goals; the steps are the best that mixes of no more cost reached."
    up = Rule(float(bound.whole), f"any mix: {money(bound.whole)} at least")
    figures = []
    for n, goal in enumerate(goals or (None,)):
        scale, lines = 1.0 if goal is None else scale_of(goal, slot_seconds), []
        for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
            mixes = mix_points(plan, goals, n)
            points = [Point(mix.cost, mix.value * scale, mix.tried.trial.meets) for mix in mixes]
            best = [value * scale for value in best_so_far(mixes, goal)]
            lines.append(line_through(plan.policy, money(plan.at.cost), colour, points, best))
        chart = goal_chart(lines, goal, "cost", up, slot_seconds, steps=True)
        figures.append(Figure(f"{'stable' if goal is None else goal.title} against cost", finding, chart))
    return figures
