"""The measures of runs: one row for each number.

Records, tables, TensorBoard, logs, the leaderboard and its page use them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.content.text import about, estimate, number
from packenv.jobs import Jobs
from packenv.results.fairness import unfairness
from packenv.results.job_times import NONE, JobTimes, cut, efficiency, job_numbers, mean_durations, progress
from packenv.results.locality import DataLocality
from packenv.results.occupancy import most_allocated, occupancy
from packenv.results.result import Result
from packenv.results.schedule_table import Schedule
from packenv.results.stability import combine
from packenv.runs.statistics import DOUBT, mean_and_half
from packenv.theory.completion.bound import completion_bound
from packenv.workloads.network import ANY, NODE, RACK
from packenv.workloads.workload import Workload

SLOTS, SHARE, TASKS, SIZE, SPEED, FACTOR = "slots", "share", "tasks", "size", "tasks/s", "factor"
"""Units. Sizes are as in `Servers.size_unit`. Speeds depend on the machine and differ from run to run."""

LESS, MORE, NEITHER = "less", "more", "–"
QUEUE, BATCH, JOBS, CLASSES, DATA = "queue", "batch", "jobs", "classes", "data"
"""Tables of measures: of tasks, of parallel jobs, of whole jobs, of short and of long jobs, of tasks with data."""

COMPLETION = "mean_completion"
"""Key of the measure with the bound `completion_bound`."""

MOMENTS = 100  # of a run, to measure progress
MOST_TASKS, MOST_JOBS = 50_000, 2_000  # of a table whose completion times are bounded: about half a second

Value = float | None | list[float | None]
"""The value of a measure in a run; a list has one for each resource."""

Record = dict[str, Any]


@dataclass(frozen=True)
class SameJobs:
    """A run of each policy on the jobs of one seed.

    Policies that do not depend on the seed have one run.
    cutoff  largest mean estimate of the tasks of short jobs, in seconds, or slots if their length is unknown. None: no classes
    """

    workload: Workload
    runs: Sequence[Result]
    cutoff: float | None = None

    @cached_property
    def played(self) -> Workload:
        """Workload with the table of this seed."""
        return self.workload.at(max(run.seed for run in self.runs))

    @cached_property
    def last(self) -> int:
        """Last slot of the slowest policy's run."""
        return max(run.slots for run in self.runs)

    @cached_property
    def completion_bound(self) -> float | None:
        """Bound on the mean completion time.

        None unless all jobs ended under some policy, and for large tables.
        """
        ended = any(run.jobs is not None and run.jobs.makespan is not None for run in self.runs)
        jobs = self.played.jobs
        if not ended or jobs is None or len(jobs) > MOST_TASKS or job_numbers(jobs).max() >= MOST_JOBS:
            return None
        return completion_bound(self.played).mean


def same_jobs(workload: Workload, by_policy: Sequence[Sequence[Result]], cutoff: float | None = None) -> list[SameJobs]:
    """Return the runs of policies by seed."""
    seeds = range(max(map(len, by_policy)))
    return [SameJobs(workload, [runs[min(n, len(runs) - 1)] for runs in by_policy], cutoff) for n in seeds]


class JobsRun(NamedTuple):
    """A run whose tasks make jobs, with its workload and schedule."""

    run: Result
    workload: Workload
    jobs: Jobs
    times: JobTimes
    schedule: Schedule

    @property
    def cut(self) -> Schedule:
        """Schedule up to the run's last slot."""
        return cut(self.schedule, self.run.slots)


