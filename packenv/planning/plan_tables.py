"""Cells, tables, sentences and records of plans; of how many equal servers each policy needs all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.fewest_servers import Fewest
from packenv.planning.search import Plan
from packenv.planning.trials import Trial
from packenv.planning.what_if import Certainty, Compared, WithoutLargest
from packenv.report.tables import Column, Table, numbers
from packenv.runs.statistics import Interval, interval
from packenv.runs.text import NONE, counted, estimate, number
from packenv.workloads.workload import Workload

SURER = "more --slots or --seeds may decide it"
LEFT_OUT = ("stable with one less",)
"""Columns of `plan_table` that a narrow terminal does without."""


def money(cost: Fraction) -> str:
    """A cost with as many digits as it has, up to four after the point."""
    return f"{float(cost):,.4f}".rstrip("0").rstrip(".")


def scale_of(goal: Goal, slot_seconds: float | None) -> float:
    """What a value of the goal is multiplied with to be shown: times are in slots, and shown in seconds if a slot has some."""
    return slot_seconds or 1.0 if goal.is_time else 1.0


def unit_of(goal: Goal, slot_seconds: float | None) -> str:
    """The unit behind a number; empty for what is no time."""
    return "" if not goal.is_time else " slots" if slot_seconds is None else " seconds"


def cell(trial: Trial | None, n: int, goal: Goal, slot_seconds: float | None) -> str:
    if trial is None:
        return NONE
    scale = scale_of(goal, slot_seconds)
    measure = Interval(*(None if end is None else end * scale for end in trial.estimate(n)))
    if measure.mean is None or measure.low is None or measure.high is None:
        return number(measure.mean)
    half = measure.high - measure.mean
    return estimate(measure.mean, half) if math.isclose(measure.mean - measure.low, half, rel_tol=1e-6) else str(measure)


def open_goals(goals: Sequence[Goal], trials: Sequence[tuple[str, Trial]], slot_seconds: float | None) -> str:
    """`: the mean wait is 9.1 ± 3.4 seconds with 55`, of what noise leaves open in trials of so many servers."""
    measures = [
        f"the {goal.title} is {cell(trial, n, goal, slot_seconds)}{unit_of(goal, slot_seconds)} with {servers}"
        for n, goal in enumerate(goals)
        for servers, trial in trials
        if trial.decided and trial.decided[n] is None
    ]
    return f": {', '.join(measures)}" if measures else ""


def plan_table(
    workload: Workload, goals: Sequence[Goal], plans: Sequence[Plan], bound: Fewest, slot_seconds: float | None
) -> Table:
    """For each policy the number of servers, and each goal's measure with that number and with one less."""
    unit = "slots" if slot_seconds is None else "seconds"
    title = f"{workload.name}: servers, at least {bound.servers:,} for any {bound.whom}" + (f"; times in {unit}" if goals else "")
    heads = [heading for goal in goals for heading in (goal.title, "with one less")]
    heads += ["stable with one less"] if workload.jobs is None else []
    table = Table(title, [Column("policy"), *numbers("servers", *heads)])
    for plan in plans:
        cells = [cell(trial, n, goal, slot_seconds) for n, goal in enumerate(goals) for trial in (plan.at, plan.below)]
        last = [] if workload.jobs is not None else [NONE if plan.below is None else "yes" if plan.below.stable else "no"]
        table.add(plan.policy, f"{plan.servers:,}", *cells, *last)
    return table


def plan_fact(goals: Sequence[Goal], plan: Plan, slot_seconds: float | None) -> str:
    """`3 servers, mean queue 1.8 ± 0.4`, of one policy's plan."""
    measures = (
        f"{goal.title} {cell(plan.at, n, goal, slot_seconds)}{unit_of(goal, slot_seconds)}" for n, goal in enumerate(goals)
    )
    return ", ".join([counted(plan.servers, "server"), *measures])


def in_the_noise(goals: Sequence[Goal], plan: Plan, slot_seconds: float | None) -> str:
    """Between which numbers of servers noise leaves the least open."""
    assert plan.between is not None
    low, high = plan.between
    trials = [(f"{trial.servers:,}", trial) for trial in (plan.below, plan.at) if trial is not None]
    return f"{plan.policy}: not decided between {low:,} and {high:,} servers{open_goals(goals, trials, slot_seconds)}; {SURER}."


def unsettled(plan: Plan) -> str:
    """That a stable queue, the only goal, is one that does not grow as far as the runs show."""
    servers = counted(plan.servers, "server")
    return f"{plan.policy}: with {servers} the queue may still grow in longer runs; more --slots may decide it."


