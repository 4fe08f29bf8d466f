"""Pages and pictures of `packenv plan`: each goal's measure against the number of servers, or the cost of mixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from packenv.api import simulate
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds, money, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.lower_bounds.fewest_servers import Fewest
from packenv.planning.mixes import MixPlan, MixTrial
from packenv.planning.plan import run_kind
from packenv.planning.search import Plan, with_servers
from packenv.planning.trials import Trial
from packenv.report.charts import Entry, Line, LineChart, Mark, Point, RowChart, Rule
from packenv.report.page import Figure, Report, Section
from packenv.report.pictures import Picture, picture_of
from packenv.report.plot_style import MARKERS, colours_for
from packenv.report.run_charts import fullness
from packenv.report.tables import Column, Table, numbers
from packenv.report.workload_charts import profile_section
from packenv.runs.text import NONE, counted, number
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.planning.plan_tables import ServerPlans

MOST_TASKS = 1_000_000  # of a table that is run once more, to show how full the cluster is
ABOVE = 3.0
"""Curves leave the picture at this multiple of the limit."""


def plan_report(answer: ServerPlans) -> Report:
    """The page of `packenv plan`."""
    request, workload, bound, plans = answer.request, answer.workload, answer.bound, [*answer.plans.values()]
    sections = [
        Section("What each number of servers gives", _server_figures(answer), tables=answer.tables),
        Section(
            "All that was tried",
            notes=[_confirmed(plans)],
            tables=[_tried(plan, answer.goals, request.shown_slot) for plan in plans],
        ),
    ]
    if workload.jobs is not None and len(workload.jobs) <= MOST_TASKS:
        title = f"With {counted(answer.servers, 'server')} and {answer.best.policy}"
        sections.insert(1, occupied(title, with_servers(workload, answer.servers), answer.best.policy))
    profile = profile_section(workload)
    facts = [
        ("Work", work_of(workload)),
        ("Goals", "; ".join(goal.text for goal in answer.goals) or "a stable queue"),
        ("A server", ":".join(f"{amount:g}" for amount in workload.servers.capacity[0])),
        ("Policies", ", ".join(answer.plans)),
        ("Runs with each number", _runs(workload, request.seeds, request.slots)),
        (f"No {bound.scope} needs fewer than", counted(bound.servers, "server")),
    ]
    first, *rest = answer.sentences
    title = f"How many servers for {workload.name}"
    return Report(title, first, facts, [*sections, *([profile] if profile else [])], [*rest, *answer.refusals])


def plan_chart(answer: ServerPlans) -> Picture:
    """Each goal's measure against the number of servers; without a goal which numbers of servers are stable."""
    return picture_of(f"{answer.workload.name}: how many servers", _server_figures(answer))


def _server_figures(answer: ServerPlans) -> list[Figure]:
    plans, bound, slot_seconds = [*answer.plans.values()], answer.bound, answer.request.shown_slot
    figures = [_server_figure(plans, n, goal, bound, slot_seconds) for n, goal in enumerate(answer.goals)]
    return figures or [_stable(plans, bound)]


def work_of(workload: Workload) -> str:
    tasks = f"{counted(len(workload.jobs), 'task')}, " if workload.jobs is not None else ""
    return f"{workload.name}: {tasks}{number(workload.rate)} tasks per slot"


def _runs(workload: Workload, seeds: int, slots: int | None) -> str:
    if workload.jobs is not None:
        return "one, until all work is done"
    return f"{counted(seeds, 'seed')} of {slots:,} slots; as many others confirm the answer"


def _confirmed(plans: Sequence[Plan]) -> str:
    if any(plan.fresh for plan in plans):
        return "These runs are those of the search. The answer is that of other seeds, which confirmed or moved it."
    return "All numbers of servers saw the same tasks."


def occupied(title: str, workload: Workload, policy: str) -> Section:
    """How full the servers of the answer are: the search keeps no schedule, so that this takes a run of its own."""
    result = simulate(workload, policy, schedule=True, **run_kind(workload))
    return Section(title, [fullness(workload, [result])])


