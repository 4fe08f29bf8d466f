"""`packenv plan --types`: cheapest mixes, and a bound on cost."""

from __future__ import annotations

from typing import Any

from packenv.cli.plan.answers import print_refused
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.planning.kinds import Kinds, check_kinds
from packenv.planning.lower_bounds.cost_bound import least_cost
from packenv.planning.mix_plans import MixPlans
from packenv.planning.mixes import MixPlan, MixSearch
from packenv.planning.plan import PlanRequest, Say, plan_all
from packenv.planning.plan_servers import GAP, SECONDS
from packenv.planning.trials import AskRuns
from packenv.runs.runner import RunOptions


def kinds_as_servers(kinds: Kinds | None, servers: str | None) -> dict[str, Any]:
    """Return the servers option for the kinds: one of each.

    Raises InputError if servers are given too.
    """
    if kinds is None:
        return {}
    if servers is not None:
        raise InputError("give one of --servers and --types, which says what the machines are")
    return {"servers": kinds.one_of_each}


def plan_mixes(request: PlanRequest, kinds: Kinds, run_options: RunOptions, log: str | None) -> MixPlans:
    """Return the cheapest mix for each policy.

    Raises NoneMeets if no policy meets the goals with any mix.
    """
    workload, goals = request.workload, request.goals
    check_kinds(kinds, workload)
    runs = request.log(log)
    with text_console().status(f"{workload.name}: the least cost of any policy"):
        bound = least_cost(workload, goals, kinds, GAP, SECONDS)

    def plan(policy: str, ask: AskRuns, say: Say) -> MixPlan:
        return MixSearch(request.search(policy), kinds, bound, ask, say).run()

    plans, refused = plan_all(request.policies, plan, run_options, runs)
    print_refused(refused, plans)
    return MixPlans(request, kinds, bound, plans, [*map(str, refused)])
