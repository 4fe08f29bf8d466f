"""The mixes of machines of `packenv plan --types`: the bound on cost, a search for each policy, and what is shown of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.plan.answers import Answer, print_refused
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds, check_kinds, money
from packenv.planning.lower_bounds.cost_bound import CostBound, least_cost
from packenv.planning.mixes import MixPlan, MixSearch, MixTrial
from packenv.planning.plan import GAP, SECONDS
from packenv.planning.plan_tables import SURER, cell, open_goals
from packenv.planning.server_plans import PlanRequest, Say, plan_all
from packenv.planning.trials import AskRuns
from packenv.report.page import Report
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.workloads.workload import Workload


def kinds_as_servers(kinds: Kinds | None, servers: str | None) -> dict[str, Any]:
    """The option of servers that goes with the kinds: one of each. Raises InputError if servers are given too."""
    if kinds is None:
        return {}
    if servers is not None:
        raise InputError("give one of --servers and --types, which says what the machines are")
    return {"servers": kinds.one_of_each}


def plan_mixes(request: PlanRequest, kinds: Kinds, run_options: RunOptions, log: str | None) -> Answer:
    """The cheapest mix for each policy. Raises NoneMeets if no policy meets the goals with any."""
    workload, goals, slot_seconds = request.workload, request.goals, request.shown_slot
    check_kinds(kinds, workload)
    runs = request.log(log)
    with text_console().status(f"{workload.name}: the least cost of any policy"):
        bound = least_cost(workload, goals, kinds, GAP, SECONDS)

    def plan(policy: str, ask: AskRuns, say: Say) -> MixPlan:
        return MixSearch(request.search(policy), kinds, bound, ask, say).run()

    plans, refused = plan_all(request.policies, plan, run_options, runs)
    print_refused(refused, plans)

    records = [mix_record(workload, goals, kinds, plan, bound) for plan in plans]

    def draw(path: str) -> None:
        from packenv.planning.plan_page import mix_chart  # brings matplotlib with it

        mix_chart(plans, goals, bound, workload, slot_seconds).save(path)

    def report() -> Report:
        from packenv.planning.plan_page import mix_report  # brings the profile of traces with it

        return mix_report(plans, [*map(str, refused)], goals, kinds, bound, workload, slot_seconds, answer, table)

    table = mix_table(workload, goals, kinds, plans, slot_seconds)
    answer = mix_answer(goals, kinds, plans, bound)
    noise = [line for plan in plans if (line := mix_in_the_noise(goals, kinds, plan, slot_seconds))]
    return Answer([table], "\n".join([answer, *noise]), records, draw, report)


def mix_table(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plans: Sequence[MixPlan], seconds: float | None) -> Table:
    """For each policy its mix, and a line for each kind with one machine less: cost, and each goal's measure."""
    unit = "slots" if seconds is None else "seconds"
    title = f"{workload.name}: the cheapest machines that were found" + (f"; times in {unit}" if goals else "")
    stable = [Column("stable")] if workload.jobs is None else []
    heads = numbers("cost", *(goal.title for goal in goals))
    table = Table(title, [Column("policy"), Column("machines"), *heads, *stable])
    for plan in plans:
        table.add(plan.policy, kinds.shown(plan.at.counts), *_cells(plan.at, goals, workload, seconds))
        for text, less in zip(kinds.texts, plan.dropped, strict=True):
            if less is not None:
                table.add("", f"one {text} less", *_cells(less, goals, workload, seconds))
    return table


def _cells(mix: MixTrial, goals: Sequence[Goal], workload: Workload, seconds: float | None) -> list[str]:
    stable = [] if workload.jobs is not None else ["yes" if mix.trial.stable else "no"]
    return [money(mix.cost), *(cell(mix.trial, n, goal, seconds) for n, goal in enumerate(goals)), *stable]


def mix_answer(goals: Sequence[Goal], kinds: Kinds, plans: Sequence[MixPlan], bound: CostBound) -> str:
    """The plan in a sentence or two."""
    best = min(plans, key=lambda plan: plan.at.cost)
    what = " and ".join(goal.text for goal in goals) or "a stable queue"
    sentence = f"{kinds.shown(best.at.counts)} for {money(best.at.cost)} with {best.policy} for {what}"
    if best.at.cost == bound.whole:
        return f"{sentence}; no mix costs less under any policy."
    above = float(best.at.cost / bound.whole - 1)
    return f"{sentence}, {above:.1%} above {money(bound.whole)}: no mix costs less than that under any policy."


def mix_in_the_noise(goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, seconds: float | None) -> str:
    """Of which mixes, the answer and those of one machine less, noise leaves open if they will do; empty for none."""
    mixes = [mix for mix in (plan.at, *plan.dropped) if mix is not None and mix.trial.stable and False not in mix.trial.decided]
    left_open = open_goals(goals, [(kinds.shown(mix.counts), mix.trial) for mix in mixes], seconds)
    return f"{plan.policy}: not decided{left_open}; {SURER}." if left_open else ""


def mix_record(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, bound: CostBound) -> dict[str, Any]:
    """The JSON of one policy's plan; times are in slots."""

    def tried(mix: MixTrial) -> dict[str, Any]:
        values = [mix.trial.value(n) for n in range(len(goals))]
        return _mix(kinds, mix) | {"values": values, "stable": mix.trial.stable, "meets": mix.trial.meets}

    return {
        "workload": workload.name,
        "policy": plan.policy,
        "types": [{"server": text, "cost": float(cost)} for text, cost in zip(kinds.texts, kinds.cost, strict=True)],
        **_mix(kinds, plan.at),
        "bound": float(bound.value),
        "bound_whole": float(bound.whole),
        "slot_seconds": workload.slot_seconds,
        "confirmed": plan.fresh,
        "thorough": plan.thorough,
        "goals": [
            {"goal": goal.text, "limit": goal.limit, "value": [*plan.at.trial.estimate(n)]} for n, goal in enumerate(goals)
        ],
        "one_less": [None if less is None else tried(less) for less in plan.dropped],
        "tried": [tried(mix) for mix in plan.tried],
    }


def _mix(kinds: Kinds, mix: MixTrial) -> dict[str, Any]:
    return {"machines": [*mix.counts], "servers": kinds.shown(mix.counts), "cost": float(mix.cost)}