class Measure(NamedTuple):
    """A number of a run.

    key       field in records, in JSON and CSV
    heading   of its column
    unit      SLOTS, SHARE, TASKS, SIZE, FACTOR or SPEED. Slots are shown as seconds if the length of a slot is known
    better    LESS, MORE or NEITHER
    value_of  called with a run and all runs on the same jobs. None if nothing was measured
    table     that shows it, if any
    meaning   for the page of results
    scalar    name in TensorBoard. Measures with a name are also stored in logs
    ranked    place on a leaderboard: of streams for QUEUE, of tables of whole jobs for JOBS. 0: not compared
    every     the mean over the seeds is None unless every seed has a value. Otherwise it is over the seeds that have one
    spread    whether a mean over the seeds has an interval
    cell      text of a mean and the half-width of its interval
    spare     order in which a narrow terminal leaves columns out, from 1. 0: never
    """

    key: str
    heading: str
    unit: str
    better: str
    value_of: Callable[[Result, SameJobs], Value]
    table: str = ""
    meaning: str = ""
    scalar: str = ""
    ranked: int = 0
    every: bool = False
    spread: bool = True
    cell: Callable[[float | None, float | None], str] = estimate
    spare: int = 0

    def over_seeds(self, values: Sequence[Any], doubt: float = DOUBT) -> tuple[Any, Any]:
        """Return mean and half-width of the 1 - `doubt` interval over seeds (Student's t).

        Lists are averaged place by place.
        """
        if isinstance(values[0], list):
            both = [self.over_seeds(column, doubt) for column in zip(*values, strict=True)]
            return [mean for mean, _ in both], [half for _, half in both]
        return (None, None) if self.every and None in values else mean_and_half(values, doubt)


def _plain(mean: float | None, half: float | None) -> str:
    return number(mean)


def _about(mean: float | None, half: float | None) -> str:
    return number(mean) if mean is None else about(mean)


def _shares(means: Any, half: Any) -> str:
    return " ".join("–" if share is None else f"{share:.3f}" for share in means)


def _of_tasks(key: str, heading: str, unit: str, better: str, table: str = QUEUE, **more: Any) -> Measure:
    """Return a measure that is a field of `Result`."""
    return Measure(key, heading, unit, better, lambda run, _: getattr(run, key), table, **more)


def _of_jobs(key: str, heading: str, unit: str, value_of: Callable[[JobTimes], float | None], **more: Any) -> Measure:
    """Return a measure of the times of whole jobs, None without jobs."""
    return Measure(
        key, heading, unit, LESS, lambda run, _: None if run.jobs is None else value_of(run.jobs), JOBS, every=True, **more
    )


def _of_data(
    key: str, heading: str, unit: str, better: str, value_of: Callable[[DataLocality], float | None], **more: Any
) -> Measure:
    """Return a measure of data locality, None without data."""
    return Measure(
        key, heading, unit, better, lambda run, _: None if run.data is None else value_of(run.data), DATA, every=True, **more
    )


def _of_response(key: str, heading: str, unit: str, **more: Any) -> Measure:
    """Return a field of `Result.response`, None for streams unless wanted."""
    return Measure(
        key, heading, unit, LESS, lambda run, _: None if run.response is None else getattr(run.response, key), BATCH, **more
    )


def _of_schedule(
    key: str,
    heading: str,
    better: str,
    value_of: Callable[[JobsRun, SameJobs], float | None],
    table: str = JOBS,
    unit: str = SHARE,
    **more: Any,
) -> Measure:
    """Return a measure of the schedule of whole jobs.

    None without jobs, without a stored schedule, or if not all tasks arrived.
    """

    def of_run(run: Result, same: SameJobs) -> float | None:
        if run.jobs is None or run.schedule is None or same.played.jobs is None:
            return None
        return value_of(JobsRun(run, same.played, same.played.jobs, run.jobs, run.schedule), same)

    return Measure(key, heading, unit, better, of_run, table, every=True, **more)


def _of_class(name: str, percent: int, spare: int) -> Measure:
    """Return a quantile of completion of the short or long jobs.

    Covers jobs that ended. None without any.
    """

    def value_of(jobs: JobsRun, same: SameJobs) -> float | None:
        if same.cutoff is None:
            return None
        is_long = mean_durations(jobs.jobs) > same.cutoff / (jobs.workload.slot_seconds or 1.0)
        chosen = (jobs.times.end != NONE) & (is_long == (name == "long"))
        completion = (jobs.times.end - jobs.times.arrival)[chosen]
        return float(np.quantile(completion, percent / 100, method="inverted_cdf")) if len(completion) else None

    tasks = "up to" if name == "short" else "more than"
    average = f"jobs whose tasks take {tasks} `--cutoff` seconds on average"
    meaning = f"{percent}th percentile of the completion time, in slots, of {average}. Null without it"
    return _of_schedule(
        f"{name}_p{percent}", f"{name} p{percent}", LESS, value_of, CLASSES, unit=SLOTS, spare=spare, meaning=meaning
    )


