"""What `packenv plan` shows: a table, a sentence, and the records of `--json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from packenv.planning.certainty import Certainty
from packenv.planning.demand_limit import WithoutLargest
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.queue_servers import Fewest
from packenv.planning.search import Plan, Trial
from packenv.report.tables import Column, Table, numbers
from packenv.runs.statistics import Interval
from packenv.runs.text import NONE, counted, estimate, number
from packenv.workloads.workload import Workload

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


def cell(trial: Trial | None, n: int, goal: Goal, slot_seconds: float | None) -> str:
    if trial is None:
        return NONE
    scale = slot_seconds or 1.0 if goal.is_time else 1.0
    found = Interval(*(None if end is None else end * scale for end in trial.estimate(n)))
    if found.mean is None or found.low is None or found.high is None:
        return number(found.mean)
    half = found.high - found.mean
    return estimate(found.mean, half) if math.isclose(found.mean - found.low, half, rel_tol=1e-6) else str(found)


SURER = "more --slots or --seeds may decide it"


def in_the_noise(goals: Sequence[Goal], plan: Plan, slot_seconds: float | None) -> str:
    """Between which numbers of servers noise leaves the least open."""
    assert plan.between is not None
    low, high = plan.between
    trials = [(f"{trial.servers:,}", trial) for trial in (plan.below, plan.at) if trial is not None]
    return f"{plan.policy}: not decided between {low:,} and {high:,} servers{seen_in(goals, trials, slot_seconds)}; {SURER}."


def unsettled(plan: Plan) -> str:
    """That a stable queue, the only goal, is one that does not grow as far as the runs show."""
    servers = counted(plan.servers, "server")
    return f"{plan.policy}: with {servers} the queue may still grow in longer runs; more --slots may decide it."


def seen_in(goals: Sequence[Goal], trials: Sequence[tuple[str, Trial]], slot_seconds: float | None) -> str:
    """`: the mean wait is 9.1 ± 3.4 seconds with 55`, of what noise leaves open in trials of so many servers."""
    unit = " slots" if slot_seconds is None else " seconds"
    found = [
        f"the {goal.title} is {cell(trial, n, goal, slot_seconds)}{unit if goal.is_time else ''} with {servers}"
        for n, goal in enumerate(goals)
        for servers, trial in trials
        if trial.decided and trial.decided[n] is None
    ]
    return f": {', '.join(found)}" if found else ""


def answer(workload: Workload, goals: Sequence[Goal], plans: Sequence[Plan], bound: Fewest) -> str:
    """The plan in a sentence or two."""
    best = min(plans, key=lambda plan: plan.servers)
    what = " and ".join(goal.text for goal in goals) or "a stable queue"
    fewest = [plan.policy for plan in plans if plan.servers == best.servers]
    said = f"{counted(best.servers, 'server')} with {' or '.join(fewest)} for {what}"
    if best.servers == bound.servers:
        return f"{said}; no {bound.whom} needs fewer."
    spared = f"{1 - bound.servers / best.servers:.0%}"
    return f"{said}; no {bound.whom} can do with fewer than {bound.servers:,}, so that at most {spared} of them could be saved."


SHARES = {"interval_80": 0.8, "interval_95": 0.95}


def certain(policy: str, found: Certainty) -> str:
    """In which range the least number lies for other draws."""
    of = "seeds" if found.block is None else f"draws of the trace's blocks of {counted(found.block, 'slot')}"
    ranges = [f"{share:.0%} from {low:,} to {high:,}" for share in SHARES.values() for low, high in [found.interval(share)]]
    return f"{policy}: of {len(found.least):,} {of}, {', '.join(ranges)} servers."


def certainty_record(found: Certainty | None) -> dict[str, Any]:
    """The JSON of it; nothing where it was not asked for."""
    if found is None:
        return {}
    return {
        "draws": {"least": [*found.least], "block": found.block} | {key: [*found.interval(one)] for key, one in SHARES.items()}
    }


def without(plan: Plan, found: WithoutLargest) -> str:
    """What the largest tasks cost."""
    saved = plan.servers - found.servers
    change = "as many" if saved == 0 else f"{abs(saved):,} {'fewer' if saved > 0 else 'more'}"
    left_out = f"{counted(found.tasks, 'task')} above the limit, {found.work:.1%} of the work"
    return f"{plan.policy}: without the {left_out}: {counted(found.servers, 'server')}, {change}."


def without_record(found: WithoutLargest | None) -> dict[str, Any]:
    """The JSON of it; nothing where it was not asked for."""
    return {} if found is None else {"without_largest": found._asdict()}


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
