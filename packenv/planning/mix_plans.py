"""`MixPlans`: the cheapest mix of machines of each policy, as output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packenv.content.page import Charts, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, numbers
from packenv.planning.goals import Goal
from packenv.planning.kinds import Kinds, money, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan, MixTrial
from packenv.planning.plan import PlanRequest
from packenv.planning.plan_charts import mix_figures, occupied, of_the_rest, work_of
from packenv.planning.server_plans import SURER, cell, open_goals
from packenv.workloads.workload import Workload


@dataclass(frozen=True, repr=False)
class MixPlans(Showable):
    """The mix of each policy, and why others do not meet the goals."""

    request: PlanRequest
    kinds: Kinds
    bound: CostBound
    plans: list[MixPlan]
    refusals: list[str]

    @property
    def title(self) -> str:
        return f"{self.request.workload.label}: which machines"

    def tables(self) -> list[Table]:
        request = self.request
        return [mix_table(request.workload, request.goals, self.kinds, self.plans, request.shown_slot)]

    def footnotes(self) -> list[str]:
        """Return the answer, and goals that noise leaves open."""
        goals, kinds = self.request.goals, self.kinds
        noise = [line for plan in self.plans if (line := mix_in_the_noise(goals, kinds, plan, self.request.shown_slot))]
        return [mix_answer(self.request.workload, goals, kinds, self.plans, self.bound), *noise]

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each policy. Times are in slots."""
        request = self.request
        return [mix_record(request.workload, request.goals, self.kinds, plan, self.bound) for plan in self.plans]

    def charts(self) -> Charts:
        """Return charts of each goal's measure against the cost of the mixes.

        Without goals they show whether the queue is stable.
        """
        request = self.request
        return Charts(self.title, mix_figures(self.plans, request.goals, self.bound, request.shown_slot))

    def page(self) -> Page:
        """Return the report: mixes, costs, one machine less, fullness."""
        workload, goals, kinds = self.request.workload, self.request.goals, self.kinds
        facts = [
            ("Work", work_of(workload)),
            ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
            ("Machines", "; ".join(f"{text} at {money(cost)}" for text, cost in zip(kinds.texts, kinds.cost, strict=True))),
            ("Policies", ", ".join(plan.policy for plan in self.plans)),
            *([] if workload.much_left_out else [("No mix costs less than", money(self.bound.whole))]),
        ]
        best = min(self.plans, key=lambda plan: plan.at.cost)
        where = f"With {kinds.as_servers(best.at.counts)} and {best.policy}"
        sections = [
            Section("The cheapest machines that were found", self.charts().figures, tables=self.tables()),
            *occupied(where, with_mix(workload, best.at.counts), best.policy),
        ]
        answer, title = self.footnotes()[0], f"Which machines for {workload.label}"
        return Page(title, answer, facts, sections, [*self.refusals, *workload.bound_caveats], [workload])


def mix_table(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plans: Sequence[MixPlan], seconds: float | None) -> Table:
    """Return a table with each policy's mix and one machine less of each kind.

    Columns: cost and the measure of each goal.
    """
    unit = "slots" if seconds is None else "seconds"
    title = f"{workload.label}: the cheapest machines that were found" + (f"; times in {unit}" if goals else "")
    stable = [Column("stable")] if workload.jobs is None else []
    heads = numbers("cost", *(goal.title for goal in goals))
    table = Table(title, [Column("policy"), Column("machines"), *heads, *stable])
    for plan in plans:
        table.add(plan.policy, kinds.as_servers(plan.at.counts), *_cells(plan.at, goals, workload, seconds))
        for text, less in zip(kinds.texts, plan.dropped, strict=True):
            if less is not None:
                table.add("", f"one {text} less", *_cells(less, goals, workload, seconds))
    return table


def _cells(mix: MixTrial, goals: Sequence[Goal], workload: Workload, seconds: float | None) -> list[str]:
    stable = [] if workload.jobs is not None else ["yes" if mix.trial.stable else "no"]
    return [money(mix.cost), *(cell(mix.trial, n, goal, seconds) for n, goal in enumerate(goals)), *stable]


def mix_answer(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plans: Sequence[MixPlan], bound: CostBound) -> str:
    """Return the plan in a sentence or two."""
    best = min(plans, key=lambda plan: plan.at.cost)
    what = " and ".join(goal.text for goal in goals) or "a stable queue"
    sentence = f"{kinds.as_servers(best.at.counts)} for {money(best.at.cost)} with {best.policy} for {what}"
    if workload.much_left_out:
        return f"{of_the_rest(workload)}{sentence}."
    if best.at.cost == bound.whole:
        return f"{sentence}; no mix costs less under any policy."
    above = float(best.at.cost / bound.whole - 1)
    return f"{sentence}, {above:.1%} above {money(bound.whole)}: no mix costs less than that under any policy."


def mix_in_the_noise(goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, seconds: float | None) -> str:
    """Return a sentence about mixes that noise leaves open.

    These are the answer and the mixes with one machine less. Empty if none is open.
    """
    mixes = [mix for mix in (plan.at, *plan.dropped) if mix is not None and mix.trial.stable and False not in mix.trial.decided]
    left_open = open_goals(goals, [(kinds.as_servers(mix.counts), mix.trial) for mix in mixes], seconds)
    return f"{plan.policy}: not decided{left_open}; {SURER}." if left_open else ""


def mix_record(workload: Workload, goals: Sequence[Goal], kinds: Kinds, plan: MixPlan, bound: CostBound) -> dict[str, Any]:
    """Return one policy's plan for JSON. Times are in slots."""

    def record(mix: MixTrial) -> dict[str, Any]:
        values = [mix.trial.value(n) for n in range(len(goals))]
        return _mix(kinds, mix) | {"values": values, "stable": mix.trial.stable, "meets": mix.trial.meets}

    return {
        **workload.record,
        "policy": plan.policy,
        "types": [{"server": text, "cost": float(cost)} for text, cost in zip(kinds.texts, kinds.cost, strict=True)],
        **_mix(kinds, plan.at),
        "bound": float(bound.value),
        "bound_whole": float(bound.whole),
        "slot_seconds": workload.shown_slot,
        "confirmed": plan.fresh,
        "thorough": plan.thorough,
        "goals": [
            {"goal": goal.text, "limit": goal.limit, "value": [*plan.at.trial.estimate(n)]} for n, goal in enumerate(goals)
        ],
        "one_less": [None if less is None else record(less) for less in plan.dropped],
        "tried": [record(mix) for mix in plan.trials],
    }


def _mix(kinds: Kinds, mix: MixTrial) -> dict[str, Any]:
    return {"machines": [*mix.counts], "servers": kinds.as_servers(mix.counts), "cost": float(mix.cost)}
