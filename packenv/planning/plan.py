"""`packenv.plan` and `packenv.plan_servers`: the least number of servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from packenv.api import at_a_rate
from packenv.content.text import counted
from packenv.errors import InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES
from packenv.options.verbs import PLAN_SEEDS, PlanOptions
from packenv.planning.kinds import with_kind
from packenv.planning.lower_bounds.fewest_servers import Fewest
from packenv.planning.request import PlanLog, PlanRequest, asking, plan_request
from packenv.planning.search import NoneMeets, Plan, Search
from packenv.planning.server_plans import ServerPlans
from packenv.planning.trials import AskRuns, Trial
from packenv.planning.what_if import (
    Certainty,
    Compared,
    WithoutLargest,
    certainty,
    compared,
    trial_at,
    without_largest,
)
from packenv.policy import find_policy, name_of, policies_in
from packenv.runs.progress import progress_lines
from packenv.runs.runner import Runner, RunOptions
from packenv.workloads.find import is_trace_source
from packenv.workloads.servers import WithKind

Outcome = TypeVar("Outcome")
Say = Callable[[str], None]


def plan_servers(
    workload: Any,
    policy: str | Any,
    *goals: str,
    seeds: int = PLAN_SEEDS,
    slots: int | None = None,
    executor: Executor | None = None,
) -> Plan:
    """Find the least number of equal servers for a policy.

    The servers are like those of the workload, which is what `packenv.workload` takes. The policy must meet all goals.
    goals     such as "p95 wait <= 60s", "mean queue <= 10", "utilisation >= 70%" (packenv.planning.goals). A stream must also
              be stable, and may have no goal
    seeds     runs with each number of servers. The same number of new seeds confirms the answer
    slots     of each run of a stream. A table runs to its end
    executor  where the runs are made (`packenv.simulate_many`)
    `Plan.servers` meets the goals, one server less does not: `Plan.at`, `Plan.below`. If noise leaves that open, the least
    number lies in `Plan.between`. `fewest_for` of packenv.planning.lower_bounds.fewest_servers is a bound for all policies.
    Raises InputError for unreadable goals, goals that no number of servers meets, servers of several kinds, and data placed on
    servers.
    """
    workload = at_a_rate(workload)
    request = plan_request(workload, goals, [policy], PlanOptions(seeds=seeds, slots=slots))
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        return request.search(policy).run(request.bound().servers, runner.all)


@takes(PlanOptions, without=("types", "growth", "without", "asks_when", "submit", "durations", "no_preemption"))
def plan(
    workload: Any,
    *goals: str,
    policies: Iterable[Any] = DEFAULT_POLICIES,
    options: PlanOptions,
    log: str | Path | None = None,
    executor: Executor | None = None,
    **changes: Any,
) -> ServerPlans:
    """Find the least number of equal servers for each policy.

    Each policy must meet all goals. The answer includes a lower bound for all policies.
    workload    a Workload, or an argument of `packenv.workload`: a name, a file, a trace, a table. Arguments such as `rate` or
                `slot_seconds` follow as keywords. `servers` sets their kind (a trace: capacity 1 by default), or with `add`
                the existing servers of any kinds
    goals       such as "p95 wait <= 60s", "mean queue <= 10", "utilisation >= 70%" (packenv.planning.goals). A stream must
                also be stable, and may have no goal
    policies    names ("vqs:J=4") or objects
    options     some fields of PlanOptions. `draws` and `max_demand` fill `ServerPlans.draws` and `.without_largest`
    log         file that stores finished runs. A second call makes only the missing runs
    executor    where the runs are made (`packenv.simulate_many`). None is this process
    `ServerPlans.plans` are like `packenv.plan_servers`, for one policy. Raises InputError for unreadable goals, goals that no
    policy meets with any number of servers, servers of several kinds, and data placed on servers.
    """
    chosen = policies_in(policies)
    names = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    if len(set(names)) < len(names):
        raise InputError(f"two policies have the same name: {', '.join(names)}")
    for policy in chosen:
        find_policy(policy) if isinstance(policy, str) else None
    changes = {key: value for key, value in changes.items() if value is not None}
    if is_trace_source(workload) and options.add is not None:
        changes["servers"] = WithKind(changes.get("servers"), options.add)
    elif is_trace_source(workload):
        changes = {"servers": "1", "any_number": True} | changes
    workload = at_a_rate(workload, **changes)
    if options.add is not None and not isinstance(changes.get("servers"), WithKind):
        workload = with_kind(workload, options.add)
    request = plan_request(workload, goals, chosen, options)
    runs = request.log(log)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as run_options:
        answer = server_plans(request, request.bound(), run_options, runs)
    if not answer.plans:
        raise NoneMeets(" ".join(answer.refusals))
    return answer


def server_plans(request: PlanRequest, bound: Fewest, options: RunOptions, log: PlanLog | None) -> ServerPlans:
    """Return each policy's plan from `bound` on, perhaps none."""
    searches = {search.name: search for search in map(request.search, request.policies)}
    draws: dict[str, Certainty] = {}
    smaller: dict[str, WithoutLargest] = {}

    def plan_of(policy: str, ask: AskRuns, say: Say) -> Plan:
        search = searches[policy]
        least = search.run(bound.servers, ask, lambda servers: say(counted(servers, "server")))
        if request.draws:
            draws[policy] = certainty(search, least.servers, request.draws, ask, lambda draw: say(f"draw {draw + 1:,}"))
        if request.most_demand is not None:
            say("without the largest tasks")
            smaller[policy] = without_largest(search, least.servers, request.most_demand, ask)
        return least

    least_plans, refused = plan_all([*searches], plan_of, options, log)
    plans = {plan.policy: plan for plan in least_plans}
    comparisons = _at_common_number(searches, plans, options, log) if len(plans) > 1 and request.goals else []
    draws = {name: draws[name] for name in plans if name in draws}
    smaller = {name: smaller[name] for name in plans if name in smaller}
    return ServerPlans(request, bound, plans, [*map(str, refused)], comparisons, draws, smaller)


def _at_common_number(
    searches: Mapping[str, Search], plans: Mapping[str, Plan], options: RunOptions, log: PlanLog | None
) -> list[Compared]:
    """Return each policy with the largest number of servers that one needs."""
    servers = max(plan.servers for plan in plans.values())

    def trial_of(policy: str, ask: AskRuns, say: Say) -> tuple[str, Trial]:
        say(f"{counted(servers, 'server')}, to compare")
        return policy, trial_at(searches[policy], plans[policy], servers, ask)

    smaller = [policy for policy, plan in plans.items() if plan.servers < servers]
    trials = dict(plan_all(smaller, trial_of, options, log)[0]) if smaller else {}
    return compared([*plans], [trials.get(policy, plan.at) for policy, plan in plans.items()])


def plan_all(
    policies: Sequence[str], plan: Callable[[str, AskRuns, Say], Outcome], options: RunOptions, log: PlanLog | None
) -> tuple[list[Outcome], list[NoneMeets]]:
    """Return the outcomes of `plan` for each policy, and the refusals.

    The policies run in parallel. Refusals are of policies that meet the goals with no number of servers.
    plan  called with a policy's name, a function that makes runs, and one that shows progress on standard error
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
