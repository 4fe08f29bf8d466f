"""The numbers of equal servers of `packenv plan`: the bound, a search for each policy, their tables, sentences and records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.plan.answers import SURER, Answer, PlanRequest, Say, cell, open_goals, plan_all, print_refused, scale_of
from packenv.cli.tables import text_console
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.fewest_servers import Fewest, fewest_for
from packenv.planning.plan import GAP, SECONDS, PlanLog
from packenv.planning.search import Plan, Search
from packenv.planning.trials import AskRuns, Trial
from packenv.planning.what_if import (
    Certainty,
    Compared,
    WithoutLargest,
    certainty,
    common_number,
    compared,
    trial_at,
    without_largest,
)
from packenv.report.page import Report
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval
from packenv.runs.text import NONE, counted
from packenv.workloads.workload import Workload


def plan_numbers(request: PlanRequest, run_options: RunOptions, log: str | None) -> Answer:
    """The least number of servers for each policy. Raises NoneMeets if no policy meets the goals with any number."""
    workload, goals, slot_seconds = request.workload, request.goals, request.shown_slot
    runs = request.log(log)
    with text_console().status(f"{workload.name}: the fewest servers of any policy"):
        bound = fewest_for(workload, goals, request.policies, GAP, SECONDS)

    known: dict[str, Certainty] = {}
    smaller: dict[str, WithoutLargest] = {}

    def plan(policy: str, ask: AskRuns, say: Say) -> Plan:
        search = request.search(policy)
        least = search.run(bound.servers, ask, lambda servers: say(f"{servers:,} servers"))
        if request.draws:
            known[policy] = certainty(search, least.servers, request.draws, ask, lambda draw: say(f"draw {draw + 1:,}"))
        if request.most_demand is not None:
            say("without the largest tasks")
            smaller[policy] = without_largest(search, least.servers, request.most_demand, ask)
        return least

    plans, refused = plan_all(request.policies, plan, run_options, runs)
    print_refused(refused, plans)
    common = compare_at_common([request.search(plan.policy) for plan in plans], plans, run_options, runs)
    tables = [plan_table(workload, goals, plans, bound, slot_seconds)]
    tables += [common_table(workload, goals, common, slot_seconds)] if common else []

    def draw(path: str) -> None:
        from packenv.cli.plan.report import plan_chart  # brings matplotlib with it

        plan_chart(plans, goals, bound, workload, slot_seconds).save(path)

    def report() -> Report:
        from packenv.cli.plan.report import plan_report  # brings the profile of traces with it

        problems = [*map(str, refused)]
        return plan_report(plans, problems, goals, bound, workload, slot_seconds, request.seeds, request.slots, sentences, tables)

    records = [
        plan_record(workload, goals, plan, bound)
        | common_record(goals, common, plan.policy)
        | certainty_record(known.get(plan.policy))
        | without_record(smaller.get(plan.policy))
        for plan in plans
    ]
    sentences = [plan_answer(workload, goals, plans, bound)]
    sentences += [in_the_noise(goals, plan, slot_seconds) for plan in plans if plan.between is not None]
    sentences += [unsettled(plan) for plan in plans if not goals and not plan.at.settled]
    sentences += [without(plan, smaller[plan.policy]) for plan in plans if plan.policy in smaller]
    sentences += [certain(plan.policy, known[plan.policy]) for plan in plans if plan.policy in known]
    return Answer(tables, "\n".join(sentences), records, draw, report)


LEFT_OUT = ("stable with one less",)


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


def plan_answer(workload: Workload, goals: Sequence[Goal], plans: Sequence[Plan], bound: Fewest) -> str:
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


def compare_at_common(
    searches: Sequence[Search], plans: Sequence[Plan], run_options: RunOptions, log: PlanLog | None
) -> list[Compared]:
    """Each policy with as many servers as the one that needs most; nothing for a single policy, or without goals.

    searches  of the plans, in their order
    """
    if len(plans) < 2 or not searches[0].goals:
        return []
    servers = common_number(plans)
    to_run = {plan.policy: (search, plan) for search, plan in zip(searches, plans, strict=True) if plan.servers < servers}

    def run(policy: str, ask: AskRuns, say: Say) -> tuple[str, Trial]:
        say(f"{counted(servers, 'server')}, to compare")
        search, plan = to_run[policy]
        return policy, trial_at(search, plan, servers, ask)

    others = dict(plan_all([*to_run], run, run_options, log)[0]) if to_run else {}
    return compared([plan.policy for plan in plans], [others.get(plan.policy, plan.at) for plan in plans])


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
