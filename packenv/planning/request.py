"""The request of a plan: its arguments, checked, and the log of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from packenv.content.text import NONE, estimate, number
from packenv.errors import ArgumentError, InputError
from packenv.options.shared import DEFAULT_SLOTS
from packenv.options.verbs import GOAL_EXAMPLES, PLAN_SEEDS, PlanOptions
from packenv.planning.goals import Goal, check_goals, check_reachable, parse_goal
from packenv.planning.kinds import servers_there
from packenv.planning.lower_bounds.fewest_servers import Fewest, fewest_for
from packenv.planning.search import Search
from packenv.planning.trials import AskRuns, RunValues, Trial, run_values
from packenv.runs.keys import keys_of
from packenv.runs.log import RunLog
from packenv.runs.run import Extract, Run
from packenv.runs.runner import Runner
from packenv.runs.statistics import Interval
from packenv.workloads.workload import Workload

GAP, SECONDS = 0.001, 20.0  # of the bracket of ρ*


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
    def goals_text(self) -> str:
        return " and ".join(goal.text for goal in self.goals) or "a stable queue"

    @property
    def unit(self) -> str:
        """Unit of times, as the end of a table's title. Empty without goals."""
        unit = "slots" if self.workload.slot_seconds is None else "seconds"
        return f"; times in {unit}" if self.goals else ""

    def cell(self, trial: Trial | None, n: int) -> str:
        """Return the measure of goal n in a trial, with its interval."""
        return NONE if trial is None else measure_text(trial, n, self.goals[n], self.workload.slot_seconds)

    def left_open(self, trials: Sequence[tuple[str, Trial]]) -> str:
        return open_goals(self.goals, trials, self.workload.slot_seconds)

    def search(self, policy: Any) -> Search:
        return Search(self.workload, policy, self.goals, self.seeds, self.slots, run_kind(self.workload), self.there)

    def log(self, path: str | Path | None) -> PlanLog | None:
        return None if path is None else PlanLog(path, self.goals)

    def bound(self) -> Fewest:
        """Return the number of servers below which no policy meets the goals."""
        return fewest_for(self.workload, self.goals, self.policies, GAP, SECONDS, self.there)


def plan_request(
    workload: Workload, goals: Sequence[str], policies: Sequence[Any], options: PlanOptions, *, mixed: bool = False
) -> PlanRequest:
    """Return the request of `plan` from its arguments.

    With `options.add` the workload is one of `with_kind`. `mixed`: servers of several kinds are allowed. Raises InputError.
    """
    seeds, draws, max_demand = PLAN_SEEDS if options.seeds is None else options.seeds, options.draws or 0, options.max_demand
    if seeds < 1 or draws < 0:
        raise ArgumentError(f"`seeds` must be at least 1 and `draws` at least 0, not {seeds} and {draws}")
    parsed_goals, slots = goals_for(workload, goals, mixed or options.add is not None), options.slots
    if workload.jobs is None and max_demand is not None:
        raise ArgumentError("`max_demand` is for traces: a random workload has no list of tasks")
    if workload.jobs is not None and slots is not None:
        raise ArgumentError("`slots` is for workloads: a trace runs to its end")
    slots = slots or DEFAULT_SLOTS if workload.jobs is None else None
    there = 0 if options.add is None else servers_there(workload)
    return PlanRequest(workload, parsed_goals, policies, seeds, slots, draws, max_demand, there, options.add)


def goals_for(workload: Workload, texts: Sequence[str], mixed: bool = False) -> list[Goal]:
    """Return the goals of a plan for this workload.

    `mixed`: servers of several kinds are intended. Otherwise the error's remedy is the kind to add. Raises InputError if there
    can be no plan.
    """
    name, kinds = workload.name, len(workload.servers.examples)
    if kinds > 1 and not mixed:
        first, *_, last = (str(workload.servers.only([server])).partition("x")[2] for server in workload.servers.examples)
        advice = f"`add` {last} (more of one kind), `servers` 1x{last} (one kind alone) or --types {first}=COST,{last}=COST"
        raise ArgumentError(f"{name} has servers of {kinds} kinds: choose ", advice, {"add": last})
    if workload.draw is not None:
        raise InputError(f"{name} draws its tables of jobs for its own servers: plans are for laws, and for traces")
    if workload.jobs is not None and workload.jobs.home is not None:
        raise InputError(f"{name} places its data on servers, so their number cannot change")
    goals = [parse_goal(text, workload.slot_seconds) for text in texts]
    check_goals(goals, workload)
    if workload.jobs is not None:
        check_reachable(goals, workload.jobs, name)
        if not goals:
            raise InputError(f"any number of servers finishes a trace in the end: give a --goal, such as {GOAL_EXAMPLES}")
    return goals


def run_kind(workload: Workload) -> dict[str, Any]:
    """Return options of packenv.simulate: tables run until all work is done."""
    return {"drain": True} if workload.jobs is not None else {}


def measure_text(trial: Trial, n: int, goal: Goal, slot_seconds: float | None) -> str:
    scale = goal.scale(slot_seconds)
    measure = Interval(*(None if end is None else end * scale for end in trial.estimate(n)))
    if measure.mean is None or measure.low is None or measure.high is None:
        return number(measure.mean)
    half = measure.high - measure.mean
    return estimate(measure.mean, half) if math.isclose(measure.mean - measure.low, half, rel_tol=1e-6) else str(measure)


def open_goals(goals: Sequence[Goal], trials: Sequence[tuple[str, Trial]], slot_seconds: float | None) -> str:
    """Return the goals that noise leaves open, as `the mean wait is 9.1 ± 3.4 seconds with 55`."""
    return ", ".join(
        f"the {goal.title} is {measure_text(trial, n, goal, slot_seconds)}{goal.unit(slot_seconds)} with {servers}"
        for n, goal in enumerate(goals)
        for servers, trial in trials
        if trial.decided and trial.decided[n] is None
    )


class PlanLog(RunLog):
    """A RunLog of goals' measures, shared by plans for other limits."""

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
    """Return a function that makes runs, or those that a log lacks."""

    def ask(runs: Sequence[Run], extract: Extract) -> list[Any]:
        return runner.all(runs, extract) if log is None else log.complete(runs, runner)

    return ask
