"""`ServerPlans`: the servers that each policy needs, as output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from packenv.content.charts import Guide
from packenv.content.page import Charts, Page, Section
from packenv.content.showable import Showable
from packenv.content.tables import Column, Table, form, numbers
from packenv.content.text import NONE, counted, lasting, number, sentences
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.fewest_servers import Fewest
from packenv.planning.plan_charts import Curve, goal_figures, occupied, work_of
from packenv.planning.request import PlanRequest
from packenv.planning.search import Plan, with_servers
from packenv.planning.what_if import DAY, Certainty, Compared, WithoutLargest
from packenv.policy import name_of
from packenv.runs.comparison import duration_aware_policies
from packenv.runs.comparison_tables import duration_aware_sentence
from packenv.runs.statistics import interval
from packenv.workloads.workload import Workload

SURER = "More --slots or --seeds may decide it."
LEFT_OUT = {"left_out": "{left_out}: no goal is met for the tasks that are left out. For the other tasks:"}
"""First sentence of an answer on a trace that misses much of its work."""

ANSWER = (
    LEFT_OUT,
    {
        "more": "{more} of capacity {kind} ({servers} in all) {are} enough with {policies} for {goals}.",
        "there": "The {there} that exist {are} enough with {policies} for {goals}.",
        "": "{servers} {are} enough with {policies} for {goals}.",
    },
    {
        "left_out": "",
        "tight": "No {scope} needs fewer.",
        "more least": "Any {scope} needs at least {least}.",
        "more": "It is not proved that every policy needs more.",
        "there": "",
        "": "Any {scope} needs at least {least}, {saved:.0%} fewer.",
    },
)
OF_POLICY = (
    {
        "open": "{policy}: not decided between {low:,} and {high:,} servers: {open}. " + SURER,
        "between": "{policy}: not decided between {low:,} and {high:,} servers. " + SURER,
        "unsettled": "{policy}: with {servers} the queue may still grow in longer runs. More --slots may decide it.",
    },
)
WITHOUT_LARGEST = (
    {"": "{policy}: {servers} without the {tasks} above the limit, {change}."},
    {"": "These tasks are {work:.1%} of the work."},
)
DRAWS = ({"": "{policy}: of {count:,} {draws}, 80% need {low:,} to {high:,} servers, and 95% need {lowest:,} to {highest:,}."},)
SHARES = {"interval_80": 0.8, "interval_95": 0.95}
"""Shares of the draws covered by the intervals shown, by key in JSON."""

SPARE = ("stable with one less",)
"""Columns that narrow terminals leave out of the table of plans."""


def in_the_noise(request: PlanRequest, plan: Plan) -> str:
    """Return a sentence on the range of the least number, or on a queue that may grow."""
    low, high = plan.between or (0, 0)
    trials = [(f"{trial.servers:,}", trial) for trial in (plan.below, plan.at) if trial is not None]
    left_open = request.left_open(trials) if plan.between else ""
    facts = {"policy": plan.policy, "between": plan.between, "low": low, "high": high, "open": left_open}
    unsettled = not request.goals and not plan.at.settled  # stable as far as the runs show
    return sentences(OF_POLICY, facts | {"unsettled": unsettled, "servers": counted(plan.servers, "server")})


def _draws(block: int | None, slot_seconds: float | None) -> str:
    """Return `seeds`, `draws of the trace's days`, or of blocks of another length."""
    if block is None:
        return "seeds"
    if slot_seconds is None:
        return f"draws of the trace's blocks of {counted(block, 'slot')}"
    days = block == round(DAY / slot_seconds)
    return f"draws of the trace's {'days' if days else f'blocks of {lasting(block * slot_seconds)}'}"


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
        """A record for each policy: times in slots, intervals [mean, low, high]."""
        return [self._record(plan) for plan in self.plans.values()]

    def _record(self, plan: Plan) -> dict[str, Any]:
        below, stream = plan.below, self.workload.jobs is None
        record = {
            **self.workload.record,
            "server": self.workload.servers.capacity[self.request.there].tolist(),
            "policy": plan.policy,
            "servers": plan.servers,
            **self._bound(plan),
            "bound_of": f"every {self.bound.scope}",
            "slot_seconds": self.workload.slot_seconds,
            "confirmed": plan.fresh,
            "between": None if plan.between is None else [*plan.between],
            "goals": [
                {"goal": goal.text, "limit": goal.limit, "value": [*plan.at.estimate(n)]}
                | {"one_less": None if below is None else [*below.estimate(n)]}
                for n, goal in enumerate(self.goals)
            ],
            "stable_with_one_less": None if below is None else below.stable,
            "tried": [
                {"servers": trial.servers, "values": [trial.value(n) for n in range(len(self.goals))]}
                | {"stable": trial.stable if stream else None, "meets": trial.meets}
                for trial in plan.trials
            ],
        }
        for trial, less in ((pair.trial, pair.less_first) for pair in self.comparisons if pair.policy == plan.policy):
            measures = [
                {"goal": goal.text, "value": [*trial.estimate(k)], "difference": [*interval(less[k])]}
                for k, goal in enumerate(self.goals)
            ]
            common = {"servers": trial.servers, "less": self.comparisons[0].policy, "goals": measures}
            record["common"] = common | {"stable": trial.stable, "meets": trial.meets}
        if (draws := self.draws.get(plan.policy)) is not None:
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
        """Return each policy's servers and measures, also with one server less."""
        there, stream, label = self.request.there, self.workload.jobs is None, self.workload.label
        known = bool(self._least)
        least = f", at least {self.bound.servers:,} for any {self.bound.scope}" if known else ""
        title = f"{label}: servers{least}{self.request.unit}"
        if there:
            least = f"; at least {self.more_at_least:+,} for any {self.bound.scope}" if known else ""
            title = f"{label}: servers of capacity {self.request.kind} to add to {there:,}{least}{self.request.unit}"
        heads = [heading for goal in self.goals for heading in (goal.title, "with one less")]
        heads = [*(["more"] if there else []), "servers", *heads, *(["stable with one less"] if stream else [])]
        table = Table(title, [Column("policy"), *numbers(*heads)], spare=SPARE)
        for plan in self.plans.values():
            added = [f"{plan.servers - there:+,}"] if there else []
            cells = [self.request.cell(trial, n) for n in range(len(self.goals)) for trial in (plan.at, plan.below)]
            stable = NONE if plan.below is None else "yes" if plan.below.stable else "no"
            table.add(plan.policy, *added, f"{plan.servers:,}", *cells, *([stable] if stream else []))
        return table

    def _table_of_comparisons(self) -> Table:
        """Return measures at the common number, and differences from the first."""
        first = self.comparisons[0]
        title = f"{self.workload.label}: all policies with {counted(first.trial.servers, 'server')}{self.request.unit}"
        heads = [heading for goal in self.goals for heading in (goal.title, f"minus {first.policy}'s")]
        table = Table(title, [Column("policy"), *numbers(*heads)], spare=SPARE)
        for comparison in self.comparisons:
            cells = []
            for k, goal in enumerate(self.goals):
                scale = goal.scale(self.workload.slot_seconds)
                less = interval(None if by is None else by * scale for by in comparison.less_first[k])
                cells += [self.request.cell(comparison.trial, k), NONE if comparison is first else str(less)]
            table.add(comparison.policy, *cells)
        return table

    @property
    def sentences(self) -> list[str]:
        """The answer, open goals, and additional answers."""
        lines = [self._answer, *filter(None, (in_the_noise(self.request, plan) for plan in self.plans.values()))]
        for policy, smaller in self.without_largest.items():
            saved = self.plans[policy].servers - smaller.servers
            change = "the same number" if saved == 0 else f"{abs(saved):,} {'fewer' if saved > 0 else 'more'}"
            facts: dict[str, Any] = {"policy": policy, "servers": counted(smaller.servers, "server"), "change": change}
            lines.append(sentences(WITHOUT_LARGEST, facts | {"tasks": counted(smaller.tasks, "task"), "work": smaller.work}))
        for policy, draws in self.draws.items():
            (low, high), (lowest, highest) = map(draws.interval, SHARES.values())
            facts = {"policy": policy, "count": len(draws.least), "draws": _draws(draws.block, self.workload.slot_seconds)}
            lines.append(sentences(DRAWS, facts | {"low": low, "high": high, "lowest": lowest, "highest": highest}))
        # Policies that know durations.
        named = {policy if isinstance(policy, str) else name_of(policy): policy for policy in self.request.policies}
        jobs = self.workload.jobs
        aware = duration_aware_policies(self.workload, {name: named[name] for name in self.plans})
        note = duration_aware_sentence(aware, jobs is not None and jobs.estimate is not None).strip()
        return [*lines, note] if note else lines

    @property
    def _answer(self) -> str:
        """The plan in a sentence or two."""
        there, servers = self.request.there, self.servers
        more = servers - there if there else 0
        fewest = [plan.policy for plan in self.plans.values() if plan.servers == servers]
        facts = {
            "left_out": self.workload.much_left_out and self.workload.label,
            "there": there and counted(there, "server"),
            "more": more and counted(more, "more server"),
            "kind": self.request.kind,
            "servers": f"{servers:,}" if more else counted(servers, "server"),
            "are": "is" if (more or servers) == 1 else "are",
            "policies": " or ".join(fewest),
            "goals": self.request.goals_text,
            "scope": self.bound.scope,
            "tight": servers == self.bound.servers and (not there or self.more_at_least),
            "least": self._least,
            "saved": 1 - self.bound.servers / servers,
        }
        return sentences(ANSWER, facts)

    @property
    def _least(self) -> str:
        """The bound in words, empty without one."""
        if self.workload.much_left_out:
            return ""
        if self.request.there:
            return f"{self.more_at_least:,} more" if self.more_at_least else ""
        return counted(self.bound.servers, "server")

    def footnotes(self) -> list[str]:
        """Return the answer in a few sentences, and refusals."""
        return [*self.sentences, *self.refusals]

    def charts(self) -> Charts:
        """Return charts of each goal's measure, or stability, against servers."""
        least = self._least if self.request.there or not self._least else f"{self.bound.servers:,}"
        rules = [Guide(self.bound.servers, f"any {self.bound.scope}: {least} at least")] if least else []
        curves = [
            Curve(plan.policy, f"{plan.servers:,}", [(trial.servers, trial) for trial in plan.trials], self._findings(plan))
            for plan in self.plans.values()
        ]
        return Charts(f"{self.workload.label}: how many servers", goal_figures(self.request, curves, "servers", rules))

    def _findings(self, plan: Plan) -> list[str]:
        """Return each goal's measure with the answer and with one less, or the stable number."""
        servers, findings = counted(plan.servers, "server"), []
        for n, goal in enumerate(self.goals):
            scale, unit = goal.scale(self.workload.slot_seconds), goal.unit(self.workload.slot_seconds)
            means = [trial.value(n) for trial in (plan.at, plan.below) if trial is not None]
            at, *below = [NONE if mean is None else f"{number(mean * scale)}{unit}" for mean in means]
            findings.append(f"{at} with {servers}" + "".join(f", {value} with one less" for value in below))
        return findings or [f"stable with {servers}"]

    def page(self) -> Page:
        """Return the report: each number of servers, fullness, all trials."""
        request, workload, bound, jobs = self.request, self.workload, self.bound, self.workload.jobs
        runs, notes = "one, until all work is done", "All numbers of servers saw the same tasks."
        if jobs is None:
            runs = f"{counted(request.seeds, 'seed')} of {request.slots:,} slots. New seeds confirm the answer"
        if any(plan.fresh for plan in self.plans.values()):
            notes = "These are the runs of the search. The answer comes from other seeds, which confirmed or moved it."
        sections = [
            Section("What each number of servers gives", self.charts().figures, tables=self.tables()),
            *occupied(
                f"With {counted(self.servers, 'server')} and {self.best.policy}",
                with_servers(workload, self.servers, request.there),
                self.best.policy,
            ),
            Section("All that was tried", notes=[notes], tables=[*map(self._table_of_trials, self.plans.values())]),
        ]
        facts = [
            ("Work", work_of(workload)),
            ("Goals", "; ".join(goal.text for goal in self.goals) or "a stable queue"),
            *([("Existing servers", f"{request.there:,}")] if request.there else []),
            ("One more" if request.there else "A server", request.kind),
            ("Policies", ", ".join(self.plans)),
            ("Runs with each number", runs),
            *([(f"No {bound.scope} needs fewer than", self._least)] if self._least else []),
        ]
        first, *rest = self.sentences
        caveats = [*rest, *self.refusals, *workload.bound_caveats]
        return Page(f"How many servers for {workload.label}", first, facts, sections, caveats, [workload])

    def _table_of_trials(self, plan: Plan) -> Table:
        """Return the measures of each number of servers that was tried."""
        slot, stream = self.workload.slot_seconds, self.workload.jobs is None
        heads = [f"{goal.title} ({unit.strip()})" if (unit := goal.unit(slot)) else goal.title for goal in self.goals]
        columns = [*numbers("servers", *heads), *([Column("queue")] if stream else []), Column("meets all goals")]
        table = Table(f"What the search tried with {plan.policy}", columns, folded=True)
        for trial in plan.trials:
            means = [(goal, trial.value(n)) for n, goal in enumerate(self.goals)]
            values = [number(None if mean is None else mean * goal.scale(slot)) for goal, mean in means]
            stable = ["stable" if trial.stable else "unstable"] if stream else []
            table.add(f"{trial.servers:,}", *values, *stable, "yes" if trial.meets else "no")
        return table

    def to_frame(self, library: str = "arrow") -> Any:
        """Return a row for each policy, as an Arrow table or a frame.

        `library`: "arrow", "pandas" or "polars". Columns: servers, and each goal's measure with these and with one less. Times
        are in slots.
        """
        rows = []
        for policy, plan in self.plans.items():
            low, high = plan.between or (plan.servers, plan.servers)
            row: dict[str, Any] = {"policy": policy, "servers": plan.servers, "at_least": low, "at_most": high}
            row |= self._bound(plan)
            for n, goal in enumerate(self.goals):
                mean, less = plan.at.estimate(n), None if plan.below is None else plan.below.estimate(n).mean
                row |= {goal.title: mean.mean, f"{goal.title} low": mean.low, f"{goal.title} high": mean.high}
                row[f"{goal.title} with one less"] = less
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
        return f"Servers for {self.workload.label}: {self.request.goals_text}"

    def facts(self) -> list[tuple[str, str]]:
        """Return servers and measures of each policy, and the bound."""
        facts = []
        for policy, plan in self.plans.items():
            cells = [(goal, self.request.cell(plan.at, n)) for n, goal in enumerate(self.goals)]
            units = [(goal, text, "" if text == NONE else goal.unit(self.workload.slot_seconds)) for goal, text in cells]
            measures = [f"{goal.title} {text}{unit}" for goal, text, unit in units]
            facts.append((policy, ", ".join([counted(plan.servers, "server"), *measures])))
        return [*facts, *([(f"any {self.bound.scope}", f"at least {self._least}")] if self._least else [])]
