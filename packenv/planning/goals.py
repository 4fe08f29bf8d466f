"""Goals of a plan: `p95 wait <= 60s`, `mean queue <= 10`, `utilisation >= 70%`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from packenv.content.text import counted
from packenv.errors import InputError, nearest
from packenv.inputs.numbers import UNITS_OF_TIME, read_duration, read_number
from packenv.jobs import Jobs
from packenv.options.verbs import GOAL_EXAMPLES
from packenv.results.job_times import JobTimes, job_numbers, job_times
from packenv.results.result import Result
from packenv.results.schedule_table import Schedule
from packenv.workloads.workload import Workload

UNITS = ("ms", "s", "min", "h", "d")
"""Units of time for messages. `slots`, or no unit, counts slots."""

STATISTICS = {"wait": ("mean", "max"), "queue": ("mean", "max"), "completion": ("mean", "max"), "makespan": (), "utilisation": ()}
"""Statistics of each measure, besides the quantiles of QUANTILES. The last two measures have none."""

TIMES = ("wait", "completion", "makespan")
QUANTILES = ("wait", "completion")
QUANTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)")
GOAL = re.compile(r"\s*(?:([\w.]+)\s+)?(\w+)\s*(<=|>=)\s*(\S|\S.*\S)\s*")
AMOUNT = re.compile(r"([^\s%a-zA-Z]+(?:[eE][+-]?\d+)?)\s*(%|[a-zA-Z]*)")


@dataclass(frozen=True)
class Goal:
    """A measure and its limit, a lower one for the utilisation."""

    text: str
    statistic: str  # "mean", "max" or a quantile: "p95", "p99.5"; "" where there is one only
    measure: str  # one of STATISTICS
    limit: float  # slots, tasks, or a share

    @property
    def is_time(self) -> bool:
        return self.measure in TIMES

    def scale(self, slot_seconds: float | None) -> float:
        """Return the factor from slots to seconds for times, else 1."""
        return slot_seconds or 1.0 if self.is_time else 1.0

    def unit(self, slot_seconds: float | None) -> str:
        """Return the unit behind a number, empty unless it is a time."""
        return "" if not self.is_time else " slots" if slot_seconds is None else " seconds"

    @property
    def title(self) -> str:
        return f"{self.statistic} {self.measure}".strip()

    @property
    def pooled(self) -> Fraction | None:
        """The quantile of waits pooled over all runs, None for others."""
        return share_of(self.statistic) if self.measure == "wait" and self.statistic not in ("mean", "max") else None

    def value(self, result: Result) -> float | None:
        """Return a run's measure; the utilisation is of the scarcest resource."""
        if self.pooled is not None:
            return result.delay_quantile(float(self.pooled))
        if self.measure in ("wait", "queue"):
            return _plain(getattr(result, f"{self.statistic}_{'delay' if self.measure == 'wait' else 'queue'}"))
        if self.measure == "utilisation":
            return max((share for share in result.utilisation if share is not None), default=None)
        assert result.jobs is not None  # `check_goals`
        return self.of_jobs(result.jobs)

    def of_jobs(self, times: JobTimes) -> float | None:
        """Return the measure of whole jobs: makespan or completion time."""
        if self.measure == "makespan":
            return _plain(times.makespan)
        share = share_of(self.statistic)
        return _plain(times.mean if share is None else times.quantile(float(share)))

    def met(self, value: float | None) -> bool:
        if value is None:
            return False
        return value >= self.limit if self.measure == "utilisation" else value <= self.limit


def parse_goal(text: str, slot_seconds: float | None) -> Goal:
    """Read a goal.

    `slot_seconds`: length of a slot. Without it times must be in slots. Raises InputError.
    """
    # Split the text into statistic, measure, sign and limit.
    match = GOAL.fullmatch(text)
    if match is None:
        strict = next((sign for sign in "<>" if sign in text and f"{sign}=" not in text), None)
        hint = "" if strict is None else f"; write {strict}= in place of {strict}"
        raise InputError(f"goal {text!r}: cannot be read; goals are such as {GOAL_EXAMPLES}{hint}")
    statistic, measure, sign, written = (part or "" for part in match.groups())
    if measure not in STATISTICS:
        raise InputError(f"goal {text!r}: {measure!r} is not a measure{nearest(measure, [*STATISTICS], alike=0.6)}")
    statistic = check_statistic(text, statistic, measure, STATISTICS[measure])
    if (sign == ">=") != (measure == "utilisation"):
        raise InputError(f"goal {text!r}: {measure} {'<=' if sign == '>=' else '>='} is the sign to use here")
    # The limit: a number with a unit, or a duration such as 1h30m.
    parts = AMOUNT.fullmatch(written)
    amount, unit = parts.groups() if parts is not None else (written, "")
    if (duration := read_duration(written)) is not None and measure in TIMES:
        amount, unit = str(float(duration)), "s"
    try:
        limit = read_number(amount)
    except ValueError:
        raise InputError(f"goal {text!r}: {amount!r} is not a number") from None
    goal = Goal(" ".join(text.split()), statistic, measure, limit)
    limit = _in_slots(goal, unit, slot_seconds) if goal.is_time else _plain_limit(goal, unit)
    if limit < 0:
        raise InputError(f"goal {text!r}: the limit is below 0")
    if measure == "utilisation" and limit > 1:
        raise InputError(f"goal {text!r}: no utilisation is above 1, or 100%")
    return Goal(goal.text, statistic, measure, limit)


