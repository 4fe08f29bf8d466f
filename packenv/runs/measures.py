"""The measures of runs: one row for each number, which records, tables, TensorBoard, logs, the leaderboard and its page read."""

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
from packenv.results.schedule import Schedule
from packenv.results.stability import combine
from packenv.runs.statistics import mean_and_half
from packenv.theory.completion.bound import completion_bound
from packenv.workloads.network import ANY, NODE, RACK
from packenv.workloads.workload import Workload

SLOTS, SHARE, TASKS, SIZE, SPEED, FACTOR = "slots", "share", "tasks", "size", "tasks/s", "factor"
"""Units. A size is as in `Servers.size_unit`; a speed says how fast this machine is, and differs from run to run."""

LESS, MORE, NEITHER = "less", "more", "–"
QUEUE, BATCH, JOBS, CLASSES, DATA = "queue", "batch", "jobs", "classes", "data"
"""Tables of measures: of tasks, of parallel jobs, of whole jobs, of short and of long jobs, of tasks with data."""

COMPLETION = "mean_completion"
"""Key of the measure that `completion_bound` bounds."""

MOMENTS = 100  # at which progress is looked at
MOST_TASKS, MOST_JOBS = 50_000, 2_000  # of a table whose completion times are bounded: about half a second

Value = float | None | list[float | None]
"""The value of a measure in a run; a list has one for each resource."""

Record = dict[str, Any]


@dataclass(frozen=True)
class SameJobs:
    """A run of each policy on the jobs of one seed: of a policy that does not depend on it, its one run.

    cutoff  seconds (slots, where a workload does not say how long they are) that the tasks of short jobs take on average, as
            their estimates say, at most; without one short jobs are not told from long ones
    """

    workload: Workload
    runs: Sequence[Result]
    cutoff: float | None = None

    @cached_property
    def played(self) -> Workload:
        """The workload with the table of this seed."""
        return self.workload.at(max(run.seed for run in self.runs))

    @cached_property
    def last(self) -> int:
        """The last slot of the slowest policy's run."""
        return max(run.slots for run in self.runs)

    @cached_property
    def completion_bound(self) -> float | None:
        """None unless all jobs ended under some policy, and for a large table, where it takes long."""
        ended = any(run.jobs is not None and run.jobs.makespan is not None for run in self.runs)
        jobs = self.played.jobs
        if not ended or jobs is None or len(jobs) > MOST_TASKS or job_numbers(jobs).max() >= MOST_JOBS:
            return None
        return completion_bound(self.played).mean


def same_jobs(workload: Workload, by_policy: Sequence[Sequence[Result]], cutoff: float | None = None) -> list[SameJobs]:
    """The runs of policies by seed."""
    seeds = range(max(map(len, by_policy)))
    return [SameJobs(workload, [runs[min(n, len(runs) - 1)] for runs in by_policy], cutoff) for n in seeds]


class WholeJobs(NamedTuple):
    """A run whose tasks make jobs, with what it played and its schedule."""

    run: Result
    workload: Workload
    jobs: Jobs
    times: JobTimes
    schedule: Schedule

    @property
    def cut(self) -> Schedule:
        """The schedule up to the run's last slot."""
        return cut(self.schedule, self.run.slots)


