"""`packenv.plan`: the least number of equal servers with which each of several policies meets goals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.planning import plan_tables
from packenv.planning.goals import Goal
from packenv.planning.lower_bounds.fewest_servers import Fewest, fewest_for
from packenv.planning.plan import GAP, SECONDS, SEEDS, PlanLog, asking, run_kind, run_length, wanted_goals
from packenv.planning.search import NoneMeets, Plan, Search
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
from packenv.policy import find_policy, name_of
from packenv.runs.comparison import DEFAULT_POLICIES
from packenv.runs.progress import progress_lines
from packenv.runs.runner import RunOptions
from packenv.runs.text import counted
from packenv.workloads.find import is_trace_source
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.report.pictures import Picture
    from packenv.report.tables import Table, Tables

Outcome = TypeVar("Outcome")
Say = Callable[[str], None]


@dataclass(frozen=True)
class PlanRequest:
    """What is to be planned."""

    workload: Workload
    goals: list[Goal]
    policies: Sequence[Any]  # names, or objects
    seeds: int
    slots: int | None
    draws: int = 0  # of other days, or seeds, for which the number is looked for
    most_demand: float | None = None  # of the tasks without which the number is looked for too, larger ones

    @property
    def shown_slot(self) -> float | None:
        """Seconds of a slot, in which times are shown."""
        return self.workload.shown_slot

    def search(self, policy: Any) -> Search:
        return Search(self.workload, policy, self.goals, self.seeds, self.slots, run_kind(self.workload))

    def log(self, path: str | Path | None) -> PlanLog | None:
        return None if path is None else PlanLog(path, self.goals)

    def bound(self) -> Fewest:
        """With fewer servers none of the policies meets the goals, whatever it does."""
        return fewest_for(self.workload, self.goals, self.policies, GAP, SECONDS)

    def run(self, bound: Fewest, options: RunOptions, log: PlanLog | None) -> ServerPlans:
        """The plan of each policy, from `bound` on; `ServerPlans.plans` is empty if no policy meets the goals."""
        searches = {search.name: search for search in map(self.search, self.policies)}
        draws: dict[str, Certainty] = {}
        smaller: dict[str, WithoutLargest] = {}

        def plan_of(policy: str, ask: AskRuns, say: Say) -> Plan:
            search = searches[policy]
            least = search.run(bound.servers, ask, lambda servers: say(f"{servers:,} servers"))
            if self.draws:
                draws[policy] = certainty(search, least.servers, self.draws, ask, lambda draw: say(f"draw {draw + 1:,}"))
            if self.most_demand is not None:
                say("without the largest tasks")
                smaller[policy] = without_largest(search, least.servers, self.most_demand, ask)
            return least

        found, refused = plan_all([*searches], plan_of, options, log)
        plans = {plan.policy: plan for plan in found}
        comparisons = self._at_common_number(searches, plans, options, log)
        return ServerPlans(self, bound, plans, [*map(str, refused)], comparisons, draws, smaller)

    def _at_common_number(
        self, searches: Mapping[str, Search], plans: Mapping[str, Plan], options: RunOptions, log: PlanLog | None
    ) -> list[Compared]:
        """Each policy with as many servers as the one that needs most; nothing for a single policy, or without goals."""
        if len(plans) < 2 or not self.goals:
            return []
        servers = common_number([*plans.values()])

        def trial_of(policy: str, ask: AskRuns, say: Say) -> tuple[str, Trial]:
            say(f"{counted(servers, 'server')}, to compare")
            return policy, trial_at(searches[policy], plans[policy], servers, ask)

        smaller = [policy for policy, plan in plans.items() if plan.servers < servers]
        trials = dict(plan_all(smaller, trial_of, options, log)[0]) if smaller else {}
        return compared([*plans], [trials.get(policy, plan.at) for policy, plan in plans.items()])


def plan_request(
    workload: Workload,
    goals: Sequence[str],
    policies: Sequence[Any],
    seeds: int = SEEDS,
    slots: int | None = None,
    draws: int = 0,
    max_demand: float | None = None,
    *,
    mixed: bool = False,
) -> PlanRequest:
    """What `plan` runs; the arguments are its own. `mixed`: servers of several kinds are meant to be there. Raises InputError."""
    parsed_goals, length = wanted_goals(workload, goals, mixed=mixed), run_length(workload, slots)
    if max_demand is not None and workload.jobs is None:
        raise ArgumentError("`max_demand` is for traces: the laws of a workload say what tasks there are")
    return PlanRequest(workload, parsed_goals, policies, seeds, length, draws, max_demand)


def plan_all(
    policies: Sequence[str], plan: Callable[[str, AskRuns, Say], Outcome], options: RunOptions, log: PlanLog | None
) -> tuple[list[Outcome], list[NoneMeets]]:
    """What `plan` finds for each policy, side by side, without those that meet the goals with no number of servers.

    plan  gets a policy's name, what makes runs, and what is to be told what is tried: progress is shown on standard error
    """
    stop = threading.Event()
    with options.runner() as runner, progress_lines() as lines:
        ask = asking(runner, log)

        def plan_policy(policy: str) -> Outcome | NoneMeets:
            line = lines.add_task(policy)

            def say(what: str) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                lines.update(line, description=f"{policy}: {what}{runner.where()}")

            try:
                return plan(policy, ask, say)
            except NoneMeets as problem:
                return problem
            finally:
                lines.remove_task(line)

        with ThreadPoolExecutor(1 if isinstance(runner.executor, ThisProcess) else len(policies)) as threads:
            try:
                outcomes = list(threads.map(plan_policy, policies))
            except BaseException:
                stop.set()
                raise
    refused = [outcome for outcome in outcomes if isinstance(outcome, NoneMeets)]
    return [outcome for outcome in outcomes if not isinstance(outcome, NoneMeets)], refused


@dataclass(frozen=True, repr=False)
class ServerPlans:
    """How many equal servers each policy needs to meet the goals, and how many any policy needs at least.

    plans        by policy; those that meet the goals with no number of servers are not among them
    bound        `bound.servers`: no policy (`bound.whom`) meets the goals with fewer
    refusals     why the other policies do not meet the goals
    comparisons  each policy with as many servers as the one that needs most
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
        """That of the policy which needs the fewest servers, the first of several."""
        return min(self.plans.values(), key=lambda plan: plan.servers)

    @property
    def servers(self) -> int:
        """The least number of all policies."""
        return self.best.servers

    @property
    def records(self) -> list[dict[str, Any]]:
        """A record for each policy, as of `packenv plan --json`; times are in slots, intervals [mean, low, high]."""
        return [
            plan_tables.plan_record(self.workload, self.goals, plan, self.bound)
            | plan_tables.common_record(self.goals, self.comparisons, policy)
            | plan_tables.certainty_record(self.draws.get(policy))
            | plan_tables.without_record(self.without_largest.get(policy))
            for policy, plan in self.plans.items()
        ]

    @property
    def tables(self) -> list[Table]:
        """The plans, and the policies at the common number."""
        goals, slot = self.goals, self.request.shown_slot
        plans = plan_tables.plan_table(self.workload, goals, [*self.plans.values()], self.bound, slot)
        return [plans, *([plan_tables.common_table(self.workload, goals, self.comparisons, slot)] if self.comparisons else [])]

    @property
    def sentences(self) -> list[str]:
        """The answer, then what noise leaves open, and what was asked beside it."""
        goals, plans = self.goals, [*self.plans.values()]
        lines = [plan_tables.plan_answer(goals, plans, self.bound)]
        lines += [plan_tables.in_the_noise(goals, plan, self.request.shown_slot) for plan in plans if plan.between is not None]
        lines += [plan_tables.unsettled(plan) for plan in plans if not goals and not plan.at.settled]
        lines += [plan_tables.without(self.plans[policy], others) for policy, others in self._in_order(self.without_largest)]
        return lines + [plan_tables.certain(policy, draws) for policy, draws in self._in_order(self.draws)]

    def _in_order(self, values: Mapping[str, Outcome]) -> list[tuple[str, Outcome]]:
        """By policy, in the order of the plans; side by side they end in any."""
        return [(policy, values[policy]) for policy in self.plans if policy in values]

    def table(self) -> Tables:
        """What `packenv plan` prints: the plans, the policies at the common number, and the answer in a few sentences."""
        from packenv.report.tables import Tables

        return Tables(self.tables, [*self.sentences, *self.refusals])

    def plot(self) -> Picture:
        """A figure of matplotlib: each goal's measure against the number of servers."""
        from packenv.planning.plan_page import plan_chart

        return plan_chart(self)

    def to_frame(self, library: str = "arrow") -> Any:
        """A row for each policy, as an Arrow table or a frame of "pandas" or "polars": its servers, and each goal's measure with
        these and with one less; times are in slots.
        """
        from packenv.report.frames import frame_of

        rows = []
        for policy, plan in self.plans.items():
            low, high = plan.between or (plan.servers, plan.servers)
            row = {"policy": policy, "servers": plan.servers, "at_least": low, "at_most": high, "bound": self.bound.servers}
            for n, goal in enumerate(self.goals):
                mean, less = plan.at.estimate(n), None if plan.below is None else plan.below.estimate(n)
                ends = {f"{goal.title} low": mean.low, f"{goal.title} high": mean.high}
                row |= {goal.title: mean.mean, **ends, f"{goal.title} with one less": None if less is None else less.mean}
            rows.append(row | {"stable with one less": None if plan.below is None else plan.below.stable})
        return frame_of({name: [row[name] for row in rows] for name in rows[0]}, library)

    def to_dict(self) -> dict[str, Any]:
        """All in plain values, ready for JSON: `plans` as of `packenv plan --json`."""
        return {
            "workload": self.workload.name,
            "goals": [goal.text for goal in self.goals],
            "servers": self.servers,
            "bound": self.bound.servers,
            "bound_of": f"every {self.bound.whom}",
            "plans": self.records,
            "refusals": self.refusals,
        }

    @property
    def _title(self) -> str:
        return f"Servers for {self.workload.name}: {' and '.join(goal.text for goal in self.goals) or 'a stable queue'}"

    def __repr__(self) -> str:
        from packenv.report.frames import facts_text

        facts = [
            (policy, plan_tables.plan_fact(self.goals, plan, self.request.shown_slot)) for policy, plan in self.plans.items()
        ]
        return facts_text(self._title, [*facts, (f"any {self.bound.whom}", f"at least {counted(self.bound.servers, 'server')}")])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self._title)}</p>{self.table()._repr_html_()}"