def _server_figure(plans: Sequence[Plan], n: int, goal: Goal, bound: Fewest, slot_seconds: float | None) -> Figure:
    """A goal's measure against the number of servers, a line for each policy: filled marks meet all goals."""
    scale, unit = goal.scale(slot_seconds), goal.unit(slot_seconds)
    lines = []
    for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
        means = [(trial, trial.value(n)) for trial in plan.tried]
        points = [Point(trial.servers, value * scale, trial.meets) for trial, value in means if value is not None]
        lines.append(line_through(plan.policy, f"{plan.servers:,}", colour, points))
    up = Rule(bound.servers, f"any {bound.scope}: {bound.servers:,} at least")
    chart = goal_chart(lines, goal, "servers", up, slot_seconds, whole=True)
    findings = "; ".join(_finding(plan, n, scale, unit) for plan in plans)
    return Figure(f"{goal.title} against the number of servers", f"{findings}. Filled marks meet all goals.", chart)


def line_through(policy: str, answer: str, colour: str, points: Sequence[Point], values: Sequence[float] | None = None) -> Line:
    """A policy's line, with its answer in its name, through the points or at these values."""
    at, values = [point.x for point in points], [point.y for point in points] if values is None else values
    return Line(f"{policy}: {answer}", colour, at, values, points=points, marker=MARKERS.get(policy, "o"))


def goal_chart(
    lines: Sequence[Line], goal: Goal | None, x_title: str, up: Rule, slot_seconds: float | None, **kind: bool
) -> LineChart:
    """A goal's measure, which leaves the chart far above its limit; without a goal 1 for stable and 0 for unstable."""
    largest = max((point.y for line in lines for point in line.points), default=0.0)
    if goal is None:
        return LineChart(lines, x_title, "stable", 1.25, [], [up], **kind)
    unit, limit = goal.unit(slot_seconds), goal.limit * goal.scale(slot_seconds)
    most = max(largest, limit) if goal.measure == "utilisation" or limit == 0 else min(largest, ABOVE / 1.08 * limit)
    title = f"{goal.title} ({unit.strip()})" if unit else goal.title
    return LineChart(lines, x_title, title, max(1.08 * most, 1.25 * limit) or 1.0, [Rule(limit, goal.text)], [up], **kind)


def _finding(plan: Plan, n: int, scale: float, unit: str) -> str:
    def value(trial: Trial) -> str:
        mean = trial.value(n)
        return NONE if mean is None else f"{number(mean * scale)}{unit}"

    less = f", {value(plan.below)} with one less" if plan.below is not None else ""
    return f"{plan.policy}: {value(plan.at)} with {counted(plan.servers, 'server')}{less}"


def _stable(plans: Sequence[Plan], bound: Fewest) -> Figure:
    """Without a goal: which numbers of servers are stable."""
    numbers = [trial.servers for plan in plans for trial in plan.tried]
    entries = []
    for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
        marks = [Mark(trial.servers, filled=trial.stable) for trial in plan.tried]
        entries.append(Entry(plan.policy, colour, marks=marks, text=f"{plan.servers:,}"))
    chart = RowChart(
        entries,
        "servers",
        (min(bound.servers, *numbers) - 0.5, max(numbers) + 0.5),
        [Rule(bound.servers, f"any {bound.scope} at least")],
    )
    findings = "; ".join(f"{plan.policy} is stable with {counted(plan.servers, 'server')}" for plan in plans)
    return Figure("Which numbers of servers are stable", f"{findings}. Filled marks are stable.", chart)


def _state(trial: Trial) -> str:
    return "stable" if trial.stable else "unstable"


def _tried(plan: Plan, goals: Sequence[Goal], slot_seconds: float | None) -> Table:
    heads = [f"{goal.title} ({unit.strip()})" if (unit := goal.unit(slot_seconds)) else goal.title for goal in goals]
    columns = [*numbers("servers", *heads), Column("queue"), Column("meets all goals")]
    table = Table(f"What the search tried with {plan.policy}", columns, folded=True)
    for trial in plan.tried:
        means = [trial.value(n) for n in range(len(goals))]
        values = [number(None if m is None else m * goal.scale(slot_seconds)) for goal, m in zip(goals, means, strict=True)]
        table.add(f"{trial.servers:,}", *values, _state(trial), "yes" if trial.meets else "no")
    return table


