"""The numbers of equal servers of `packenv plan`: the bound, a search for each policy, and what is shown of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from packenv.cli.plan.all_policies import Say, plan_all
from packenv.cli.plan.servers.common_number import common_record, common_table, compare_at_common
from packenv.cli.plan.servers.tables import (
    answer,
    certain,
    certainty_record,
    in_the_noise,
    plan_record,
    plan_table,
    unsettled,
    without,
    without_record,
)
from packenv.cli.tables import text_console
from packenv.planning.certainty import Certainty, certainty
from packenv.planning.demand_limit import WithoutLargest, without_largest
from packenv.planning.goals import Goal
from packenv.planning.log import PlanLog
from packenv.planning.lower_bounds.queue_servers import fewest_for
from packenv.planning.plan import GAP, SECONDS, run_kind
from packenv.planning.search import AskRuns, NoneMeets, Plan, Search
from packenv.report.page import Report
from packenv.report.tables import Table
from packenv.runs.runner import RunOptions
from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class Asked:
    """What is to be planned."""

    workload: Workload
    goals: list[Goal]
    policies: tuple[str, ...]
    seeds: int
    slots: int | None
    shown_slot: float | None  # seconds of a slot, in which times are shown
    draws: int = 0  # of other days, or seeds, for which the number is looked for
    most_demand: float | None = None  # of the tasks without which the number is looked for too, larger ones

    def search(self, policy: str) -> Search:
        return Search(self.workload, policy, self.goals, self.seeds, self.slots, run_kind(self.workload))

    def log(self, path: str | None) -> PlanLog | None:
        return None if path is None else PlanLog(path, self.goals)


@dataclass(frozen=True)
class Shown:
    """What a command prints and writes."""

    tables: list[Table]
    answer: str
    records: list[dict[str, Any]]
    draw: Callable[[str], None] | None  # None: there is no picture
    report: Callable[[], Report]


def plan_numbers(asked: Asked, made: RunOptions, log: str | None) -> Shown:
    """The least number of servers for each policy. Raises NoneMeets if no policy meets the goals with any number."""
    workload, goals, slot_seconds = asked.workload, asked.goals, asked.shown_slot
    runs = asked.log(log)
    with text_console().status(f"{workload.name}: the fewest servers of any policy"):
        bound = fewest_for(workload, goals, asked.policies, GAP, SECONDS)

    known: dict[str, Certainty] = {}
    smaller: dict[str, WithoutLargest] = {}

    def plan(policy: str, ask: AskRuns, say: Say) -> Plan:
        search = asked.search(policy)
        found = search.run(bound.servers, ask, lambda servers: say(f"{servers:,} servers"))
        if asked.draws:
            known[policy] = certainty(search, found.servers, asked.draws, ask, lambda draw: say(f"draw {draw + 1:,}"))
        if asked.most_demand is not None:
            say("without the largest tasks")
            smaller[policy] = without_largest(search, found.servers, asked.most_demand, ask)
        return found

    plans, refused = plan_all(asked.policies, plan, made, runs)
    say_refused(refused, plans)
    common = compare_at_common([asked.search(one.policy) for one in plans], plans, made, runs)
    tables = [plan_table(workload, goals, plans, bound, slot_seconds)]
    tables += [common_table(workload, goals, common, slot_seconds)] if common else []

    def draw(path: str) -> None:
        from packenv.cli.plan.servers.report import plan_chart  # brings matplotlib with it

        plan_chart(plans, goals, bound, workload, slot_seconds).save(path)

    def report() -> Report:
        from packenv.cli.plan.servers.report import plan_report  # brings the profile of traces with it

        problems = [*map(str, refused)]
        return plan_report(plans, problems, goals, bound, workload, slot_seconds, asked.seeds, asked.slots, said, tables)

    records = [
        plan_record(workload, goals, one, bound)
        | common_record(goals, common, one.policy)
        | certainty_record(known.get(one.policy))
        | without_record(smaller.get(one.policy))
        for one in plans
    ]
    said = [answer(workload, goals, plans, bound)]
    said += [in_the_noise(goals, one, slot_seconds) for one in plans if one.between is not None]
    said += [unsettled(one) for one in plans if not goals and not one.at.settled]
    said += [without(one, smaller[one.policy]) for one in plans if one.policy in smaller]
    said += [certain(one.policy, known[one.policy]) for one in plans if one.policy in known]
    return Shown(tables, "\n".join(said), records, draw, report)


def say_refused(refused: Sequence[NoneMeets], plans: Sequence[Any]) -> None:
    """Say which policies do not meet the goals. Raises NoneMeets if none does."""
    for problem in refused:
        text_console().print(str(problem), style="yellow", highlight=False)
    if not plans:
        raise NoneMeets("none of the policies meets the goals with any number of servers")