def _mean(slots: NDArray[np.int64]) -> float | None:
    return float(slots.mean()) if len(slots) else None


def _fragmentation(jobs: JobsRun, same: SameJobs) -> float:
    return occupancy(jobs.jobs, jobs.cut, jobs.workload.servers.units, jobs.workload.network).fragmentation


def _over_allocation(jobs: JobsRun, same: SameJobs) -> float:
    return float(most_allocated(jobs.jobs, jobs.cut, jobs.workload.servers.units, jobs.workload.network).max())


def _unfairness(jobs: JobsRun, same: SameJobs) -> float:
    return unfairness(jobs.jobs, jobs.cut, jobs.workload.servers.units)


def _efficiency(jobs: JobsRun, same: SameJobs) -> float | None:
    when, share = efficiency(jobs.jobs, jobs.times)
    return None if jobs.run.stopped else float(np.diff(share, prepend=0.0) @ (same.last - when) / same.last)


def _progress_variance(jobs: JobsRun, same: SameJobs) -> float | None:
    moments = np.linspace(0, same.last, MOMENTS, endpoint=False).astype(np.int64)
    return None if jobs.run.stopped else float(progress(jobs.jobs, jobs.schedule, moments).var(axis=1).mean())


def _slowed(jobs: JobsRun, same: SameJobs) -> float | None:
    """Return the share of slowed jobs.

    None for the first policy, and if no job ended under both.
    """
    first = same.runs[0]
    if jobs.run is first or first.jobs is None or not ((jobs.times.end != NONE) & (first.jobs.end != NONE)).any():
        return None
    return jobs.times.slowed(first.jobs)


