"""`packenv.evaluate`: policies side by side on one workload. What is compared is checked before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from packenv.api import at_a_rate
from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES as DEFAULT_POLICIES
from packenv.options.shared import DEFAULT_SLOTS as DEFAULT_SLOTS
from packenv.options.verbs import EvaluateOptions
from packenv.policy import find_policy, name_of
from packenv.results.result import KINDS, Result
from packenv.runs.chance import seeds_for
from packenv.runs.measures import Record, flat, measured_values, record_of, same_jobs, summary_of
from packenv.runs.run import Run, runs_of
from packenv.runs.runner import RunOptions, run_all
from packenv.runs.size_classes import by_size, mean_by_size
from packenv.runs.statistics import Interval, ratio_of_means
from packenv.runs.text import counted
from packenv.workloads.estimates import misjudged
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.report.pictures import Picture
    from packenv.report.tables import Tables

NEARLY_EMPTY = 0.05  # utilisation


@dataclass(frozen=True)
class Evaluation:
    """Policies on one workload, and the runs that compare them, policy by policy."""

    workload: Workload
    seeds: Mapping[str, Sequence[int]]  # by policy: one where nothing is drawn by chance
    all_seeds: Sequence[int]
    runs: list[Run]
    options: EvaluateOptions

    def groups(self, results: Sequence[Result | None]) -> list[list[Result]]:
        """The results of each policy, of all in the order of the runs, without policies with a failed run (None)."""
        left = iter(results)
        groups = [[next(left) for _ in seeds] for seeds in self.seeds.values()]
        return [[self._known(run) for run in group if run is not None] for group in groups if None not in group]

    def _known(self, run: Result) -> Result:
        """The result with what was run, which other processes do not send back."""
        return run if run.played is not None else replace(run, played=self.workload)

    def compare(self, groups: list[list[Result]]) -> Comparison:
        """Measure the runs of one policy or more."""
        return Comparison(self.workload, groups, self.options.backlog, self.options.cutoff, self.options.by_size)


def evaluation(
    workload: Workload, policies: Iterable[Any], options: EvaluateOptions, *, schedule: bool = False, jobs_schedule: bool = False
) -> Evaluation:
    """The checked runs that `evaluate` compares, from its arguments. `jobs_schedule`: runs of tables keep their schedules.

    Raises InputError.
    """
    chosen = [*policies]
    names = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    shown = [name_of(find_policy(policy) if isinstance(policy, str) else policy) for policy in chosen]
    if len(set(shown)) < len(shown):
        given = "" if names == shown else f" ({', '.join(names)}): a class is told apart by an attribute `name`"
        raise InputError(f"two policies have the same name: {', '.join(shown)}{given}")
    if options.seed < 0:
        raise ArgumentError(f"`seed` must not be negative, not {options.seed}")
    if options.estimate_error is not None:
        workload = misjudged(workload, options.estimate_error)
    if options.backlog is not None and options.by_size:
        raise ArgumentError("`by_size` shows delays from arrival on; with `backlog` nothing arrives at a time of its own")
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if options.cutoff is not None and not (has_jobs and 0 < options.cutoff < math.inf):
        raise ArgumentError("`cutoff` is a number of seconds above 0, for tables that say which tasks make a job")
    endless = workload.jobs is None or begins_busy(workload)
    length = DEFAULT_SLOTS if options.slots is None and endless else options.slots
    of_run = {
        "drain": options.drain or None,
        "warmup": options.warmup,
        "waiting_limit": options.waiting_limit,
        "schedule": schedule or has_jobs or options.by_size or (jobs_schedule and workload.jobs is not None),
        "backlog": options.backlog,
    }
    seeds = options.seeds
    all_seeds = [*range(options.seed, options.seed + seeds)] if isinstance(seeds, int) else [*seeds]
    of_policy = {name: seeds_for(policy, workload, all_seeds) for name, policy in zip(names, chosen, strict=True)}
    pairs = zip(names, chosen, strict=True)
    runs = [run for name, policy in pairs for run in runs_of(workload, [policy], of_policy[name], length, of_run)]
    return Evaluation(workload, of_policy, all_seeds, runs, options)


@takes(EvaluateOptions)
def evaluate(
    workload: Any,
    policies: Iterable[Any] = DEFAULT_POLICIES,
    *,
    options: EvaluateOptions,
    schedule: bool = False,
    executor: Executor | None = None,
    **changes: Any,
) -> Comparison:
    """Run policies on a workload, all on the same tasks, and compare them.

    workload        a Workload, or what `packenv.workload` takes: a name, a file, a trace, a table. Its arguments, such as
                    `servers`, `slot_seconds` or `intensity`, go along here
    policies        names ("vqs:J=4") or objects
    options         the fields of `packenv.options.verbs.EvaluateOptions`
    schedule        results keep their schedules, for `Comparison.plot("schedule")`; those of whole jobs always do
    executor        where the runs are made, as of `packenv.simulate_many`: None is this process

    `seeds` may also be the seeds themselves. One run is made where neither the tasks nor the policy depend on them.
    Raises InputError for arguments that do not go together, and what a run raises.
    """
    prepared = evaluation(at_a_rate(workload, **changes), policies, options, schedule=schedule)
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as run_options:
        return prepared.compare(prepared.groups(run_all(prepared.runs, run_options)))


@dataclass(frozen=True, repr=False)
class Comparison:
    """The runs of each policy on the same tasks, and what they measured."""

    workload: Workload
    by_policy: list[list[Result]]
    backlog: int | None = None
    cutoff: float | None = None  # seconds
    by_size: bool = False

    @property
    def results(self) -> dict[str, list[Result]]:
        """The runs by policy, one for each seed."""
        return {runs[0].policy: runs for runs in self.by_policy}

    @property
    def all_runs(self) -> list[Result]:
        """The runs one after the other."""
        return [*chain(*self.by_policy)]

    @cached_property
    def _measured(self) -> tuple[list[Record], list[Record]]:
        slot = self.workload.shown_slot
        seeds = same_jobs(self.workload, self.by_policy, self.cutoff)
        values = [[measured_values(run, same) for run, same in zip(runs, seeds, strict=False)] for runs in self.by_policy]
        summaries = [summary_of(*group, slot) for group in zip(self.by_policy, values, strict=True)]
        records = [*map(record_of, self.all_runs, chain(*values), repeat(slot))]
        if self.by_size:
            classes = by_size(self.workload, self.by_policy)
            for record, classes_of_run in zip(records, chain(*classes), strict=True):
                record["by_size"] = classes_of_run
            for summary, group in zip(summaries, classes, strict=True):
                summary["by_size"] = mean_by_size(group)
        return summaries, records

    @property
    def summaries(self) -> list[Record]:
        """For each policy its means over the seeds, and `interval` with the half-widths of their 95 % intervals, in slots."""
        return self._measured[0]

    @property
    def records(self) -> list[Record]:
        """The measures of each run, in slots."""
        return self._measured[1]

    @property
    def remarks(self) -> list[str]:
        """The remarks of policies on their first runs, and that nothing waits on servers that are nearly empty."""
        idle = []
        if self.workload.jobs is not None and all(run.max_queue == 0 for run in self.all_runs):
            busy = max(share or 0.0 for run in self.all_runs for share in run.utilisation)
            if busy < NEARLY_EMPTY:
                size = f"{self.workload.servers} is {counted(len(self.workload.servers), 'server')}"
                idle = [f"nothing waits, and at most {busy:.1%} of the servers is busy: too many, or too large ({size})"]
        return idle + [
            f"{run.policy}: {run.remark} (seed {run.seed})" for run in (runs[0] for runs in self.by_policy) if run.remark
        ]

    @property
    def stopped(self) -> list[str]:
        """Which runs were stopped before their end."""
        return [f"{summary['policy']}: stopped, {summary['stopped']}" for summary in self.summaries if summary["stopped"]]

    def ratio(self, policy: Any, other: Any, measure: str = "mean_queue") -> Interval:
        """The mean of a measure under `policy` over that under `other`, paired seed by seed, with its 95 % interval.

        policy   as it was given to `evaluate`, or as `results` has it
        measure  a number of the records: "mean_queue", "mean_delay", "delay_p95", "mean_completion", "makespan", …

        What both suffer from the same tasks cancels. Raises InputError for an unknown policy or measure.
        """
        pair = [self._values(name, measure) for name in (policy, other)]
        seeds = max(map(len, pair))
        above, below = (values * seeds if len(values) == 1 else values for values in pair)
        return ratio_of_means(above, below)

    def _values(self, policy: Any, measure: str) -> list[float | None]:
        name = policy if policy in self.results else name_of(find_policy(policy) if isinstance(policy, str) else policy)
        runs = [record for record in self.records if record["policy"] == name]
        if not runs:
            raise InputError(f"no policy {name!r} was compared: {', '.join(self.results)}")
        values = [record.get(measure, "") for record in runs]
        if not all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
            numbers = [key for key, value in runs[0].items() if isinstance(value, (int, float))]
            raise InputError(f"{measure!r} is no measure; known: {', '.join(numbers)}")
        return values

    def table(self) -> Tables:
        """What `packenv evaluate` prints: means over the seeds, ± the half-width of a 95 % interval, and what marks mean."""
        from packenv.report.comparison_tables import legend, tables_of
        from packenv.report.tables import Tables

        return Tables(tables_of(self), [*legend(self), *self.remarks, *self.stopped])

    def plot(self, kind: str = "queue", **options: Any) -> Picture:
        """A figure of matplotlib: "queue", waiting tasks over time, and quantiles of the delay; or "schedule", who ran where and
        when in the first run of each policy (options: `first`, `last`, `colour`). Raises InputError as `Result.plot` does.
        """
        from packenv.report.frames import known_kind
        from packenv.report.run_charts import runs_chart
        from packenv.report.schedule_chart import schedule_chart

        if known_kind(kind, KINDS, "kind of picture") == "schedule":
            return schedule_chart([runs[0] for runs in self.by_policy], self.workload, **options)
        return runs_chart(self.by_policy, self.workload, self.backlog, **options)

    def to_frame(self, library: str = "arrow") -> Any:
        """A row for each run with its measures, as an Arrow table or a frame of "pandas" or "polars".

        `utilisation.0` and the like for what is inside of fields; times are in slots.
        """
        from packenv.report.frames import frame_of_rows

        return frame_of_rows([dict(flat(record)) for record in self.records], library)

    def to_dict(self) -> dict[str, Any]:
        """All records in plain values, ready for JSON: `policies`, the means of each, and `runs`."""
        return {"workload": self.workload.name, "policies": self.summaries, "runs": self.records}

    @property
    def _title(self) -> str:
        from packenv.report.story import story_of

        seeds = max(map(len, self.by_policy))
        return f"Comparison on {self.workload.name}, {seeds} seed{'' if seeds == 1 else 's'}: {story_of(self.by_policy)}"

    def __repr__(self) -> str:
        from packenv.report.frames import facts_text
        from packenv.runs.text import estimate

        facts = []
        for summary in self.summaries:
            queue = estimate(summary["mean_queue"], summary["interval"]["mean_queue"])
            facts.append((summary["policy"], f"{summary['verdict']}, mean queue {queue}"))
        return facts_text(self._title, facts)

    def _repr_html_(self) -> str:
        return self.table().html(self._title)
