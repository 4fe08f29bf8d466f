"""Goals that no number of servers can meet, and quantiles for which a trace has too few tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.planning.goals import Goal, fewest_of, share_of
from packenv.results.job_times import JobTimes, job_numbers, job_times
from packenv.results.schedule import Schedule
from packenv.runs.text import counted


def check_reachable(goals: Sequence[Goal], jobs: Jobs, name: str) -> None:
    """Raise InputError for a goal that no number of servers meets, and for a quantile of too few tasks or jobs."""
    for goal in goals:
        of_jobs = goal.measure in ("completion", "makespan")
        count = int(job_numbers(jobs).max()) + 1 if of_jobs else len(jobs)
        if count < fewest_of(goal.statistic):
            what, fewest = "job" if of_jobs else "task", fewest_of(goal.statistic)
            why = f"of {counted(count, what)} it is the largest; {name} would have to have at least {fewest:,}"
            raise InputError(f"goal {goal.text!r}: too few for a {goal.statistic}: {why}")
        if of_jobs:
            _check_length(goal, jobs)


def _check_length(goal: Goal, jobs: Jobs) -> None:
    """If every task starts when it arrives, no job ends earlier under any policy; nor is any quantile, or the mean, smaller."""
    soonest = Schedule(jobs.arrival, np.zeros(len(jobs), np.int32), jobs.arrival + jobs.service)
    times = job_times(jobs, soonest, int(soonest.end.max()))
    least = goal.of_jobs(times)
    if least is None or goal.met(least):
        return
    row = _row(goal, times, soonest)
    task = f"row {row} (from 0, by arrival) is in service for {counted(int(jobs.service[row]), 'slot')}"
    said = f"the {goal.title} is {least:,.4g} slots at least, not {goal.limit:,.4g}"
    raise InputError(f"goal {goal.text!r}: no number of servers meets it: {task}, and {said}")


def _row(goal: Goal, times: JobTimes, soonest: Schedule) -> int:
    """The task that ends last: of all, or of the job at the quantile; of the slowest job, for a mean."""
    if goal.measure == "makespan":
        return int(np.argmax(soonest.end))
    share = share_of(goal.statistic) or 1
    order = np.argsort(times.completion, kind="stable")
    job = order[math.ceil(share * len(order)) - 1]
    own = np.flatnonzero(times.job == job)
    return int(own[np.argmax(soonest.end[own])])
