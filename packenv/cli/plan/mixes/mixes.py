"""The mixes of machines of `packenv plan --types`: the bound on cost, a search for each policy, and what is shown of them."""

from __future__ import annotations

from typing import Any

from packenv.cli.plan.all_policies import Say, plan_all
from packenv.cli.plan.mixes.tables import mix_answer, mix_in_the_noise, mix_record, mix_table
from packenv.cli.plan.servers.numbers import Asked, Shown, say_refused
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.planning.kinds import Kinds, check_kinds
from packenv.planning.lower_bounds.cost_bound import least_cost
from packenv.planning.mixes import MixPlan, MixSearch
from packenv.planning.plan import GAP, SECONDS
from packenv.planning.search import AskRuns
from packenv.report.page import Report
from packenv.runs.runner import RunOptions


def kinds_as_servers(kinds: Kinds | None, servers: str | None) -> dict[str, Any]:
    """The option of servers that goes with the kinds: one of each. Raises InputError if servers are given too."""
    if kinds is None:
        return {}
    if servers is not None:
        raise InputError("give one of --servers and --types, which says what the machines are")
    return {"servers": kinds.one_of_each}


def plan_mixes(asked: Asked, kinds: Kinds, made: RunOptions, log: str | None) -> Shown:
    """The cheapest mix for each policy. Raises NoneMeets if no policy meets the goals with any."""
    workload, goals, slot_seconds = asked.workload, asked.goals, asked.shown_slot
    check_kinds(kinds, workload)
    runs = asked.log(log)
    with text_console().status(f"{workload.name}: the least cost of any policy"):
        bound = least_cost(workload, goals, kinds, GAP, SECONDS)

    def plan(policy: str, ask: AskRuns, say: Say) -> MixPlan:
        return MixSearch(asked.search(policy), kinds, bound, ask, say).run()

    plans, refused = plan_all(asked.policies, plan, made, runs)
    say_refused(refused, plans)

    records = [mix_record(workload, goals, kinds, one, bound) for one in plans]

    def draw(path: str) -> None:
        from packenv.cli.plan.mixes.report import mix_chart  # brings matplotlib with it

        mix_chart(plans, goals, bound, workload, slot_seconds).save(path)

    def report() -> Report:
        from packenv.cli.plan.mixes.report import mix_report  # brings the profile of traces with it

        return mix_report(plans, [*map(str, refused)], goals, kinds, bound, workload, slot_seconds)

    table = mix_table(workload, goals, kinds, plans, slot_seconds)
    noise = [line for one in plans if (line := mix_in_the_noise(goals, kinds, one, slot_seconds))]
    return Shown([table], "\n".join([mix_answer(goals, kinds, plans, bound), *noise]), records, draw, report)
