"""`MixPlans`: the cheapest mix of machines of each policy, as output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from packenv.content.charts import Guide
from packenv.content.page import Charts, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import sentences
from packenv.planning.kinds import Kinds, money, with_mix
from packenv.planning.lower_bounds.cost_bound import CostBound
from packenv.planning.mixes import MixPlan, MixSearch, MixTrial
from packenv.planning.plan import Say, plan_all
from packenv.planning.plan_charts import Curve, goal_figures, occupied, work_of
from packenv.planning.request import PlanLog, PlanRequest
from packenv.planning.server_plans import LEFT_OUT, SURER
from packenv.planning.trials import AskRuns
from packenv.runs.runner import RunOptions

ANSWER = (
    LEFT_OUT,
    {"": "{mix} for {cost} {are} enough with {policy} for {goals}."},
    {
        "left_out": "",
        "above": "No mix costs less than {bound} under any policy. The answer costs {above:.1%} more.",
        "": "No mix costs less under any policy.",
    },
)
OPEN = ({"open": "{policy}: not decided: {open}. " + SURER},)


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
        """Return each policy's mix, and one machine less of each kind."""
        request = self.request
        stable = [Column("stable")] if request.workload.jobs is None else []
        heads = numbers("cost", *(goal.title for goal in request.goals))
        title = f"{request.workload.label}: the cheapest machines found{request.unit}"
        table = Table(title, [Column("policy"), Column("machines"), *heads, *stable])

        def add(policy: str, machines: str, mix: MixTrial) -> None:
            cells = [money(mix.cost), *(request.cell(mix.trial, n) for n in range(len(request.goals)))]
            table.add(policy, machines, *cells, *(["yes" if mix.trial.stable else "no"] if stable else []))

        for plan in self.plans:
            add(plan.policy, self.kinds.as_servers(plan.at.counts), plan.at)
            for text, less in zip(self.kinds.texts, plan.dropped, strict=True):
                if less is not None:
                    add("", f"one {text} less", less)
        return [table]

    def footnotes(self) -> list[str]:
        """Return the answer, goals that noise leaves open, and refusals."""
        return [self._answer, *filter(None, map(self._open, self.plans)), *self.refusals]

    @property
    def _answer(self) -> str:
        best, bound, workload = min(self.plans, key=lambda plan: plan.at.cost), self.bound.of_integers, self.request.workload
        facts = {
            "left_out": workload.much_left_out and workload.label,
            "mix": self.kinds.as_servers(best.at.counts),
            "cost": money(best.at.cost),
            "are": "is" if sum(best.at.counts) == 1 else "are",
            "policy": best.policy,
            "goals": self.request.goals_text,
            "bound": money(bound),
            "above": bound and float(best.at.cost / bound - 1),
        }
        return sentences(ANSWER, facts)

    def _open(self, plan: MixPlan) -> str:
        """Return a sentence on the answer and mixes with one machine less that noise leaves open."""
        mixes = [mix for mix in (plan.at, *plan.dropped) if mix is not None]
        trials = [(self.kinds.as_servers(mix.counts), mix.trial) for mix in mixes if mix.trial.stable]
        left_open = self.request.left_open([(text, trial) for text, trial in trials if False not in trial.decided])
        return sentences(OPEN, {"policy": plan.policy, "open": left_open})

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each policy. Times are in slots."""
        return [self._record(plan) for plan in self.plans]

    def _record(self, plan: MixPlan) -> dict[str, Any]:
        goals, kinds = self.request.goals, self.kinds

        def machines(mix: MixTrial) -> dict[str, Any]:
            return {"machines": [*mix.counts], "servers": kinds.as_servers(mix.counts), "cost": float(mix.cost)}

        def tried(mix: MixTrial) -> dict[str, Any]:
            values = [mix.trial.value(n) for n in range(len(goals))]
            return machines(mix) | {"values": values, "stable": mix.trial.stable, "meets": mix.trial.meets}

        return {
            **self.request.workload.record,
            "policy": plan.policy,
            "types": [{"server": text, "cost": float(cost)} for text, cost in zip(kinds.texts, kinds.cost, strict=True)],
            **machines(plan.at),
            "bound": float(self.bound.value),
            "bound_whole": float(self.bound.of_integers),
            "slot_seconds": self.request.workload.slot_seconds,
            "confirmed": plan.fresh,
            "thorough": plan.thorough,
            "goals": [
                {"goal": goal.text, "limit": goal.limit, "value": [*plan.at.trial.estimate(n)]} for n, goal in enumerate(goals)
            ],
            "one_less": [None if less is None else tried(less) for less in plan.dropped],
            "tried": [tried(mix) for mix in plan.trials],
        }

    def charts(self) -> Charts:
        """Return charts of each goal's measure, or stability, against cost."""
        rules = [Guide(float(self.bound.of_integers), f"any mix: {money(self.bound.of_integers)} at least")]
        curves = [
            Curve(
                plan.policy,
                money(plan.at.cost),
                [(float(mix.cost), mix.trial) for mix in plan.trials],
                [f"{len(plan.trials):,} mixes were run"] * max(1, len(self.request.goals)),
            )
            for plan in self.plans
        ]
        note = " The steps show the best value of mixes up to each cost." if self.request.goals else ""
        return Charts(self.title, goal_figures(self.request, curves, "cost", rules, best=True, note=note))

    def page(self) -> Page:
        """Return the report: mixes, costs, one machine less, fullness."""
        workload, goals, kinds = self.request.workload, self.request.goals, self.kinds
        facts = [
            ("Work", work_of(workload)),
            ("Goals", "; ".join(goal.text for goal in goals) or "a stable queue"),
            ("Machines", "; ".join(f"{text} at {money(cost)}" for text, cost in zip(kinds.texts, kinds.cost, strict=True))),
            ("Policies", ", ".join(plan.policy for plan in self.plans)),
            *([] if workload.much_left_out else [("No mix costs less than", money(self.bound.of_integers))]),
        ]
        best = min(self.plans, key=lambda plan: plan.at.cost)
        where = f"With {kinds.as_servers(best.at.counts)} and {best.policy}"
        sections = [
            Section("The cheapest machines found", self.charts().figures, tables=self.tables()),
            *occupied(where, with_mix(workload, best.at.counts), best.policy),
        ]
        first, *notes = self.footnotes()
        return Page(f"Which machines for {workload.label}", first, facts, sections, [*notes, *workload.bound_caveats], [workload])


def mix_plans(request: PlanRequest, kinds: Kinds, bound: CostBound, options: RunOptions, log: PlanLog | None) -> MixPlans:
    """Return the cheapest mix for each policy."""

    def plan(policy: str, ask: AskRuns, say: Say) -> MixPlan:
        return MixSearch(request.search(policy), kinds, bound, ask, say).run()

    plans, refused = plan_all(request.policies, plan, options, log)
    return MixPlans(request, kinds, bound, plans, [*map(str, refused)])