MEASURES: list[Measure] = [
    _of_tasks("mean_queue", "mean queue", TASKS, LESS, scalar="result/mean queue", ranked=1, spare=9,
              meaning="mean number of waiting tasks, over the slots from `warmup` on"),
    _of_tasks("max_queue", "max", TASKS, LESS, cell=_plain, spare=2,
              meaning="largest number of waiting tasks, in the slots from `warmup` on"),
    _of_tasks("mean_waiting_size", "waiting size", SIZE, LESS, table="",
              meaning="mean total size of the waiting tasks, over the slots from `warmup` on"),
    _of_tasks("mean_delay", "mean delay", SLOTS, LESS, scalar="cluster/delay",
              meaning="mean delay: time from eligible (arrived, and all that it waits for has ended) to start. Tasks count that "
                      "become eligible in the slots from `warmup` on and start. A gang counts once"),
    _of_tasks("mean_response", "response", SLOTS, LESS, spare=5,
              meaning="mean response, from eligible to end, of the tasks of `mean_delay`. A gang ends with its last task"),
    _of_tasks("delay_p50", "p50", SLOTS, LESS, cell=_plain, spare=3, meaning="median of the delay, in slots"),
    _of_tasks("delay_p95", "p95", SLOTS, LESS, cell=_plain, spare=8, scalar="result/delay 95 %",
              meaning="95th percentile of the delay, in slots"),
    _of_tasks("delay_p99", "p99", SLOTS, LESS, cell=_plain, spare=6, meaning="99th percentile of the delay, in slots"),
    Measure("utilisation", "utilisation", SHARE, NEITHER, lambda run, _: list(run.utilisation), QUEUE,
            scalar="cluster/utilisation", cell=_shares, spare=7, meaning="share of the capacity in service, for each resource"),
    *(_of_tasks(key, key, TASKS, NEITHER, table="", spread=False, meaning=f"tasks that {key} in the whole run")
      for key in ("arrived", "started", "completed")),
    _of_tasks("waiting", "waiting", TASKS, LESS, cell=_plain, spare=4, spread=False,
              meaning="tasks still waiting when the run ends"),
    Measure("rejected", "turned away", TASKS, LESS, lambda run, _: None if run.rejected is None else sum(run.rejected.values()),
            spread=False, meaning="tasks lost with `--reject` because they could not start on arrival. Null without it"),
    _of_tasks("tasks_per_second", "tasks/s", SPEED, NEITHER, cell=_about, spare=1,
              meaning="speed of the simulation, without reading and compiling"),
    _of_response("mean_slowdown", "slowdown", FACTOR,
                 meaning="mean bounded slowdown, max(1, (delay + service) / max(service, `slowdown_bound`)), of the tasks of "
                         "`mean_delay`. Null for streams without `--slowdown-bound`"),
    _of_response("slowdown_p95", "slowdown p95", FACTOR, spare=4, meaning="95th percentile of the bounded slowdown"),
    _of_response("max_slowdown", "slowdown max", FACTOR, spare=2, meaning="largest bounded slowdown"),
    _of_response("response_p95", "response p95", SLOTS, spare=3, meaning="95th percentile of the response, in slots"),
    _of_response("max_response", "response max", SLOTS, spare=1, meaning="longest response, in slots"),
    _of_jobs("makespan", "makespan", SLOTS, lambda times: times.makespan, scalar="result/makespan", ranked=2, spare=6,
             meaning="time from the first arrival to the last end. Null unless all jobs ended"),
    _of_jobs(COMPLETION, "mean completion", SLOTS, lambda times: times.mean, scalar="result/mean completion", ranked=1,
             meaning="mean completion time of jobs, from first arrival to last end"),
    _of_jobs("completion_p50", "p50", SLOTS, lambda times: times.quantile(0.5), spare=1,
             meaning="median completion time of jobs, in slots"),
    _of_jobs("completion_p95", "p95", SLOTS, lambda times: times.quantile(0.95), spare=7,
             meaning="95th percentile of the completion time of jobs, in slots"),
    _of_jobs("completion_p99", "p99", SLOTS, lambda times: times.quantile(0.99), spare=2,
             meaning="99th percentile of the completion time of jobs, in slots"),
    _of_schedule("fragmentation", "fragmentation", LESS, _fragmentation, spare=5,
                 meaning="share of the capacity that is free while tasks wait"),
    _of_schedule("over_allocation", "over-allocation", LESS, _over_allocation, spare=3,
                 meaning="largest share of a server's capacity ever in service"),
    _of_schedule("unfairness", "unfairness", LESS, _unfairness, scalar="result/unfairness", ranked=3, spare=4,
                 meaning="share of their fair share that owners with waiting tasks lack, mean"),
    _of_schedule("efficiency", "efficiency", MORE, _efficiency, table="",
                 meaning="share of all value whose jobs have ended, mean from slot 0 to the end of the slowest policy's run of "
                         "the seed. Null if the run was stopped"),
    _of_schedule("progress_variance", "progress variance", LESS, _progress_variance, table="",
                 meaning="variance over jobs of the finished share of their service, averaged over 100 moments. These divide the "
                         "seed's longest run, over all policies, evenly. Null if the run was stopped"),
    _of_schedule("slowed", "slowed", LESS, _slowed, table="",
                 meaning="share of the jobs that took over a tenth longer than under the first policy. "
                         "Null for the first policy"),
    *(_of_class(name, percent, spare)
      for name, spares in (("short", (1, 0, 3)), ("long", (2, 5, 4)))
      for percent, spare in zip((50, 90, 99), spares, strict=True)),
    Measure("completion_bound", "bound", SLOTS, NEITHER, lambda _, same: same.completion_bound, every=True,
            meaning="lower bound for all policies on the mean completion time, [with proof](../explanation/completion_bound.md). "
                    "Null unless all jobs end under some policy, and for tables of more than 50,000 tasks or 2,000 jobs"),
    _of_data("node_local", "at home", SHARE, MORE, lambda data: data.share(NODE),
             meaning="share of the tasks with home servers that ran on one of them"),
    _of_data("rack_local", "in the rack", SHARE, NEITHER, lambda data: data.share(RACK), spare=1,
             meaning="share of the tasks with home servers that ran in the rack of one"),
    _of_data("remote", "elsewhere", SHARE, LESS, lambda data: data.share(ANY), spare=2,
             meaning="share of the tasks with home servers that ran elsewhere"),
    _of_data("task_completion", "completion", SLOTS, LESS, lambda data: _mean(data.completion), spare=6,
             meaning="mean time of tasks with home servers from eligible to end. The sum of the next four"),
    _of_data("task_service", "service", SLOTS, NEITHER, lambda data: _mean(data.service), spare=3,
             meaning="mean service of tasks with home servers, at home"),
    _of_data("remote_slots", "overhead", SLOTS, LESS, lambda data: _mean(data.overhead), spare=5,
             meaning="mean additional service of tasks with home servers, from running elsewhere"),
    _of_data("scheduling_delay", "scheduling delay", SLOTS, LESS, lambda data: _mean(data.scheduling_delay),
             meaning="mean wait of tasks with home servers although a server had room (under delay scheduling: for their data)"),
    _of_data("no_room", "no room", SLOTS, LESS, lambda data: _mean(data.no_room), spare=4,
             meaning="mean wait of tasks with home servers while no server had room"),
]  # fmt: skip
"""All measures, in the order of records and of columns."""


