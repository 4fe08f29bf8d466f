"""`packenv.plan_servers` for one policy, and the log of a plan's runs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.shared import DEFAULT_SLOTS
from packenv.options.verbs import GOAL_EXAMPLES, PLAN_SEEDS
from packenv.planning.goals import Goal, check_goals, check_reachable, parse_goal
from packenv.planning.lower_bounds.fewest_servers import fewest_for
from packenv.planning.search import Plan, Search
from packenv.planning.trials import AskRuns, RunValues, run_values
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.run import Extract, Run
from packenv.runs.runner import Runner
from packenv.theory.capacity.max_workload import resolved
from packenv.workloads.workload import Workload

GAP, SECONDS = 0.001, 20.0  # of the bracket of ρ*


def plan_servers(
    workload: Workload,
    policy: str | Any,
    *goals: str,
    seeds: int = PLAN_SEEDS,
    slots: int | None = None,
    executor: Executor | None = None,
) -> Plan:
    """Find the least number of equal servers for a policy.

    The servers are like those of the workload. The policy must meet all goals.
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
    workload = workload if workload.jobs is not None else resolved(workload)
    parsed_goals = goals_for(workload, goals)
    with Runner(executor=executor or ThisProcess(), fail_fast=True) as runner:
        search = Search(workload, policy, parsed_goals, seeds, run_length(workload, slots), run_kind(workload))
        return search.run(fewest_for(workload, parsed_goals, [policy], GAP, SECONDS).servers, runner.all)


def goals_for(workload: Workload, texts: Sequence[str], mixed: bool = False) -> list[Goal]:
    """Return the goals of a plan for this workload.

    `mixed`: servers of several kinds are intended. Otherwise the error's remedy is the kind to add. Raises InputError if there
    can be no plan.
    """
    name, kinds = workload.name, len(workload.servers.examples)
    if kinds > 1 and not mixed:
        one, *_, last = (str(workload.servers.only([server])).partition("x")[2] for server in workload.servers.examples)
        more = f"`add` {last} says how many more of one are needed; "
        alone = f"`servers` 1x{last} how many of one alone, and --types {one}=COST,{last}=COST which of all are cheapest"
        raise ArgumentError(f"{name} has servers of {kinds} kinds: {more}", alone, {"add": last})
    if workload.draw is not None:
        raise InputError(f"{name} draws its tables of jobs for its own servers: plans are for laws, and for traces")
    if workload.jobs is not None and workload.jobs.home is not None:
        raise InputError(f"{name} says on which servers data lie: their number cannot be changed")
    goals = [parse_goal(text, workload.shown_slot) for text in texts]
    check_goals(goals, workload)
    if workload.jobs is not None:
        check_reachable(goals, workload.jobs, name)
    if workload.jobs is not None and not goals:
        raise InputError(f"a trace is served by any number of servers in the end: give a --goal, such as {GOAL_EXAMPLES}")
    return goals


def run_length(workload: Workload, slots: int | None) -> int | None:
    """Return the slots of a run.

    Raises InputError for a table with given slots.
    """
    if workload.jobs is None:
        return slots or DEFAULT_SLOTS
    if slots is not None:
        raise ArgumentError("`slots` is for workloads: a trace is run to its end")
    return None


def run_kind(workload: Workload) -> dict[str, Any]:
    """Return options of packenv.simulate: tables run until all work is done."""
    return {"drain": True} if workload.jobs is not None else {}


class PlanLog(RunLog):
    """A RunLog of the measures that goals need.

    Plans for other limits share its runs.
    """

    kind = "planned"

    def __init__(self, path: str | Path | None, goals: Sequence[Goal]) -> None:
        self.goals = tuple(goals)
        super().__init__(path)

    @property
    def extract(self) -> Extract:
        return partial(run_values, goals=self.goals)

    def read(self, plain: Any) -> RunValues:
        return RunValues.from_plain(plain)

    def keys(self, runs: Sequence[Run]) -> list[str]:
        titles = ",".join(goal.title for goal in self.goals)
        return [f"{key} {titles}".rstrip() for key in keys_of(runs, run_values.__module__)]


def asking(runner: Runner, log: PlanLog | None) -> AskRuns:
    """Return a function that makes the runs of a plan.

    With a log it makes only the missing ones.
    """

    def ask(runs: Sequence[Run], extract: Extract) -> list[Any]:
        return runner.all(runs, extract) if log is None else log.complete(runs, runner)

    return ask
