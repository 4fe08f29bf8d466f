"""The answer of `packenv.plan`, and texts that all plans share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from packenv.content.charts import Rule
from packenv.content.page import Charts, Figure, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, form, numbers
from packenv.content.text import NONE, counted, estimate, lasting, number
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.fewest_servers import Fewest
from packenv.planning.plan_charts import (
    confirmed,
    occupied,
    of_the_rest,
    runs_of_plan,
    server_figures,
    trials_table,
    work_of,
)
from packenv.planning.search import Plan, with_servers
from packenv.planning.trials import Trial
from packenv.planning.what_if import DAY, Certainty, Compared, WithoutLargest
from packenv.policy import name_of
from packenv.runs.comparison import duration_aware_policies
from packenv.runs.comparison_tables import duration_aware_sentence
from packenv.runs.statistics import Interval, interval
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.planning.plan import PlanRequest

Value = TypeVar("Value")

SURER = "more --slots or --seeds may decide it"
LEFT_OUT = ("stable with one less",)
"""Columns that narrow terminals leave out of the table of plans."""


def cell(trial: Trial | None, n: int, goal: Goal, slot_seconds: float | None) -> str:
    if trial is None:
        return NONE
    scale = goal.scale(slot_seconds)
    measure = Interval(*(None if end is None else end * scale for end in trial.estimate(n)))
    if measure.mean is None or measure.low is None or measure.high is None:
        return number(measure.mean)
    half = measure.high - measure.mean
    return estimate(measure.mean, half) if math.isclose(measure.mean - measure.low, half, rel_tol=1e-6) else str(measure)


def open_goals(goals: Sequence[Goal], trials: Sequence[tuple[str, Trial]], slot_seconds: float | None) -> str:
    """Return the goals that noise leaves open in these trials, as text.

    Such as `: the mean wait is 9.1 ± 3.4 seconds with 55`.
    """
    measures = [
        f"the {goal.title} is {cell(trial, n, goal, slot_seconds)}{goal.unit(slot_seconds)} with {servers}"
        for n, goal in enumerate(goals)
        for servers, trial in trials
        if trial.decided and trial.decided[n] is None
    ]
    return f": {', '.join(measures)}" if measures else ""


def in_the_noise(goals: Sequence[Goal], plan: Plan, slot_seconds: float | None) -> str:
    """Return a sentence on the range of the least number."""
    assert plan.between is not None
    low, high = plan.between
    trials = [(f"{trial.servers:,}", trial) for trial in (plan.below, plan.at) if trial is not None]
    return f"{plan.policy}: not decided between {low:,} and {high:,} servers{open_goals(goals, trials, slot_seconds)}; {SURER}."


def _blocks(block: int, slot_seconds: float | None) -> str:
    """Return `days`, `blocks of 5 h 20 min`, or slots if their length is unknown."""
    if slot_seconds is None:
        return f"blocks of {counted(block, 'slot')}"
    return "days" if block == round(DAY / slot_seconds) else f"blocks of {lasting(block * slot_seconds)}"


SHARES = {"interval_80": 0.8, "interval_95": 0.95}
"""Shares of the draws covered by the intervals shown, by key in JSON."""


@dataclass(frozen=True, repr=False)
class ServerPlans(Showable):
    """The servers that each policy needs, and a bound for any policy.

    Numbers are totals, including servers that exist anyway (`request.there`).
    plans        by policy, without those that meet the goals with no number of servers
    bound        no policy of `bound.scope` meets the goals with fewer than `bound.servers`. With existing servers, see
                 `more_at_least`
    refusals     why the other policies do not meet the goals
    comparisons  each policy with the largest number that one needs
    """

    request: PlanRequest
    bound: Fewest
    plans: dict[str, Plan]
    refusals: list[str] = field(default_factory=list)
    comparisons: list[Compared] = field(default_factory=list)
    draws: dict[str, Certainty] = field(default_factory=dict)
    without_largest: dict[str, WithoutLargest] = field(default_factory=dict)

    @property
    def workload(self) -> Workload:
        return self.request.workload

    @property
    def goals(self) -> list[Goal]:
        return self.request.goals

    @property
    def best(self) -> Plan:
        """Plan with the fewest servers, the first of equals."""
        return min(self.plans.values(), key=lambda plan: plan.servers)

    @property
    def servers(self) -> int:
        return self.best.servers

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each policy, as in `packenv plan --json`.

        Times are in slots, intervals [mean, low, high].
        """
        return [self._record(plan) for plan in self.plans.values()]

    def _record(self, plan: Plan) -> dict[str, Any]:
        record = {
            **self.workload.record,
            "server": self.workload.servers.capacity[self.request.there].tolist(),
            "policy": plan.policy,
            "servers": plan.servers,
            **self._bound(plan),
            "bound_of": f"every {self.bound.scope}",
            "slot_seconds": self.workload.shown_slot,
            "confirmed": plan.fresh,
            "between": None if plan.between is None else [*plan.between],
            "goals": [
                {
                    "goal": goal.text,
                    "limit": goal.limit,
                    "value": [*plan.at.estimate(n)],
                    "one_less": None if plan.below is None else [*plan.below.estimate(n)],
                }
                for n, goal in enumerate(self.goals)
            ],
            "stable_with_one_less": None if plan.below is None else plan.below.stable,
            "tried": [
                {
                    "servers": trial.servers,
                    "values": [trial.value(n) for n in range(len(self.goals))],
                    "stable": trial.stable if self.workload.jobs is None else None,
                    "meets": trial.meets,
                }
                for trial in plan.trials
            ],
        }
        if (comparison := next((pair for pair in self.comparisons if pair.policy == plan.policy), None)) is not None:
            trial, less = comparison.trial, comparison.less_first
            measures = [
                {"goal": goal.text, "value": [*trial.estimate(k)], "difference": [*interval(less[k])]}
                for k, goal in enumerate(self.goals)
            ]
            record["common"] = {
                "servers": comparison.servers,
                "less": self.comparisons[0].policy,
                "goals": measures,
                "stable": trial.stable,
                "meets": trial.meets,
            }
        if plan.policy in self.draws:
            draws = self.draws[plan.policy]
            ranges = {key: [*draws.interval(share)] for key, share in SHARES.items()}
            record["draws"] = {"least": [*draws.least], "block": draws.block, **ranges}
        if plan.policy in self.without_largest:
            record["without_largest"] = self.without_largest[plan.policy]._asdict()
        return record

    @property
    def more_at_least(self) -> int | None:
        """Number of servers that no policy of `bound.scope` can do without.

        It is in addition to existing ones. None if none is proved to be needed, or no such number is planned.
        """
        more = self.bound.servers - self.request.there
        return more if self.request.there and more > 0 else None

    def _bound(self, plan: Plan) -> dict[str, int | None]:
        """Return the bound, or the existing, added and least added servers."""
        if there := self.request.there:
            return {"there": there, "added": plan.servers - there, "added_bound": self.more_at_least}
        return {"bound": self.bound.servers}

    def tables(self) -> list[Table]:
        """Return the plans, and the policies at the common number."""
        return [self._table_of_plans(), *([self._table_of_comparisons()] if self.comparisons else [])]

    def _table_of_plans(self) -> Table:
        """Return the servers of each policy, and each goal's measure.

        Measures are with that number and with one less.
        """
        timed = f"; times in {self._unit}" if self.goals else ""
        known = bool(self._least)
        least = f", at least {self.bound.servers:,} for any {self.bound.scope}" if known else ""
        title = f"{self.workload.label}: servers{least}{timed}"
        if there := self.request.there:
            least = f"; at least {self.more_at_least:+,} for any {self.bound.scope}" if known else ""
            title = f"{self.workload.label}: servers of capacity {self.request.kind} to add to {there:,}{least}{timed}"
        heads = [heading for goal in self.goals for heading in (goal.title, "with one less")]
        heads += ["stable with one less"] if self.workload.jobs is None else []
        more = numbers("more") if there else []
        table = Table(title, [Column("policy"), *more, *numbers("servers", *heads)], spare=LEFT_OUT)
        for plan in self.plans.values():
            added = [f"{plan.servers - there:+,}"] if there else []
            cells = [self._cell(trial, n) for n in range(len(self.goals)) for trial in (plan.at, plan.below)]
            stable = NONE if plan.below is None else "yes" if plan.below.stable else "no"
            table.add(plan.policy, *added, f"{plan.servers:,}", *cells, *([stable] if self.workload.jobs is None else []))
        return table

    def _table_of_comparisons(self) -> Table:
        """Return each policy's measures at the common number.

        Also the difference from the first policy, with a 95 % interval over the seeds.
        """
        first = self.comparisons[0]
        title = f"{self.workload.label}: all policies with {counted(first.servers, 'server')}; times in {self._unit}"
        heads = [heading for goal in self.goals for heading in (goal.title, f"less {first.policy}'s")]
        table = Table(title, [Column("policy"), *numbers(*heads)], spare=LEFT_OUT)
        for comparison in self.comparisons:
            cells = []
            for k, goal in enumerate(self.goals):
                scale = goal.scale(self.request.shown_slot)
                less = interval(None if by is None else by * scale for by in comparison.less_first[k])
                cells += [self._cell(comparison.trial, k), NONE if comparison is first else str(less)]
            table.add(comparison.policy, *cells)
        return table

    @property
    def _unit(self) -> str:
        return "slots" if self.request.shown_slot is None else "seconds"

    def _cell(self, trial: Trial | None, n: int) -> str:
        return cell(trial, n, self.goals[n], self.request.shown_slot)

    @property
    def sentences(self) -> list[str]:
        """The answer, open goals, and additional answers."""
        plans, slot_seconds = [*self.plans.values()], self.request.shown_slot
        lines = [self._answer, *(in_the_noise(self.goals, plan, slot_seconds) for plan in plans if plan.between is not None)]
        for plan in plans:
            if not self.goals and not plan.at.settled:  # stable as far as the runs show
                growing = f"with {counted(plan.servers, 'server')} the queue may still grow in longer runs"
                lines.append(f"{plan.policy}: {growing}; more --slots may decide it.")
        # Answers without the largest tasks, then those of other draws.
        for policy, smaller in self._in_order(self.without_largest):
            saved = self.plans[policy].servers - smaller.servers
            change = "as many" if saved == 0 else f"{abs(saved):,} {'fewer' if saved > 0 else 'more'}"
            left_out = f"{counted(smaller.tasks, 'task')} above the limit, {smaller.work:.1%} of the work"
            lines.append(f"{policy}: without the {left_out}: {counted(smaller.servers, 'server')}, {change}.")
        for policy, draws in self._in_order(self.draws):
            of = "seeds" if draws.block is None else f"draws of the trace's {_blocks(draws.block, self.request.shown_slot)}"
            intervals = [(share, *draws.interval(share)) for share in SHARES.values()]
            ranges = [f"{share:.0%} from {low:,} to {high:,}" for share, low, high in intervals]
            lines.append(f"{policy}: of {len(draws.least):,} {of}, {', '.join(ranges)} servers.")
        # Policies that know durations.
        named = {policy if isinstance(policy, str) else name_of(policy): policy for policy in self.request.policies}
        jobs = self.workload.jobs
        planned = {name: policy for name, policy in named.items() if name in self.plans}
        aware = duration_aware_policies(self.workload, planned)
        return (
            [*lines, duration_aware_sentence(aware, jobs is not None and jobs.estimate is not None).strip()] if aware else lines
        )

    @property
    def _answer(self) -> str:
        """The plan in a sentence or two."""
        what = " and ".join(goal.text for goal in self.goals) or "a stable queue"
        fewest = [plan.policy for plan in self.plans.values() if plan.servers == self.servers]
        policies, there = " or ".join(fewest), self.request.there
        if self.workload.much_left_out:
            return f"{of_the_rest(self.workload)}{self._many(self.servers)} with {policies} for {what}."
        if there and self.servers == there:
            return f"The {counted(there, 'server')} as they are will do with {policies} for {what}."
        if there:
            more = self.more_at_least
            sentence = f"{self._many(self.servers)} with {policies} for {what}"
            if more is None:
                return f"{sentence}; it is not proved that every policy needs more."
            if self.servers == self.bound.servers:
                return f"{sentence}; no {self.bound.scope} needs fewer."
            return f"{sentence}; any {self.bound.scope} needs {more:,} more at least."
        sentence = f"{counted(self.servers, 'server')} with {policies} for {what}"
        if self.servers == self.bound.servers:
            return f"{sentence}; no {self.bound.scope} needs fewer."
        saved = f"which would be {1 - self.bound.servers / self.servers:.0%} fewer servers"
        return f"{sentence}; no {self.bound.scope} can do with fewer than {self.bound.servers:,}, {saved}."

    @property
    def _least(self) -> str:
        """The bound in words.

        Empty if no more is proved, or much of a trace is left out.
        """
        if self.workload.much_left_out:
            return ""
        if self.request.there:
            return f"{self.more_at_least:,} more" if self.more_at_least else ""
        return counted(self.bound.servers, "server")

    def _many(self, servers: int) -> str:
        """Return a number of servers, and how many are added to existing ones."""
        there = self.request.there
        return (
            f"{counted(servers - there, 'more server')} of capacity {self.request.kind}, {servers:,} in all,"
            if there
            else counted(servers, "server")
        )

    def _in_order(self, values: Mapping[str, Value]) -> list[tuple[str, Value]]:
        """Return the values by policy, in the order of the plans."""
        return [(policy, values[policy]) for policy in self.plans if policy in values]

    def footnotes(self) -> list[str]:
        """Return the answer in a few sentences, and refusals."""
        return [*self.sentences, *self.refusals]

    def charts(self) -> Charts:
        """Return charts of each goal's measure against the number of servers.

        Without a goal they show which numbers are stable.
        """
        return Charts(f"{self.workload.label}: how many servers", self._figures())

    def _figures(self) -> list[Figure]:
        least = self._least if self.request.there or not self._least else f"{self.bound.servers:,}"
        rules = [Rule(self.bound.servers, f"any {self.bound.scope}: {least} at least")] if least else []
        return server_figures([*self.plans.values()], self.goals, rules, self.request.shown_slot)

    def page(self) -> Page:
        """Return the report: each number of servers, fullness, all trials."""
        request, workload, bound, plans = self.request, self.workload, self.bound, [*self.plans.values()]
        trials = [trials_table(plan, self.goals, request.shown_slot, workload.jobs is None) for plan in plans]
        chosen = with_servers(workload, self.servers, request.there)
        title = f"With {counted(self.servers, 'server')} and {self.best.policy}"
        sections = [
            Section("What each number of servers gives", self._figures(), tables=self.tables()),
            *occupied(title, chosen, self.best.policy),
            Section("All that was tried", notes=[confirmed(plans)], tables=trials),
        ]
        facts = [
            ("Work", work_of(workload)),
            ("Goals", "; ".join(goal.text for goal in self.goals) or "a stable queue"),
            *([("Servers that are there", f"{request.there:,}")] if request.there else []),
            ("One more" if request.there else "A server", request.kind),
            ("Policies", ", ".join(self.plans)),
            ("Runs with each number", runs_of_plan(workload, request.seeds, request.slots)),
            *([(f"No {bound.scope} needs fewer than", self._least)] if self._least else []),
        ]
        first, *rest = self.sentences
        notes = [*rest, *self.refusals, *workload.bound_caveats]
        return Page(f"How many servers for {workload.label}", first, facts, sections, notes, [workload])

    def to_frame(self, library: str = "arrow") -> Any:
        """Return a row for each policy, as an Arrow table or a frame.

        `library`: "arrow", "pandas" or "polars". Columns: servers, and each goal's measure with these and with one less. Times
        are in slots.
        """
        rows = []
        for policy, plan in self.plans.items():
            low, high = plan.between or (plan.servers, plan.servers)
            row: dict[str, Any] = {
                "policy": policy,
                "servers": plan.servers,
                "at_least": low,
                "at_most": high,
                **self._bound(plan),
            }
            for n, goal in enumerate(self.goals):
                mean, less = plan.at.estimate(n), None if plan.below is None else plan.below.estimate(n)
                ends = {f"{goal.title} low": mean.low, f"{goal.title} high": mean.high}
                row |= {goal.title: mean.mean, **ends, f"{goal.title} with one less": None if less is None else less.mean}
            rows.append(row | {"stable with one less": None if plan.below is None else plan.below.stable})
        return form("frame_of_rows")(rows, library)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. `plans` are as in `packenv plan --json`."""
        return {
            **self.workload.record,
            "goals": [goal.text for goal in self.goals],
            "servers": self.servers,
            **self._bound(self.best),
            "bound_of": f"every {self.bound.scope}",
            "plans": self.records,
            "refusals": self.refusals,
        }

    @property
    def title(self) -> str:
        return f"Servers for {self.workload.label}: {' and '.join(goal.text for goal in self.goals) or 'a stable queue'}"

    def facts(self) -> list[tuple[str, str]]:
        """Return servers and measures of each policy, and the bound."""
        facts = []
        for policy, plan in self.plans.items():
            units = [goal.unit(self.request.shown_slot) for goal in self.goals]
            cells = [self._cell(plan.at, n) for n in range(len(self.goals))]
            texts = [NONE if text == NONE else f"{text}{unit}" for text, unit in zip(cells, units, strict=True)]
            measures = [f"{goal.title} {text}" for goal, text in zip(self.goals, texts, strict=True)]
            facts.append((policy, ", ".join([counted(plan.servers, "server"), *measures])))
        return [*facts, *([(f"any {self.bound.scope}", f"at least {self._least}")] if self._least else [])]
