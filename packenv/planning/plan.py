"""`packenv.plan`: the least number of servers for several policies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from packenv.api import at_a_rate
from packenv.content.text import counted
from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES
from packenv.options.verbs import PLAN_SEEDS, PlanOptions
from packenv.planning.goals import Goal
from packenv.planning.kinds import servers_there, with_kind
from packenv.planning.lower_bounds.fewest_servers import Fewest, fewest_for
from packenv.planning.plan_servers import GAP, SECONDS, PlanLog, asking, goals_for, run_kind, run_length
from packenv.planning.search import NoneMeets, Plan, Search
from packenv.planning.server_plans import ServerPlans
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
from packenv.runs.progress import progress_lines
from packenv.runs.runner import RunOptions
from packenv.workloads.find import is_trace_source
from packenv.workloads.servers import WithKind
from packenv.workloads.workload import Workload

Outcome = TypeVar("Outcome")
Say = Callable[[str], None]


@dataclass(frozen=True)
class PlanRequest:
    """The arguments of a plan: workload, goals, policies, runs."""

    workload: Workload
    goals: list[Goal]
    policies: Sequence[Any]  # names, or objects
    seeds: int
    slots: int | None
    draws: int = 0  # other days, or seeds, to find the number for
    most_demand: float | None = None  # also find the number without larger tasks
    there: int = 0  # first servers of the workload, which exist anyway. Others are like the next one,
    add: str | None = None  # of this kind

    @property
    def kind(self) -> str:
        """Kind of server whose number is planned, such as `32:128`."""
        return self.add or ":".join(f"{amount:g}" for amount in self.workload.servers.capacity[0])

    @property
    def shown_slot(self) -> float | None:
        """Seconds of a slot for times that are shown."""
        return self.workload.shown_slot

    def search(self, policy: Any) -> Search:
        return Search(self.workload, policy, self.goals, self.seeds, self.slots, run_kind(self.workload), self.there)

    def log(self, path: str | Path | None) -> PlanLog | None:
        return None if path is None else PlanLog(path, self.goals)

    def bound(self) -> Fewest:
        """Return the number of servers below which no policy meets the goals."""
        return fewest_for(self.workload, self.goals, self.policies, GAP, SECONDS, self.there)

    def run(self, bound: Fewest, options: RunOptions, log: PlanLog | None) -> ServerPlans:
        """Return the plan of each policy, from `bound` on.

        `ServerPlans.plans` is empty if no policy meets the goals.
        """
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

        least_plans, refused = plan_all([*searches], plan_of, options, log)
        plans = {plan.policy: plan for plan in least_plans}
        comparisons = self._at_common_number(searches, plans, options, log)
        return ServerPlans(self, bound, plans, [*map(str, refused)], comparisons, draws, smaller)

    def _at_common_number(
        self, searches: Mapping[str, Search], plans: Mapping[str, Plan], options: RunOptions, log: PlanLog | None
    ) -> list[Compared]:
        """Return each policy with the largest number of servers that one needs.

        Empty for a single policy, or without goals.
        """
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
    workload: Workload, goals: Sequence[str], policies: Sequence[Any], options: PlanOptions, *, mixed: bool = False
) -> PlanRequest:
    """Return the request of `plan` from its arguments.

    With `options.add` the workload is one of `with_kind`. `mixed`: servers of several kinds are allowed. Raises InputError.
    """
    seeds, draws, max_demand = PLAN_SEEDS if options.seeds is None else options.seeds, options.draws or 0, options.max_demand
    if seeds < 1 or draws < 0:
        raise ArgumentError(f"`seeds` is at least 1 and `draws` at least 0, not {seeds} and {draws}")
    parsed_goals, length = goals_for(workload, goals, mixed=mixed or options.add is not None), run_length(workload, options.slots)
    if max_demand is not None and workload.jobs is None:
        raise ArgumentError("`max_demand` is for traces: the laws of a workload say what tasks there are")
    there = 0 if options.add is None else servers_there(workload)
    return PlanRequest(workload, parsed_goals, policies, seeds, length, draws, max_demand, there, options.add)


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
    chosen = [*policies]
    names = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    if len(set(names)) < len(names):
        raise InputError(f"two policies have the same name: {', '.join(names)}")
    if not names:
        raise ArgumentError("`policies` names none")
    for policy in chosen:
        find_policy(policy) if isinstance(policy, str) else None
    changes = {key: value for key, value in changes.items() if value is not None}
    if not is_trace_source(workload):
        workload = at_a_rate(workload, **changes)
        workload = workload if options.add is None else with_kind(workload, options.add)
    elif options.add is None:
        workload = at_a_rate(workload, **{"servers": "1", "any_number": True} | changes)
    else:
        workload = at_a_rate(workload, **changes | {"servers": WithKind(changes.get("servers"), options.add)})
    request = plan_request(workload, goals, chosen, options)
    runs = request.log(log)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as run_options:
        answer = request.run(request.bound(), run_options, runs)
    if not answer.plans:
        raise NoneMeets("; ".join(answer.refusals))
    return answer