def mix_report(
    plans: Sequence[MixPlan],
    refused: Sequence[str],
    goals: Sequence[Goal],
    kinds: Kinds,
    bound: CostBound,
    workload: Workload,
    slot_seconds: float | None,
    answer: str,
    table: Table,
) -> Report:
    """The page of `packenv plan --types`: the mix of each policy, its cost, what one machine less does, and how full it is."""
    profile = profile_section(workload)
    facts = [
        ("Work", work_of(workload)),
        ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
        ("Machines", "; ".join(f"{text} at {money(cost)}" for text, cost in zip(kinds.texts, kinds.cost, strict=True))),
        ("Policies", ", ".join(plan.policy for plan in plans)),
        ("No mix costs less than", money(bound.whole)),
    ]
    title = f"Which machines for {workload.name}"
    curves = _mix_figures(plans, goals, bound, slot_seconds)
    sections = [Section("The cheapest machines that were found", curves, tables=[table])]
    best = min(plans, key=lambda plan: plan.at.cost)
    if workload.jobs is not None and len(workload.jobs) <= MOST_TASKS:
        where = f"With {kinds.shown(best.at.counts)} and {best.policy}"
        sections.append(occupied(where, with_mix(workload, best.at.counts), best.policy))
    sections += [profile] if profile else []
    return Report(title, answer, facts, sections, refused)


def mix_chart(
    plans: Sequence[MixPlan], goals: Sequence[Goal], bound: CostBound, workload: Workload, slot_seconds: float | None
) -> Picture:
    """Each goal's measure (without goals: whether the queue is stable) of each mix that was run, against its cost."""
    return picture_of(f"{workload.name}: which machines", _mix_figures(plans, goals, bound, slot_seconds))


def _mix_figures(plans: Sequence[MixPlan], goals: Sequence[Goal], bound: CostBound, slot_seconds: float | None) -> list[Figure]:
    ran = "; ".join(f"{plan.policy}: {len(plan.tried):,} mixes were run" for plan in plans)
    finding = f"{ran}. Filled marks meet all goals; the steps are the best that mixes of no more cost reached."
    up = Rule(float(bound.whole), f"any mix: {money(bound.whole)} at least")
    figures = []
    for n, goal in enumerate(goals or (None,)):
        scale, lines = 1.0 if goal is None else goal.scale(slot_seconds), []
        for plan, colour in zip(plans, colours_for([plan.policy for plan in plans]), strict=True):
            mixes = mix_points(plan, goals, n)
            points = [Point(mix.cost, mix.value * scale, mix.tried.trial.meets) for mix in mixes]
            best = [value * scale for value in best_so_far(mixes, goal)]
            lines.append(line_through(plan.policy, money(plan.at.cost), colour, points, best))
        chart = goal_chart(lines, goal, "cost", up, slot_seconds, steps=True)
        figures.append(Figure(f"{'stable' if goal is None else goal.title} against cost", finding, chart))
    return figures


class MixPoint(NamedTuple):
    """One mix that was run. `value`: of the goal, in slots where it is a time; without a goal 1 if it was stable, else 0."""

    cost: float
    value: float
    tried: MixTrial


def mix_points(plan: MixPlan, goals: Sequence[Goal], n: int) -> list[MixPoint]:
    """All mixes of the search that have a value of goal n (without goals: of stability), by cost."""
    points = []
    for tried in plan.tried:
        value = tried.trial.value(n) if goals else float(tried.trial.stable)
        if value is not None:
            points.append(MixPoint(float(tried.cost), float(value), tried))
    return points


def best_so_far(points: Sequence[MixPoint], goal: Goal | None) -> list[float]:
    """For each point, in order of cost, the best value among those that cost no more."""
    most = goal is None or goal.measure == "utilisation"
    best_values: list[float] = []
    for point in points:
        best = max if most else min
        best_values.append(best(best_values[-1], point.value) if best_values else point.value)
    return best_values
