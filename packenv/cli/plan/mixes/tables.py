"""What `packenv plan --types` shows: a table, a sentence, and the records of `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from packenv.cli.plan.servers.tables import SURER, cell, seen_in
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan, MixTrial
from packenv.report.tables import Column, Table, numbers
from packenv.workloads.workload import Workload


def money(cost: Fraction) -> str:
    """A cost with as many digits as it has, up to four after the point."""
    return f"{float(cost):,.4f}".rstrip("0").rstrip(".")


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


def _cells(one: MixTrial, goals: Sequence[Goal], workload: Workload, seconds: float | None) -> list[str]:
    stable = [] if workload.jobs is not None else ["yes" if one.trial.stable else "no"]
    return [money(one.cost), *(cell(one.trial, n, goal, seconds) for n, goal in enumerate(goals)), *stable]


def mix_answer(goals: Sequence[Goal], kinds: Kinds, plans: Sequence[MixPlan], bound: CostBound) -> str:
    """The plan in a sentence or two."""
    best = min(plans, key=lambda plan: plan.at.cost)
    what = " and ".join(goal.text for goal in goals) or "a stable queue"
    said = f"{kinds.shown(best.at.counts)} for {money(best.at.cost)} with {best.policy} for {what}"
    if best.at.cost == bound.whole:
        return f"{said}; no mix costs less under any policy."
    above = float(best.at.cost / bound.whole - 1)
    return f"{said}, {above:.1%} above {money(bound.whole)}: no mix costs less than that under any policy."


def mix_in_the_noise(goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, seconds: float | None) -> str:
    """Of which mixes, the answer and those of one machine less, noise leaves open if they will do; empty for none."""
    mixes = [one for one in (plan.at, *plan.dropped) if one is not None and one.trial.stable and False not in one.trial.decided]
    left_open = seen_in(goals, [(kinds.shown(one.counts), one.trial) for one in mixes], seconds)
    return f"{plan.policy}: not decided{left_open}; {SURER}." if left_open else ""


def mix_record(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, bound: CostBound) -> dict[str, Any]:
    """The JSON of one policy's plan; times are in slots."""

    def tried(one: MixTrial) -> dict[str, Any]:
        values = [one.trial.value(n) for n in range(len(goals))]
        return _mix(kinds, one) | {"values": values, "stable": one.trial.stable, "meets": one.trial.meets}

    return {
        "workload": workload.name,
        "policy": plan.policy,
        "types": [{"server": text, "cost": float(one)} for text, one in zip(kinds.texts, kinds.cost, strict=True)],
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
        "tried": [tried(one) for one in plan.tried],
    }


def _mix(kinds: Kinds, one: MixTrial) -> dict[str, Any]:
    return {"machines": [*one.counts], "servers": kinds.shown(one.counts), "cost": float(one.cost)}