def ranked_measures(table: str) -> list[Measure]:
    """Return the measures of a leaderboard in order.

    QUEUE is for streams, JOBS for tables of whole jobs.
    """
    return sorted((row for row in MEASURES if row.ranked and row.table == table), key=lambda row: row.ranked)


def measured_values(run: Result, same: SameJobs) -> dict[str, Value]:
    """Return all measures of a run by key."""
    return {measure.key: measure.value_of(run, same) for measure in MEASURES}


ASKED = ("policy", "workload", "left_out_share", "left_out_work", "servers")


def record_of(run: Result, values: Mapping[str, Value], slot_seconds: float | None) -> Record:
    """Return the JSON record of one run, times in slots.

    `slot_seconds`: length of a slot, if known.
    """
    record = {key: getattr(run, key) for key in (*ASKED, "seed", "slots", "warmup")}
    record |= {"slot_seconds": slot_seconds, **values, **run.verdict.plain}
    record["slowdown_bound"] = None if run.response is None else run.response.slowdown_bound
    record["rejected_by_reason"] = run.rejected
    record["node_local_by_job_size"] = None if run.data is None else run.data.by_size(NODE)
    return record | {key: getattr(run, key) for key in ("stopped", "seconds", "load", "rho")}


def summary_of(
    runs: Sequence[Result], values: Sequence[Mapping[str, Value]], slot_seconds: float | None, doubt: float = DOUBT
) -> Record:
    """Return one policy's means over its seeds.

    `interval` has the half-widths of 1 - `doubt` intervals, None for a single seed. The verdict is on all seeds together.
    """
    record: Record = {key: getattr(runs[0], key) for key in ASKED} | {"seed": None}
    record |= {"seeds": len(runs), "slots": float(np.mean([run.slots for run in runs])), "slot_seconds": slot_seconds}
    interval: Record = {}
    for measure in MEASURES:
        record[measure.key], half = measure.over_seeds([of_run[measure.key] for of_run in values], doubt)
        interval |= {measure.key: half} if measure.spread else {}
    record |= combine(run.verdict for run in runs).plain
    record["slowdown_bound"] = next((run.response.slowdown_bound for run in runs if run.response is not None), None)
    record["stopped"] = next((run.stopped for run in runs if run.stopped), None)
    record["seconds"] = float(sum(run.seconds for run in runs))
    return record | {"interval": interval}