def share_of(statistic: str) -> Fraction | None:
    """Return a quantile's share: 0.95 for "p95", 1 for "max", else None."""
    if statistic == "max":
        return Fraction(1)
    match = QUANTILE.fullmatch(statistic)
    return Fraction(match[1]) / 100 if match and Decimal(match[1]) > 0 else None


def fewest_of(statistic: str) -> int:
    """Return the count below which a quantile is the maximum."""
    share = share_of(statistic)
    return 1 if share is None or share == 1 else math.ceil(1 / (1 - share))


def check_statistic(text: str, statistic: str, measure: str, statistics: Sequence[str], what: str = "goal") -> str:
    """Return the statistic, "p95" for "p95.0". Raises InputError."""
    if measure in QUANTILES and statistic not in statistics and share_of(statistic) is not None:
        return f"p{Decimal(statistic[1:]).normalize():f}"
    if statistic in statistics or (not statistics and not statistic):
        return statistic
    quantiles = ", and quantiles such as p80 and p99.5" if measure in QUANTILES else ""
    choices = f"of a {measure} there are {', '.join(statistics)}{quantiles}" if statistics else f"{measure} stands alone"
    raise InputError(f"{what} {text!r}: {choices}" + (f", not {statistic!r}" if statistic else ""))


def _in_slots(goal: Goal, unit: str, slot_seconds: float | None) -> float:
    if unit in ("", "slots"):
        return goal.limit
    if unit not in UNITS_OF_TIME:
        raise InputError(f"goal {goal.text!r}: {unit!r} is not a unit of time; those are {', '.join(UNITS)} and slots")
    if slot_seconds is None:
        raise InputError(f"goal {goal.text!r}: the length of a slot is unknown; give --slot-seconds, or a limit in slots")
    return float(goal.limit * UNITS_OF_TIME[unit] / slot_seconds)


def _plain_limit(goal: Goal, unit: str) -> float:
    if unit == "%" and goal.measure == "utilisation":
        return goal.limit / 100
    if unit:
        raise InputError(f"goal {goal.text!r}: a {goal.measure} has no unit {unit!r}")
    return goal.limit


def check_goals(goals: list[Goal], workload: Workload) -> None:
    """Raise InputError for job goals without jobs, and duplicate measures."""
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    for n, goal in enumerate(goals):
        if goal.measure in ("completion", "makespan") and not has_jobs:
            raise InputError(f"goal {goal.text!r}: the tasks of {workload.name} make no jobs; a wait has a goal, and a queue")
        if goal.title in [other.title for other in goals[:n]]:
            raise InputError(f"goal {goal.text!r}: two goals for the {goal.title}; give one")


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)


def check_reachable(goals: Sequence[Goal], jobs: Jobs, name: str) -> None:
    """Raise InputError for unreachable goals, and quantiles of too few."""
    for goal in goals:
        of_jobs = goal.measure in ("completion", "makespan")
        count = int(job_numbers(jobs).max()) + 1 if of_jobs else int(jobs.leads.sum())
        if count < fewest_of(goal.statistic):
            what, fewest = "job" if of_jobs else "task", fewest_of(goal.statistic)
            why = f"of {counted(count, what)} it is the largest; {name} would have to have at least {fewest:,}"
            raise InputError(f"goal {goal.text!r}: too few for a {goal.statistic}: {why}")
        if of_jobs:
            _check_length(goal, jobs)


def _check_length(goal: Goal, jobs: Jobs) -> None:
    """Raise InputError if the goal is missed although no task waits."""
    soonest = Schedule(jobs.arrival, np.zeros(len(jobs), np.int32), jobs.arrival + jobs.service)
    times = job_times(jobs, soonest, int(soonest.end.max()))
    least = goal.of_jobs(times)
    if least is None or goal.met(least):
        return
    row = _task_that_ends_last(goal, times, soonest)
    task = f"row {row} (from 0, by arrival) is in service for {counted(int(jobs.service[row]), 'slot')}"
    bound = f"the {goal.title} is {least:,.4g} slots at least, not {goal.limit:,.4g}"
    raise InputError(f"goal {goal.text!r}: no number of servers meets it: {task}, and {bound}")


def _task_that_ends_last(goal: Goal, times: JobTimes, soonest: Schedule) -> int:
    """Return the row of the last task to end.

    For a makespan of all tasks, for a quantile of the job at the quantile, for a mean of the slowest job.
    """
    if goal.measure == "makespan":
        return int(np.argmax(soonest.end))
    share = share_of(goal.statistic) or 1
    order = np.argsort(times.completion, kind="stable")
    job = order[math.ceil(share * len(order)) - 1]
    tasks = np.flatnonzero(times.job == job)
    return int(tasks[np.argmax(soonest.end[tasks])])
