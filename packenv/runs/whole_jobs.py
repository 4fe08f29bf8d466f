"""Measures of whole jobs that need the schedule of a run, or the run of another policy on the same jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from packenv.jobs import Jobs
from packenv.results.fairness import unfairness
from packenv.results.job_times import NONE, JobTimes, cut, efficiency, job_numbers, mean_durations, progress
from packenv.results.occupancy import most_allocated, occupancy
from packenv.results.result import Result
from packenv.theory.completion.bound import completion_bound
from packenv.workloads.workload import Workload

MOMENTS = 100  # at which progress is looked at
MOST_TASKS, MOST_JOBS = 50_000, 2_000  # of a table whose completion times are bounded: about half a second


class WholeJobs(NamedTuple):
    """Of one run, up to its last slot; all None where the tasks make no jobs, or did not all arrive."""

    fragmentation: float | None = None  # share of the capacity that is free while tasks wait
    over_allocation: float | None = None  # the most that a server ever had in service, as a share of its capacity
    unfairness: float | None = None  # mean distance below the fair share of owners with waiting tasks
    efficiency: float | None = None  # share of all value whose jobs have ended: mean up to the end of the slowest policy
    progress_variance: float | None = None  # over the jobs, of the share of their service that is over: mean likewise
    slowed: float | None = None  # share of jobs that took over a tenth longer than under the first policy
    short_p50: float | None = None  # slots from arrival to end, of the jobs that ended and whose tasks take up to a cutoff
    short_p90: float | None = None
    short_p99: float | None = None
    long_p50: float | None = None  # and of those whose tasks take longer
    long_p90: float | None = None
    long_p99: float | None = None
    completion_bound: float | None = None  # slots: no policy's mean completion time is below it, if all jobs end


def whole_jobs(workload: Workload, by_policy: Sequence[Sequence[Result]], cutoff: float | None = None) -> list[list[WholeJobs]]:
    """For the runs of any policies, with their schedules: of the same seeds, or of one seed for a policy that does not depend
    on it, whose run then stands beside those of every seed of the others.

    `cutoff`: seconds (slots, where a workload does not say how long they are) that the tasks of short jobs take on average,
    as their estimates say, at most; without one short jobs are not told from long ones.
    """
    seeds = max(map(len, by_policy))
    beside = [[own[min(n, len(own) - 1)] for own in by_policy] for n in range(seeds)]
    last = [max(result.slots for result in runs) for runs in beside]
    played = [workload.at(max(result.seed for result in runs)) for runs in beside]
    bounds = [_bound(workload, runs) for workload, runs in zip(played, beside, strict=True)]
    return [
        [
            _measure(played[n], result, beside[n][0], last[n], cutoff)._replace(completion_bound=bounds[n])
            for n, result in enumerate(own)
        ]
        for own in by_policy
    ]


def _bound(workload: Workload, runs: Sequence[Result]) -> float | None:
    """None unless all jobs ended under some policy, and for a large table, where it takes long."""
    ended = any(result.jobs is not None and result.jobs.makespan is not None for result in runs)
    if not ended or workload.jobs is None or len(workload.jobs) > MOST_TASKS or job_numbers(workload.jobs).max() >= MOST_JOBS:
        return None
    return completion_bound(workload).mean


def _measure(workload: Workload, result: Result, first: Result, last: int, cutoff: float | None) -> WholeJobs:
    jobs, times, capacity = workload.jobs, result.jobs, workload.servers.units
    if jobs is None or times is None or result.schedule is None:
        return WholeJobs()
    seen = cut(result.schedule, result.slots)
    when, share = efficiency(jobs, times)
    moments = np.linspace(0, last, MOMENTS, endpoint=False).astype(np.int64)
    return WholeJobs(
        fragmentation=occupancy(jobs, seen, capacity, workload.network).fragmentation,
        over_allocation=float(most_allocated(jobs, seen, capacity, workload.network).max()),
        unfairness=unfairness(jobs, seen, capacity),
        efficiency=None if result.stopped else float(np.diff(share, prepend=0.0) @ (last - when) / last),
        progress_variance=None if result.stopped else float(progress(jobs, result.schedule, moments).var(axis=1).mean()),
        slowed=None if result is first else _slowed(result, first),
        **({} if cutoff is None else _by_class(jobs, times, cutoff / (workload.slot_seconds or 1.0))),
    )


def _by_class(jobs: Jobs, times: JobTimes, cutoff: float) -> dict[str, float]:
    """Quantiles of the completion times of short and of long jobs, of those classes of which any ended."""
    is_long = mean_durations(jobs) > cutoff
    ended = times.end != NONE
    found = {}
    for name, own in (("short", ended & ~is_long), ("long", ended & is_long)):
        if own.any():
            completion = (times.end - times.arrival)[own]
            for percent in (50, 90, 99):
                found[f"{name}_p{percent}"] = float(np.quantile(completion, percent / 100, method="inverted_cdf"))
    return found


def _slowed(result: Result, first: Result) -> float | None:
    """None where no job ended under both."""
    if result.jobs is None or first.jobs is None or not ((result.jobs.end != NONE) & (first.jobs.end != NONE)).any():
        return None
    return result.jobs.slowed(first.jobs)