def plan_answer(goals: Sequence[Goal], plans: Sequence[Plan], bound: Fewest) -> str:
    """The plan in a sentence or two."""
    best = min(plans, key=lambda plan: plan.servers)
    what = " and ".join(goal.text for goal in goals) or "a stable queue"
    fewest = [plan.policy for plan in plans if plan.servers == best.servers]
    sentence = f"{counted(best.servers, 'server')} with {' or '.join(fewest)} for {what}"
    if best.servers == bound.servers:
        return f"{sentence}; no {bound.whom} needs fewer."
    saved = f"{1 - bound.servers / best.servers:.0%}"
    return f"{sentence}; no {bound.whom} can do with fewer than {bound.servers:,}, which would be {saved} fewer servers."


SHARES = {"interval_80": 0.8, "interval_95": 0.95}


def certain(policy: str, draws: Certainty) -> str:
    """In which range the least number lies for other draws."""
    of = "seeds" if draws.block is None else f"draws of the trace's blocks of {counted(draws.block, 'slot')}"
    ranges = [f"{share:.0%} from {low:,} to {high:,}" for share in SHARES.values() for low, high in [draws.interval(share)]]
    return f"{policy}: of {len(draws.least):,} {of}, {', '.join(ranges)} servers."


def certainty_record(draws: Certainty | None) -> dict[str, Any]:
    """The JSON of it; nothing where it was not asked for."""
    if draws is None:
        return {}
    return {
        "draws": {"least": [*draws.least], "block": draws.block}
        | {key: [*draws.interval(share)] for key, share in SHARES.items()}
    }


def without(plan: Plan, others: WithoutLargest) -> str:
    """What the largest tasks cost."""
    saved = plan.servers - others.servers
    change = "as many" if saved == 0 else f"{abs(saved):,} {'fewer' if saved > 0 else 'more'}"
    left_out = f"{counted(others.tasks, 'task')} above the limit, {others.work:.1%} of the work"
    return f"{plan.policy}: without the {left_out}: {counted(others.servers, 'server')}, {change}."


def without_record(others: WithoutLargest | None) -> dict[str, Any]:
    """The JSON of it; nothing where it was not asked for."""
    return {} if others is None else {"without_largest": others._asdict()}


def plan_record(workload: Workload, goals: Sequence[Goal], plan: Plan, bound: Fewest) -> dict[str, Any]:
    """The JSON of one policy's plan; times are in slots."""
    return {
        "workload": workload.name,
        "server": workload.servers.capacity[0].tolist(),
        "policy": plan.policy,
        "servers": plan.servers,
        "bound": bound.servers,
        "bound_of": f"every {bound.whom}",
        "slot_seconds": workload.slot_seconds,
        "confirmed": plan.fresh,
        "between": None if plan.between is None else [*plan.between],
        "goals": [
            {
                "goal": goal.text,
                "limit": goal.limit,
                "value": [*plan.at.estimate(n)],
                "one_less": None if plan.below is None else [*plan.below.estimate(n)],
            }
            for n, goal in enumerate(goals)
        ],
        "stable_with_one_less": None if plan.below is None else plan.below.stable,
        "tried": [
            {
                "servers": trial.servers,
                "values": [trial.value(n) for n in range(len(goals))],
                "stable": trial.stable,
                "meets": trial.meets,
            }
            for trial in plan.tried
        ],
    }


def common_table(workload: Workload, goals: Sequence[Goal], comparisons: Sequence[Compared], seconds: float | None) -> Table:
    """For each policy each goal's measure, and that less the first policy's, with a 95 % interval over the seeds."""
    unit = "slots" if seconds is None else "seconds"
    title = f"{workload.name}: all policies with {counted(comparisons[0].servers, 'server')}; times in {unit}"
    heads = [heading for goal in goals for heading in (goal.title, f"less {comparisons[0].policy}'s")]
    table = Table(title, [Column("policy"), *numbers(*heads)])
    for n, comparison in enumerate(comparisons):
        cells = []
        for k, goal in enumerate(goals):
            scale = scale_of(goal, seconds)
            less = interval(None if by is None else by * scale for by in comparison.less_first[k])
            cells += [cell(comparison.trial, k, goal, seconds), str(less) if n else NONE]
        table.add(comparison.policy, *cells)
    return table


def common_record(goals: Sequence[Goal], comparisons: Sequence[Compared], policy: str) -> dict[str, Any]:
    """The JSON of it; times are in slots, nothing where nothing was compared."""
    comparison = next((other for other in comparisons if other.policy == policy), None)
    if comparison is None:
        return {}
    measures = [
        {"goal": goal.text, "value": [*comparison.trial.estimate(k)], "difference": [*interval(comparison.less_first[k])]}
        for k, goal in enumerate(goals)
    ]
    return {
        "common": {
            "servers": comparison.servers,
            "less": comparisons[0].policy,
            "goals": measures,
            "stable": comparison.trial.stable,
            "meets": comparison.trial.meets,
        }
    }
