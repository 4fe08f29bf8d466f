"""The page of `packenv plan`: the number of servers, each goal's measure against it, and the work."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from packenv.api import simulate
from packenv.cli.report.drawing import Rule, colours_of
from packenv.cli.report.lines import Line, LineChart, Point
from packenv.cli.report.occupancy import Played, occupancy_figure
from packenv.cli.report.page import Figure, Report, Rows, Section
from packenv.cli.report.profile import profile_section
from packenv.cli.report.rows import Entry, Mark, RowChart
from packenv.cli.report.tables import rows_of
from packenv.jobs import Jobs
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.queue_servers import Fewest
from packenv.planning.plan import run_kind
from packenv.planning.search import Plan, Trial, with_servers
from packenv.runs.text import NONE, counted, number
from packenv.workloads.workload import Workload

MOST_TASKS = 1_000_000  # of a table that is run once more, to show how full the cluster is
ABOVE = 3.0
"""Curves leave the picture at so many times the limit."""


def plan_report(
    plans: Sequence[Plan],
    refused: Sequence[str],
    goals: Sequence[Goal],
    bound: Fewest,
    workload: Workload,
    slot_seconds: float | None,
    seeds: int,
    slots: int | None,
    said: Sequence[str],
    tables: Sequence[Table],
) -> Report:
    """`said`: the answer, then what was asked beside it. `refused`: why other policies meet the goals with no number of servers.

    `seeds`, `slots`: of the runs. `tables`: as they are printed.
    """
    curves = [_figure(plans, n, goal, bound, slot_seconds) for n, goal in enumerate(goals)] or [_stable(plans, bound)]
    tried = [_tried(plan, goals, slot_seconds) for plan in plans]
    sections = [
        Section("What each number of servers gives", curves, tables=[rows_of(table) for table in tables]),
        Section("All that was tried", notes=[_confirmed(plans)], tables=tried),
    ]
    best = min(plans, key=lambda plan: plan.servers)
    if workload.jobs is not None and len(workload.jobs) <= MOST_TASKS:
        title = f"With {counted(best.servers, 'server')} and {best.policy}"
        sections.insert(1, occupied(title, with_servers(workload, best.servers), best.policy, workload.jobs, slot_seconds))
    profile = profile_section(workload, slot_seconds)
    asked = [
        ("Work", work_of(workload)),
        ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
        ("A server", ":".join(f"{each:g}" for each in workload.servers.capacity[0])),
        ("Policies", ", ".join(plan.policy for plan in plans)),
        ("Runs with each number", _runs(workload, seeds, slots)),
        (f"No {bound.whom} needs fewer than", counted(bound.servers, "server")),
    ]
    title = f"How many servers for {workload.name}"
    return Report(title, said[0], asked, [*sections, *([profile] if profile else [])], [*said[1:], *refused])


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


def occupied(title: str, there: Workload, policy: str, jobs: Jobs, slot_seconds: float | None) -> Section:
    """How full the servers of the answer are: the search keeps no schedule, so that this takes a run of its own."""
    result = simulate(there, policy, schedule=True, **run_kind(there))
    assert result.schedule is not None
    played = Played(policy, jobs, result.schedule, result.slots)
    return Section(title, [occupancy_figure(there, [played], slot_seconds)])


def scale_of(goal: Goal, slot_seconds: float | None) -> float:
    return slot_seconds or 1.0 if goal.is_time else 1.0


def unit_of(goal: Goal, slot_seconds: float | None) -> str:
    return "" if not goal.is_time else " slots" if slot_seconds is None else " seconds"


def _figure(plans: Sequence[Plan], n: int, goal: Goal, bound: Fewest, slot_seconds: float | None) -> Figure:
    """A goal's measure against the number of servers, a line for each policy: filled marks meet all goals."""
    scale, unit = scale_of(goal, slot_seconds), unit_of(goal, slot_seconds)
    lines, largest = [], 0.0
    for plan, colour in zip(plans, colours_of([plan.policy for plan in plans]), strict=True):
        known = [(trial, value * scale) for trial in plan.tried if (value := trial.value(n)) is not None]
        points = [
            Point(trial.servers, value, trial.meets, f"{plan.policy}, {counted(trial.servers, 'server')}: {number(value)}{unit}")
            for trial, value in known
        ]
        at, values = [point.x for point in points], [point.y for point in points]
        lines.append(Line(f"{plan.policy}: {plan.servers:,}", colour, at, values, points=points))
        largest = max([largest, *(value for _, value in known)])
    limit = goal.limit * scale
    top = min(largest * 1.08, ABOVE * limit) if limit > 0 and goal.measure != "utilisation" else max(largest, limit) * 1.08
    chart = LineChart(
        lines,
        "servers",
        f"{goal.title}{f' ({unit.strip()})' if unit else ''}",
        max(top, 1.25 * limit) or 1.0,
        across=[Rule(limit, goal.text)],
        up=[Rule(bound.servers, f"any {bound.whom}: {bound.servers:,} at least")],
        whole=True,
    )
    said = "; ".join(_said(plan, n, scale, unit) for plan in plans)
    return Figure(f"{goal.title} against the number of servers", f"{said}. Filled marks meet all goals.", chart)


def _said(plan: Plan, n: int, scale: float, unit: str) -> str:
    def value(trial: Trial) -> str:
        mean = trial.value(n)
        return NONE if mean is None else f"{number(mean * scale)}{unit}"

    less = f", {value(plan.below)} with one less" if plan.below is not None else ""
    return f"{plan.policy}: {value(plan.at)} with {counted(plan.servers, 'server')}{less}"


def _stable(plans: Sequence[Plan], bound: Fewest) -> Figure:
    """Without a goal: which numbers of servers are stable."""
    numbers = [trial.servers for plan in plans for trial in plan.tried]
    entries = []
    for plan, colour in zip(plans, colours_of([plan.policy for plan in plans]), strict=True):
        marks = [Mark(trial.servers, filled=trial.stable, text=_said_of(plan, trial)) for trial in plan.tried]
        entries.append(Entry(plan.policy, colour, marks=marks, text=f"{plan.servers:,}"))
    chart = RowChart(
        entries,
        "servers",
        (min(bound.servers, *numbers) - 0.5, max(numbers) + 0.5),
        [Rule(bound.servers, f"any {bound.whom} at least")],
    )
    said = "; ".join(f"{plan.policy} is stable with {counted(plan.servers, 'server')}" for plan in plans)
    return Figure("Which numbers of servers are stable", f"{said}. Filled marks are stable.", chart)


def _said_of(plan: Plan, trial: Trial) -> str:
    return f"{plan.policy}, {counted(trial.servers, 'server')}: {_state(trial)}"


def _state(trial: Trial) -> str:
    return "stable" if trial.stable else "unstable"


def _tried(plan: Plan, goals: Sequence[Goal], slot_seconds: float | None) -> Rows:
    head = [
        "servers",
        *(f"{goal.title}{f' ({unit.strip()})' if (unit := unit_of(goal, slot_seconds)) else ''}" for goal in goals),
    ]
    rows = []
    for trial in plan.tried:
        means = [trial.value(n) for n in range(len(goals))]
        values = [number(None if m is None else m * scale_of(goal, slot_seconds)) for goal, m in zip(goals, means, strict=True)]
        rows.append([f"{trial.servers:,}", *values, _state(trial), "yes" if trial.meets else "no"])
    numeric = [True] * (1 + len(goals)) + [False, False]
    return Rows(f"What the search tried with {plan.policy}", [*head, "queue", "meets all goals"], rows, numeric, folded=True)
