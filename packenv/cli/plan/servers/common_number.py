"""Policies at the largest of their numbers of servers: each goal's measure, and its difference to the first policy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.plan.all_policies import Say, plan_all
from packenv.cli.plan.servers.tables import cell
from packenv.planning.comparison import Compared, common_number, compared, trial_at
from packenv.planning.goals import Goal
from packenv.planning.log import PlanLog
from packenv.planning.search import AskRuns, Plan, Search, Trial
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval
from packenv.runs.text import NONE, counted
from packenv.workloads.workload import Workload


def compare_at_common(searches: Sequence[Search], plans: Sequence[Plan], made: RunOptions, log: PlanLog | None) -> list[Compared]:
    """Each policy with as many servers as the one that needs most; nothing for a single policy, or without goals.

    searches  of the plans, in their order
    """
    if len(plans) < 2 or not searches[0].goals:
        return []
    servers = common_number(plans)
    wanted = {plan.policy: (search, plan) for search, plan in zip(searches, plans, strict=True) if plan.servers < servers}

    def run(policy: str, ask: AskRuns, say: Say) -> tuple[str, Trial]:
        say(f"{counted(servers, 'server')}, to compare")
        search, plan = wanted[policy]
        return policy, trial_at(search, plan, servers, ask)

    others = dict(plan_all([*wanted], run, made, log)[0]) if wanted else {}
    return compared([plan.policy for plan in plans], [others.get(plan.policy, plan.at) for plan in plans])


def common_table(workload: Workload, goals: Sequence[Goal], found: Sequence[Compared], seconds: float | None) -> Table:
    """For each policy each goal's measure, and that less the first policy's, with a 95 % interval over the seeds."""
    unit = "slots" if seconds is None else "seconds"
    title = f"{workload.name}: all policies with {counted(found[0].servers, 'server')}; times in {unit}"
    heads = [heading for goal in goals for heading in (goal.title, f"less {found[0].policy}'s")]
    table = Table(title, [Column("policy"), *numbers(*heads)])
    for n, one in enumerate(found):
        cells = []
        for k, goal in enumerate(goals):
            scale = seconds or 1.0 if goal.is_time else 1.0
            less = interval(None if by is None else by * scale for by in one.less_first[k])
            cells += [cell(one.trial, k, goal, seconds), str(less) if n else NONE]
        table.add(one.policy, *cells)
    return table


def common_record(goals: Sequence[Goal], found: Sequence[Compared], policy: str) -> dict[str, Any]:
    """The JSON of it; times are in slots, nothing where nothing was compared."""
    own = next((one for one in found if one.policy == policy), None)
    if own is None:
        return {}
    measures = [
        {"goal": goal.text, "value": [*own.trial.estimate(k)], "difference": [*interval(own.less_first[k])]}
        for k, goal in enumerate(goals)
    ]
    return {
        "common": {
            "servers": own.servers,
            "less": found[0].policy,
            "goals": measures,
            "stable": own.trial.stable,
            "meets": own.trial.meets,
        }
    }
