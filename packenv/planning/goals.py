"""Goals of a plan: `p95 wait <= 60s`, `mean queue <= 10`, `utilisation >= 70%`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from packenv.errors import InputError, nearest
from packenv.inputs.numbers import read_number
from packenv.results.job_times import JobTimes
from packenv.results.result import Result
from packenv.workloads.workload import Workload

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
"""Seconds of a unit of time; `slots`, or no unit, counts slots."""

WAITS = {
    "mean": "mean_delay",
    **{"p50": "delay_p50", "p90": "delay_p90", "p95": "delay_p95", "p99": "delay_p99", "p99.9": "delay_p999"},
    "max": "max_delay",
}
QUEUES = {"mean": "mean_queue", "max": "max_queue"}
COMPLETIONS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
STATISTICS = {"wait": [*WAITS], "queue": [*QUEUES], "completion": [*COMPLETIONS], "makespan": [""], "utilisation": [""]}
GOAL = re.compile(r"\s*(?:([\w.]+)\s+)?(\w+)\s*(<=|>=)\s*([^\s%a-zA-Z]+(?:[eE][+-]?\d+)?)\s*(%|[a-zA-Z]*)\s*")
EXAMPLES = "p95 wait <= 60s, mean queue <= 10, p99 completion <= 2h, makespan <= 1d, utilisation >= 70%"


@dataclass(frozen=True)
class Goal:
    """A measure of a run and its limit: an upper one for all but the utilisation."""

    text: str
    statistic: str  # "mean", "p95", …; "" where there is one only
    measure: str  # one of STATISTICS
    limit: float  # slots, tasks, or a share

    @property
    def is_time(self) -> bool:
        return self.measure in ("wait", "completion", "makespan")

    @property
    def title(self) -> str:
        return f"{self.statistic} {self.measure}".strip()

    def value(self, result: Result) -> float | None:
        """What a run measured; None where there was nothing to measure. The utilisation is that of the scarcest resource."""
        if self.measure == "wait":
            return _plain(getattr(result, WAITS[self.statistic]))
        if self.measure == "queue":
            return _plain(getattr(result, QUEUES[self.statistic]))
        if self.measure == "utilisation":
            return max((share for share in result.utilisation if share is not None), default=None)
        assert result.jobs is not None  # `check_goals`
        return self.of_jobs(result.jobs)

    def of_jobs(self, times: JobTimes) -> float | None:
        """The measure of whole jobs: a makespan or a completion time."""
        if self.measure == "makespan":
            return _plain(times.makespan)
        share = COMPLETIONS[self.statistic]
        return _plain(times.mean if share is None else times.quantile(share))

    def met(self, value: float | None) -> bool:
        if value is None:
            return False
        return value >= self.limit if self.measure == "utilisation" else value <= self.limit


def parse_goal(text: str, slot_seconds: float | None) -> Goal:
    """Read a goal. `slot_seconds`: the length of a slot, without which times can be given in slots only. Raises InputError."""
    found = GOAL.fullmatch(text)
    if found is None:
        raise InputError(f"goal {text!r}: cannot be read; goals are such as {EXAMPLES}")
    statistic, measure, sign, amount, unit = (part or "" for part in found.groups())
    if measure not in STATISTICS:
        raise InputError(f"goal {text!r}: {measure!r} is not measured{nearest(measure, [*STATISTICS])}")
    if statistic not in STATISTICS[measure]:
        known = ", ".join(STATISTICS[measure])
        said = f"of a {measure} there are {known}" if known else f"{measure} stands alone"
        raise InputError(f"goal {text!r}: {said}" + (f", not {statistic!r}" if statistic else ""))
    if (sign == ">=") != (measure == "utilisation"):
        raise InputError(f"goal {text!r}: {measure} {'<=' if sign == '>=' else '>='} is meant, or nothing is to be planned")
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


def _in_slots(goal: Goal, unit: str, slot_seconds: float | None) -> float:
    if unit in ("", "slots"):
        return goal.limit
    if unit not in UNITS:
        raise InputError(f"goal {goal.text!r}: {unit!r} is not a unit of time; those are {', '.join(UNITS)} and slots")
    if slot_seconds is None:
        raise InputError(f"goal {goal.text!r}: nobody says how long a slot is; give --slot-seconds, or a limit in slots")
    return goal.limit * UNITS[unit] / slot_seconds


def _plain_limit(goal: Goal, unit: str) -> float:
    if unit == "%" and goal.measure == "utilisation":
        return goal.limit / 100
    if unit:
        raise InputError(f"goal {goal.text!r}: a {goal.measure} has no unit {unit!r}")
    return goal.limit


def check_goals(goals: list[Goal], workload: Workload) -> None:
    """Raise InputError for goals of whole jobs where tasks make none, and for two goals of one measure."""
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    for n, goal in enumerate(goals):
        if goal.measure in ("completion", "makespan") and not has_jobs:
            raise InputError(f"goal {goal.text!r}: the tasks of {workload.name} make no jobs; a wait has a goal, and a queue")
        if goal.title in [other.title for other in goals[:n]]:
            raise InputError(f"goal {goal.text!r}: there is a goal for the {goal.title} already")


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)