def plan(
    workload: Any,
    *goals: str,
    policies: Iterable[Any] = DEFAULT_POLICIES,
    seeds: int = SEEDS,
    slots: int | None = None,
    draws: int = 0,
    max_demand: float | None = None,
    log: str | Path | None = None,
    executor: Executor | None = None,
    **changes: Any,
) -> ServerPlans:
    """The least number of equal servers with which each policy meets all goals, and a bound that no policy can beat.

    workload    a Workload, or what `packenv.workload` takes: a name, a file, a trace, a table. Its arguments, such as `rate` or
                `slot_seconds`, go along here; `servers` says of which kind they are, by default of a trace those of capacity 1
    goals       such as "p95 wait <= 60s", "mean queue <= 10", "utilisation >= 70%" (packenv.planning.goals); a stream must also
                be stable, and may have no goal
    policies    names ("vqs:J=4") or objects
    seeds       runs with each number of servers; as many others confirm the answer
    slots       of each run of a stream, by default 200,000; a table is run to its end
    draws       the number is also looked for with so many other draws of a trace's days, or other seeds: `ServerPlans.draws`
    max_demand  it is also looked for without a trace's tasks that need more than this: `ServerPlans.without_largest`
    log         a file in which each finished run is kept; a second call makes only the runs that it lacks
    executor    where the runs are made, as of `packenv.simulate_many`: None is this process

    `ServerPlans.plans` are as of `packenv.plan_servers`, which plans for one policy. Raises InputError for goals that cannot be
    read or that no policy meets with any number of servers, servers of several kinds, and data that lie on servers.
    """
    from packenv.api import at_a_rate

    chosen = [*policies]
    names = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    if len(set(names)) < len(names):
        raise InputError(f"two policies have the same name: {', '.join(names)}")
    if not names:
        raise ArgumentError("`policies` names none")
    for policy in chosen:
        find_policy(policy) if isinstance(policy, str) else None
    if seeds < 1 or draws < 0:
        raise ArgumentError(f"`seeds` is at least 1 and `draws` at least 0, not {seeds} and {draws}")
    if is_trace_source(workload) and changes.get("servers") is None:
        changes["servers"] = "1"
    request = plan_request(at_a_rate(workload, **changes), goals, chosen, seeds, slots, draws, max_demand)
    runs = request.log(log)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as options:
        answer = request.run(request.bound(), options, runs)
    if not answer.plans:
        raise NoneMeets("; ".join(answer.refusals))
    return answer
