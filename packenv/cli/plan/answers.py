"""What all plans share: the request, the searches of several policies side by side, cells of tables, and the answer."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from packenv.cli.tables import text_console
from packenv.planning.goals import Goal
from packenv.planning.plan import PlanLog, asking, run_kind
from packenv.planning.search import NoneMeets, Search
from packenv.planning.trials import AskRuns, Trial
from packenv.report.page import Report
from packenv.report.tables import Table
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import Interval
from packenv.runs.text import NONE, estimate, number
from packenv.workloads.workload import Workload

Outcome = TypeVar("Outcome")
Say = Callable[[str], None]
SURER = "more --slots or --seeds may decide it"


@dataclass(frozen=True)
class PlanRequest:
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
class Answer:
    """What a command prints and writes."""

    tables: list[Table]
    text: str
    records: list[dict[str, Any]]
    draw: Callable[[str], None] | None  # None: there is no picture
    report: Callable[[], Report]


def print_refused(refused: Sequence[NoneMeets], plans: Sequence[Any]) -> None:
    """Say which policies do not meet the goals. Raises NoneMeets if none does."""
    for problem in refused:
        text_console().print(str(problem), style="yellow", highlight=False)
    if not plans:
        raise NoneMeets("none of the policies meets the goals with any number of servers")


def plan_all(
    policies: Sequence[str], plan: Callable[[str, AskRuns, Say], Outcome], run_options: RunOptions, log: PlanLog | None
) -> tuple[list[Outcome], list[NoneMeets]]:
    """What `plan` finds for each policy, without those that meet the goals with no number of servers.

    plan   gets a policy's name, what makes runs, and what is to be told what is tried: progress is shown on standard error
    """
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    with run_options.runner() as runner, Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        ask = asking(runner, log)

        def plan_policy(policy: str) -> Outcome | NoneMeets:
            bar = bars.add_task(policy)

            def say(what: str) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                bars.update(bar, description=f"{policy}: {what}{runner.where()}")

            try:
                return plan(policy, ask, say)
            except NoneMeets as problem:
                return problem
            finally:
                bars.remove_task(bar)

        with ThreadPoolExecutor(len(policies)) as threads:
            try:
                outcomes = list(threads.map(plan_policy, policies))
            except BaseException:
                stop.set()
                raise
    refused = [outcome for outcome in outcomes if isinstance(outcome, NoneMeets)]
    return [outcome for outcome in outcomes if not isinstance(outcome, NoneMeets)], refused


def money(cost: Fraction) -> str:
    """A cost with as many digits as it has, up to four after the point."""
    return f"{float(cost):,.4f}".rstrip("0").rstrip(".")


def scale_of(goal: Goal, slot_seconds: float | None) -> float:
    """What a value of the goal is multiplied with to be shown: times are in slots, and shown in seconds if a slot has some."""
    return slot_seconds or 1.0 if goal.is_time else 1.0


def unit_of(goal: Goal, slot_seconds: float | None) -> str:
    """The unit behind a number; empty for what is no time."""
    return "" if not goal.is_time else " slots" if slot_seconds is None else " seconds"


def cell(trial: Trial | None, n: int, goal: Goal, slot_seconds: float | None) -> str:
    if trial is None:
        return NONE
    scale = scale_of(goal, slot_seconds)
    interval = Interval(*(None if end is None else end * scale for end in trial.estimate(n)))
    if interval.mean is None or interval.low is None or interval.high is None:
        return number(interval.mean)
    half = interval.high - interval.mean
    return estimate(interval.mean, half) if math.isclose(interval.mean - interval.low, half, rel_tol=1e-6) else str(interval)


def open_goals(goals: Sequence[Goal], trials: Sequence[tuple[str, Trial]], slot_seconds: float | None) -> str:
    """`: the mean wait is 9.1 ± 3.4 seconds with 55`, of what noise leaves open in trials of so many servers."""
    measures = [
        f"the {goal.title} is {cell(trial, n, goal, slot_seconds)}{unit_of(goal, slot_seconds)} with {servers}"
        for n, goal in enumerate(goals)
        for servers, trial in trials
        if trial.decided and trial.decided[n] is None
    ]
    return f": {', '.join(measures)}" if measures else ""