class Measure(NamedTuple):
    """A number of a run.

    key       its field in records, in JSON and CSV
    heading   of its column
    unit      SLOTS, SHARE, TASKS, SIZE, FACTOR or SPEED; slots are shown as seconds where the length of a slot is known
    better    LESS, MORE or NEITHER
    value_of  takes it from a run, beside the others on the same jobs; None where there was nothing to measure
    table     in which it is shown, if it is
    meaning   what it is, for the page of results
    scalar    its name in TensorBoard; what has one is also kept in logs
    ranked    its place on a leaderboard, of streams if it is in QUEUE, of tables of whole jobs in JOBS; 0: policies are not
              compared by it
    every     over the seeds it is None unless every seed has a value; otherwise the mean of those that there are
    spread    whether a mean over the seeds has an interval
    cell      the text of a mean and the half-width of its interval
    spare     its place among the columns of its table that a narrow terminal leaves out, 1 the first of them; 0: it stays
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

    def over_seeds(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """The mean over the seeds, and the half-width of its 95 % interval (Student's t); lists place by place."""
        if isinstance(values[0], list):
            both = [self.over_seeds(column) for column in zip(*values, strict=True)]
            return [mean for mean, _ in both], [half for _, half in both]
        return (None, None) if self.every and None in values else mean_and_half(values)


def _plain(mean: float | None, half: float | None) -> str:
    return number(mean)


def _about(mean: float | None, half: float | None) -> str:
    return number(mean) if mean is None else about(mean)


def _shares(means: Any, half: Any) -> str:
    return " ".join("–" if share is None else f"{share:.3f}" for share in means)


def _of_tasks(key: str, heading: str, unit: str, better: str, table: str = QUEUE, **more: Any) -> Measure:
    """A field of `Result`."""
    return Measure(key, heading, unit, better, lambda run, _: getattr(run, key), table, **more)


def _of_jobs(key: str, heading: str, unit: str, value_of: Callable[[JobTimes], float | None], **more: Any) -> Measure:
    """Taken from the times of whole jobs; None where the table has none."""
    return Measure(
        key, heading, unit, LESS, lambda run, _: None if run.jobs is None else value_of(run.jobs), JOBS, every=True, **more
    )


def _of_data(
    key: str, heading: str, unit: str, better: str, value_of: Callable[[DataLocality], float | None], **more: Any
) -> Measure:
    """Taken from where tasks with data ran; None where the table does not say where the data lie."""
    return Measure(
        key, heading, unit, better, lambda run, _: None if run.data is None else value_of(run.data), DATA, every=True, **more
    )


def _of_response(key: str, heading: str, unit: str, **more: Any) -> Measure:
    """A field of `Result.response`; None of a stream unless it was asked for."""
    return Measure(
        key, heading, unit, LESS, lambda run, _: None if run.response is None else getattr(run.response, key), BATCH, **more
    )


def _of_schedule(
    key: str,
    heading: str,
    better: str,
    value_of: Callable[[WholeJobs, SameJobs], float | None],
    table: str = JOBS,
    unit: str = SHARE,
    **more: Any,
) -> Measure:
    """Taken from the schedule of whole jobs; None where the tasks make no jobs, did not all arrive, or it was not kept."""

    def of_run(run: Result, same: SameJobs) -> float | None:
        if run.jobs is None or run.schedule is None or same.played.jobs is None:
            return None
        return value_of(WholeJobs(run, same.played, same.played.jobs, run.jobs, run.schedule), same)

    return Measure(key, heading, unit, better, of_run, table, every=True, **more)


def _of_class(name: str, percent: int, spare: int) -> Measure:
    """A quantile of the completion times of the short, or long, jobs that ended; None if there are none."""

    def value_of(whole: WholeJobs, same: SameJobs) -> float | None:
        if same.cutoff is None:
            return None
        is_long = mean_durations(whole.jobs) > same.cutoff / (whole.workload.slot_seconds or 1.0)
        chosen = (whole.times.end != NONE) & (is_long == (name == "long"))
        completion = (whole.times.end - whole.times.arrival)[chosen]
        return float(np.quantile(completion, percent / 100, method="inverted_cdf")) if len(completion) else None

    tasks = "up to" if name == "short" else "more than"
    meaning = f"{percent} % of the jobs whose tasks take {tasks} `--cutoff` seconds on average took no longer; null without it"
    return _of_schedule(
        f"{name}_p{percent}", f"{name} p{percent}", LESS, value_of, CLASSES, unit=SLOTS, spare=spare, meaning=meaning
    )


def _mean(slots: NDArray[np.int64]) -> float | None:
    return float(slots.mean()) if len(slots) else None


def _fragmentation(whole: WholeJobs, same: SameJobs) -> float:
    return occupancy(whole.jobs, whole.cut, whole.workload.servers.units, whole.workload.network).fragmentation


def _over_allocation(whole: WholeJobs, same: SameJobs) -> float:
    return float(most_allocated(whole.jobs, whole.cut, whole.workload.servers.units, whole.workload.network).max())


def _unfairness(whole: WholeJobs, same: SameJobs) -> float:
    return unfairness(whole.jobs, whole.cut, whole.workload.servers.units)


def _efficiency(whole: WholeJobs, same: SameJobs) -> float | None:
    when, share = efficiency(whole.jobs, whole.times)
    return None if whole.run.stopped else float(np.diff(share, prepend=0.0) @ (same.last - when) / same.last)


def _progress_variance(whole: WholeJobs, same: SameJobs) -> float | None:
    moments = np.linspace(0, same.last, MOMENTS, endpoint=False).astype(np.int64)
    return None if whole.run.stopped else float(progress(whole.jobs, whole.schedule, moments).var(axis=1).mean())


def _slowed(whole: WholeJobs, same: SameJobs) -> float | None:
    """None of the first policy, and where no job ended under both."""
    first = same.runs[0]
    if whole.run is first or first.jobs is None or not ((whole.times.end != NONE) & (first.jobs.end != NONE)).any():
        return None
    return whole.times.slowed(first.jobs)


MEASURES: list[Measure] = [
    _of_tasks("mean_queue", "mean queue", TASKS, LESS, scalar="result/mean queue", ranked=1, spare=8,
              meaning="waiting tasks, mean over the slots from `warmup` on"),
    _of_tasks("max_queue", "max", TASKS, LESS, cell=_plain, spare=2, meaning="waiting tasks in these slots, at most"),
    _of_tasks("mean_waiting_size", "waiting size", SIZE, LESS, table="",
              meaning="of the waiting tasks together, mean over these slots"),
    _of_tasks("mean_delay", "mean delay", SLOTS, LESS, scalar="cluster/delay",
              meaning="from when a task is eligible (has arrived, and what it waits for has ended) to its start, of tasks that "
                      "become eligible in these slots and start; a gang counts once"),
    _of_tasks("delay_p50", "p50", SLOTS, LESS, cell=_plain, spare=3, meaning="half of these tasks were not delayed longer"),
    _of_tasks("delay_p95", "p95", SLOTS, LESS, cell=_plain, spare=7, scalar="result/delay 95 %", meaning="95 % of them"),
    _of_tasks("delay_p99", "p99", SLOTS, LESS, cell=_plain, spare=5, meaning="99 % of them"),
    Measure("utilisation", "utilisation", SHARE, NEITHER, lambda run, _: list(run.utilisation), QUEUE,
            scalar="cluster/utilisation", cell=_shares, spare=6, meaning="of the capacity in service, for each resource"),
    *(_of_tasks(key, key, TASKS, NEITHER, table="", spread=False, meaning=f"that {key} in the whole run")
      for key in ("arrived", "started", "completed")),
    _of_tasks("waiting", "waiting", TASKS, LESS, cell=_plain, spare=4, spread=False, meaning="that wait at its end"),
    Measure("rejected", "turned away", TASKS, LESS, lambda run, _: None if run.rejected is None else sum(run.rejected.values()),
            spread=False, meaning="that were lost with `--reject` as they did not start when they arrived; null without it"),
    _of_tasks("tasks_per_second", "tasks/s", SPEED, NEITHER, cell=_about, spare=1,
              meaning="the simulation alone, without reading and compiling"),
    _of_response("mean_slowdown", "slowdown", FACTOR,
                 meaning="bounded slowdown of these tasks: max(1, (delay + service) / max(service, `slowdown_bound`)), mean; "
                         "null of streams without `--slowdown-bound`"),
    _of_response("slowdown_p95", "slowdown p95", FACTOR, spare=4, meaning="95 % of them were not slowed down more"),
    _of_response("max_slowdown", "slowdown max", FACTOR, spare=2, meaning="the largest"),
    _of_response("mean_response", "response", SLOTS, meaning="of these tasks, from eligible to end, mean; null like these"),
    _of_response("response_p95", "response p95", SLOTS, spare=3, meaning="95 % of them took no longer"),
    _of_response("max_response", "response max", SLOTS, spare=1, meaning="the longest"),
    _of_jobs("makespan", "makespan", SLOTS, lambda times: times.makespan, scalar="result/makespan", ranked=2, spare=6,
             meaning="from the first arrival to the last end; null while a job has not ended"),
    _of_jobs(COMPLETION, "mean completion", SLOTS, lambda times: times.mean, scalar="result/mean completion", ranked=1,
             meaning="from a job's first arrival to its last end"),
    _of_jobs("completion_p50", "p50", SLOTS, lambda times: times.quantile(0.5), spare=1,
             meaning="half of the jobs took no longer"),
    _of_jobs("completion_p95", "p95", SLOTS, lambda times: times.quantile(0.95), spare=7, meaning="95 % of them"),
    _of_jobs("completion_p99", "p99", SLOTS, lambda times: times.quantile(0.99), spare=2, meaning="99 % of them"),
    _of_schedule("fragmentation", "fragmentation", LESS, _fragmentation, spare=5,
                 meaning="of the capacity that is free while tasks wait"),
    _of_schedule("over_allocation", "over-allocation", LESS, _over_allocation, spare=3,
                 meaning="of a server's capacity, the most that one ever had in service"),
    _of_schedule("unfairness", "unfairness", LESS, _unfairness, scalar="result/unfairness", ranked=3, spare=4,
                 meaning="of their fair share, by which owners with waiting tasks are below it, mean"),
    _of_schedule("efficiency", "efficiency", MORE, _efficiency, table="",
                 meaning="of all value whose jobs have ended, mean from slot 0 to the end of the slowest policy's run of the "
                         "seed; null where the run was stopped"),
    _of_schedule("progress_variance", "progress variance", LESS, _progress_variance, table="",
                 meaning="variance over the jobs of the share of their service that is over, mean of 100 moments up to the same "
                         "end; null where the run was stopped"),
    _of_schedule("slowed", "slowed", LESS, _slowed, table="",
                 meaning="of jobs that took over a tenth longer than under the first policy, whose own is null"),
    *(_of_class(name, percent, spare)
      for name, spares in (("short", (1, 0, 3)), ("long", (2, 5, 4)))
      for percent, spare in zip((50, 90, 99), spares, strict=True)),
    Measure("completion_bound", "bound", SLOTS, NEITHER, lambda _, same: same.completion_bound, every=True,
            meaning="no policy's mean completion time is below it, [with proof](../explanation/completion_bound.md); null unless "
                    "all jobs end under some policy, and for tables of more than 50,000 tasks or 2,000 jobs"),
    _of_data("node_local", "at home", SHARE, MORE, lambda data: data.share(NODE),
             meaning="of the tasks with home servers that ran on one"),
    _of_data("rack_local", "in the rack", SHARE, NEITHER, lambda data: data.share(RACK), spare=1,
             meaning="that ran in the rack of one"),
    _of_data("remote", "elsewhere", SHARE, LESS, lambda data: data.share(ANY), spare=2, meaning="that ran elsewhere"),
    _of_data("task_completion", "completion", SLOTS, LESS, lambda data: _mean(data.completion), spare=6,
             meaning="of those tasks, from eligible to end, mean; the sum of the next four"),
    _of_data("task_service", "service", SLOTS, NEITHER, lambda data: _mean(data.service), spare=3,
             meaning="their service at home"),
    _of_data("remote_slots", "overhead", SLOTS, LESS, lambda data: _mean(data.overhead), spare=5,
             meaning="what they took longer elsewhere"),
    _of_data("scheduling_delay", "scheduling delay", SLOTS, LESS, lambda data: _mean(data.scheduling_delay),
             meaning="what they waited although some server had room for them (under delay scheduling: for their data)"),
    _of_data("no_room", "no room", SLOTS, LESS, lambda data: _mean(data.no_room), spare=4,
             meaning="what they waited while none had"),
]  # fmt: skip
"""All measures, in the order of records and of columns."""


def ranked_measures(table: str) -> list[Measure]:
    """The measures of a leaderboard in their places: those of QUEUE for streams, of JOBS for tables of whole jobs."""
    return sorted((row for row in MEASURES if row.ranked and row.table == table), key=lambda row: row.ranked)


def measured_values(run: Result, same: SameJobs) -> dict[str, Value]:
    """All measures of a run by their keys."""
    return {measure.key: measure.value_of(run, same) for measure in MEASURES}


ASKED = ("policy", "workload", "left_out_share", "left_out_work", "servers")


def record_of(run: Result, values: Mapping[str, Value], slot_seconds: float | None) -> Record:
    """The JSON record of one run. `slot_seconds`: the length of a slot, if known; all times are in slots."""
    record = {key: getattr(run, key) for key in (*ASKED, "seed", "slots", "warmup")}
    record |= {"slot_seconds": slot_seconds, **values, **run.verdict.plain}
    record["slowdown_bound"] = None if run.response is None else run.response.slowdown_bound
    record["rejected_by_reason"] = run.rejected
    record["node_local_by_job_size"] = None if run.data is None else run.data.by_size(NODE)
    return record | {key: getattr(run, key) for key in ("stopped", "seconds", "load", "rho")}


def summary_of(runs: Sequence[Result], values: Sequence[Mapping[str, Value]], slot_seconds: float | None) -> Record:
    """One policy over its seeds: means, and `interval` with the half-widths of their 95 % intervals, None for a single seed.

    The verdict is that of all seeds together.
    """
    record: Record = {key: getattr(runs[0], key) for key in ASKED} | {"seed": None}
    record |= {"seeds": len(runs), "slots": float(np.mean([run.slots for run in runs])), "slot_seconds": slot_seconds}
    interval: Record = {}
    for measure in MEASURES:
        record[measure.key], half = measure.over_seeds([of_run[measure.key] for of_run in values])
        interval |= {measure.key: half} if measure.spread else {}
    record |= combine(run.verdict for run in runs).plain
    record["slowdown_bound"] = next((run.response.slowdown_bound for run in runs if run.response is not None), None)
    record["stopped"] = next((run.stopped for run in runs if run.stopped), None)
    record["seconds"] = float(sum(run.seconds for run in runs))
    return record | {"interval": interval}
