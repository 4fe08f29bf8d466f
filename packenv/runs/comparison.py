"""`packenv.evaluate`: policies compared on one workload."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any

from packenv.api import at_a_rate
from packenv.content.page import Charts, Page, Section, check_kind
from packenv.content.showable import Showable
from packenv.content.tables import Styled, Table
from packenv.content.text import OVERLOADED, clock_for, counted, estimate, listed, number
from packenv.errors import ArgumentError, InputError
from packenv.executors.local import ThisProcess
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES as DEFAULT_POLICIES
from packenv.options.shared import DEFAULT_SLOTS as DEFAULT_SLOTS
from packenv.options.verbs import MOST_SEEDS, EvaluateOptions
from packenv.policy import distinct_names, find_policy, is_told_durations, name_of
from packenv.results.result import KINDS, Result
from packenv.results.stability import UNSTABLE
from packenv.runs import comparison_tables, run_charts
from packenv.runs.chance import seeds_for
from packenv.runs.delay_classes import by_label, by_size, labels_of, mean_by_class
from packenv.runs.measures import COMPLETION, JOBS, MEASURES, SPEED, Record, measured_values, record_of, same_jobs, summary_of
from packenv.runs.run import Run, runs_of
from packenv.runs.runner import RunOptions, run_all
from packenv.runs.statistics import DOUBT, DOUBT_IN_LOOKS, Interval, mean_and_half, ratio_of_means
from packenv.runs.story import story_of, verdict_of
from packenv.runs.sweep import Sweep, at_each_load, check_measure, several_loads
from packenv.simulation import setting_of
from packenv.workloads.estimates import misjudged
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import Workload

MOST_LETTERS = 40  # of servers in a line; above, only their number is shown
NEARLY_EMPTY = 0.05  # utilisation
FEWEST_SEEDS = 4  # from which the width of an interval is judged


@dataclass(frozen=True)
class Evaluation:
    """Policies on one workload, and the runs to compare, by policy."""

    workload: Workload
    seeds: Mapping[str, Sequence[int]]  # by policy, as it was given: one where nothing is drawn by chance
    all_seeds: Sequence[int]
    names: list[str]  # of the policies, in results
    runs: list[Run]
    options: EvaluateOptions
    duration_aware: tuple[str, ...] = ()  # names of the policies that know durations

    def with_twice_the_seeds(self) -> Evaluation:
        """The same runs, and as many of other seeds. A policy that is run once keeps its run."""
        more = min(2 * len(self.all_seeds), max(MOST_SEEDS, len(self.all_seeds))) - len(self.all_seeds)
        further = range(max(self.all_seeds) + 1, max(self.all_seeds) + 1 + more)
        seeds, runs, left = {}, [], iter(self.runs)
        for policy, of_policy in self.seeds.items():
            added = further if len(of_policy) == len(self.all_seeds) else ()
            seeds[policy] = [*of_policy, *added]
            runs += [next(left) for _ in of_policy]
            runs += [replace(runs[-1], seed=seed) for seed in added]
        return replace(self, seeds=seeds, all_seeds=[*self.all_seeds, *further], runs=runs)

    def too_wide(self, groups: Sequence[Sequence[Result]]) -> list[str]:
        """Names of the policies whose mean queue has a wider 95 % interval than `until` allows.

        The mean of an unstable policy depends on the length of the runs, so it is not judged.
        """
        wide = []
        for runs in groups:
            mean, half = mean_and_half([run.mean_queue for run in runs], DOUBT_IN_LOOKS)
            if mean and half and half > (self.options.until or math.inf) * mean and verdict_of(runs) != UNSTABLE:
                wide.append(runs[0].policy)
        return wide

    def groups(self, results: Sequence[Result | None]) -> list[list[Result]]:
        """Return the results of each policy, from all in the order of the runs.

        Policies with a failed run (None) are left out.
        """
        left = iter(results)
        groups = [(name, [next(left) for _ in seeds]) for name, seeds in zip(self.names, self.seeds.values(), strict=True)]
        return [
            [self._with_workload(run, name) for run in group if run is not None] for name, group in groups if None not in group
        ]

    def _with_workload(self, run: Result, name: str) -> Result:
        """Return the result with its workload and the policy's name here."""
        known = run.played is not None and run.policy == name
        return run if known else replace(run, policy=name, played=run.played or self.workload)

    def compare(self, groups: list[list[Result]]) -> Comparison:
        """Measure the runs of one policy or more."""
        of = self.options
        to_the_end = of.drain or (of.slots is None and self.workload.at_once)
        shown = of.backlog, of.cutoff, of.by_size, of.by, of.slowdown_bound
        wide = tuple(self.too_wide(groups))
        return Comparison(self.workload, groups, *shown, self.duration_aware, to_the_end, of.until, wide)


def comparisons_of(evaluations: Sequence[Evaluation], make: Callable[[list[Run]], Sequence[Result | None]]) -> list[Comparison]:
    """Make the runs of all evaluations, with more seeds where `until` asks for them, and measure them.

    make  makes runs, and returns their results in the same order: None for a run that failed
    """
    evaluations, pending = [*evaluations], [*range(len(evaluations))]
    results: list[dict[tuple[str, int], Result | None]] = [{} for _ in evaluations]
    while True:
        # Make the runs that are missing, of all evaluations together.
        missing = []
        for n in pending:
            of = evaluations[n]
            keys = [(name, seed) for name, seeds in zip(of.names, of.seeds.values(), strict=True) for seed in seeds]
            missing += [(n, key, run) for key, run in zip(keys, of.runs, strict=True) if key not in results[n]]
        for (n, key, _), result in zip(missing, make([run for *_, run in missing]), strict=True):
            results[n][key] = result
        # Put the results in the order of the runs, and double the seeds where an interval is too wide.
        groups = []
        for of, known in zip(evaluations, results, strict=True):
            seeds_of = zip(of.names, of.seeds.values(), strict=True)
            groups.append(of.groups([known[name, seed] for name, seeds in seeds_of for seed in seeds]))
        pending = [
            n
            for n in pending
            if len(evaluations[n].all_seeds) < MOST_SEEDS
            and None not in results[n].values()
            and evaluations[n].too_wide(groups[n])
        ]
        if not pending:
            return [of.compare(group) for of, group in zip(evaluations, groups, strict=True) if group]
        for n in pending:
            evaluations[n] = evaluations[n].with_twice_the_seeds()


def evaluation(
    workload: Workload,
    policies: Iterable[Any],
    options: EvaluateOptions,
    *,
    schedule: bool = False,
    jobs_schedule: bool = False,
    devices_schedule: bool = False,
) -> Evaluation:
    """Return the checked runs of `evaluate`, from its arguments.

    Runs store their schedules: all, those of tables, or those on servers with devices. Raises InputError.
    """
    chosen = [*policies]
    shown = distinct_names(chosen)
    names = [policy if isinstance(policy, str) else name for policy, name in zip(chosen, shown, strict=True)]
    if options.seed < 0:
        raise ArgumentError(f"`seed` must not be negative, not {options.seed}")
    if options.estimate_error is not None:
        workload = misjudged(workload, options.estimate_error)
    for name in ("by_size", "by"):
        if options.backlog is not None and getattr(options, name):
            raise ArgumentError(f"`{name}` needs arrival times, and `backlog` has none: leave one out")
    if options.by is not None:
        if workload.jobs is None:
            raise ArgumentError(f"`by`: {workload.name} is random, and its tasks have no labels: `by_size` has classes of sizes")
        labels_of(workload, workload.jobs, options.by)
    # Options that do not go with the workload.
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if options.cutoff is not None and not (has_jobs and 0 < options.cutoff < math.inf):
        raise ArgumentError("`cutoff` is a number of seconds above 0, for tables that say which tasks make a job")
    # Options of each run.
    endless = workload.jobs is None or begins_busy(workload)
    length = DEFAULT_SLOTS if options.slots is None and endless else options.slots
    of_run = {
        "drain": options.drain or None,
        "warmup": options.warmup,
        "waiting_limit": options.waiting_limit,
        "schedule": schedule
        or has_jobs
        or options.by_size
        or options.by is not None
        or workload.recorded_waits is not None
        or (jobs_schedule and workload.jobs is not None)
        or (devices_schedule and workload.has_devices),
        "backlog": options.backlog,
        **({"reject": True} if options.reject else {}),
        "slowdown_bound": options.slowdown_bound,
    }
    seeds = options.seeds
    all_seeds = [*range(options.seed, options.seed + seeds)] if isinstance(seeds, int) else [*seeds]
    if options.until is not None and len(all_seeds) < FEWEST_SEEDS:
        all_seeds += range(max(all_seeds) + 1, max(all_seeds) + 1 + FEWEST_SEEDS - len(all_seeds))
    of_policy = {name: seeds_for(policy, workload, all_seeds) for name, policy in zip(names, chosen, strict=True)}
    pairs = zip(names, chosen, strict=True)
    runs = [run for name, policy in pairs for run in runs_of(workload, [policy], of_policy[name], length, of_run)]
    return Evaluation(workload, of_policy, all_seeds, shown, runs, options, duration_aware_policies(workload, chosen, shown))


def duration_aware_policies(workload: Workload, policies: Sequence[Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the policies that know durations."""
    setting = setting_of(workload)
    objects = [find_policy(policy) if isinstance(policy, str) else policy for policy in policies]
    return tuple(name for policy, name in zip(objects, names, strict=True) if is_told_durations(policy, setting))


@takes(EvaluateOptions)
def evaluate(
    workload: Any,
    policies: Iterable[Any] = DEFAULT_POLICIES,
    *,
    options: EvaluateOptions,
    schedule: bool = False,
    executor: Executor | None = None,
    **changes: Any,
) -> Comparison | Any:
    """Run policies on the same tasks of a workload and compare them.

    A list of values for `load`, `intensity` or `rate` gives a `Sweep`, with a comparison at each value. Otherwise the result
    is a `Comparison`.

    workload        a Workload, or an argument of `packenv.workload`: a name, a file, a trace, a table. Arguments such as
                    `servers`, `slot_seconds` or `intensity` follow as keywords
    policies        names ("vqs:J=4") or objects
    options         the fields of `packenv.options.verbs.EvaluateOptions`
    schedule        store schedules for `Comparison.plot("schedule")`. Runs of whole jobs always do
    executor        where the runs are made (`packenv.simulate_many`). None is this process
    `seeds` may also be the seeds themselves. A policy runs once if neither the tasks nor the policy depend on the seed. Raises
    InputError for incompatible arguments, and errors of runs.
    """
    policies, several = [*policies], several_loads(changes)
    changes_at = [changes] if several is None else at_each_load(changes, *several)
    check_figure(options, several is not None)
    evaluations = [evaluation(at_a_rate(workload, **each), policies, options, schedule=schedule) for each in changes_at]
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as run_options:
        comparisons = comparisons_of(evaluations, lambda runs: run_all(runs, run_options))
    return comparisons[0] if several is None else Sweep(*several, comparisons, options.measure or "mean_queue")


def check_figure(options: EvaluateOptions, several: bool) -> None:
    """Raise InputError for options that do not go with one load, or with several."""
    if several:
        check_measure(options.measure or "mean_queue")
        if options.backlog is not None:
            raise ArgumentError("`backlog` keeps tasks waiting at any load: leave out `load`, `intensity` and `rate`")
    elif options.measure is not None:
        raise ArgumentError("`measure` is for a figure over several loads, such as `intensity` 0.5,0.7,0.9")


@dataclass(frozen=True, repr=False)
class Comparison(Showable):
    """The runs of each policy on the same tasks, and their measures."""

    workload: Workload
    by_policy: list[list[Result]]
    backlog: int | None = None
    cutoff: float | None = None  # seconds
    by_size: bool = False
    by: str | None = None
    slowdown_bound: float | None = None  # seconds; None: the usual bound, shown of parallel jobs
    duration_aware: tuple[str, ...] = ()  # policies that know durations
    to_the_end: bool = False  # runs lasted until all work was done, or nothing could start or end
    until: float | None = None  # width of the interval to reach, as a share of the mean queue
    too_wide: tuple[str, ...] = ()  # policies that did not reach it

    @cached_property
    def whole(self) -> bool:
        """Whether every run saw all tasks of a table arrive."""
        if self.workload.jobs is None:
            return False
        tasks = {seed: len(self.workload.at(seed).jobs or ()) for seed in {run.seed for run in self.all_runs}}
        return all(run.arrived == tasks[run.seed] for run in self.all_runs)

    @property
    def drained(self) -> bool:
        """Whether all work of a table was done, so stability does not matter."""
        return self.whole and all(run.completed == run.arrived for run in self.all_runs)

    @property
    def results(self) -> dict[str, list[Result]]:
        """Runs by policy, one for each seed."""
        return {runs[0].policy: runs for runs in self.by_policy}

    @property
    def all_runs(self) -> list[Result]:
        """Runs of all policies in a list."""
        return [*chain(*self.by_policy)]

    @cached_property
    def _measured(self) -> tuple[list[Record], list[Record]]:
        slot = self.workload.shown_slot
        seeds = same_jobs(self.workload, self.by_policy, self.cutoff)
        values = [[measured_values(run, same) for run, same in zip(runs, seeds, strict=False)] for runs in self.by_policy]
        doubt = DOUBT if self.until is None else DOUBT_IN_LOOKS
        summaries = [summary_of(*group, slot, doubt) for group in zip(self.by_policy, values, strict=True)]
        records = [*map(record_of, self.all_runs, chain(*values), repeat(slot))]
        # Add recorded waits, and delays by size if wanted.
        if (recorded := comparison_tables.recorded_delays(self.workload)) is not None:
            for summary, runs in zip(summaries, self.by_policy, strict=True):
                summary |= {"recorded": recorded} | comparison_tables.likeness(self.workload, runs)
        classes = {"by_size": by_size(self.workload, self.by_policy)} if self.by_size else {}
        classes |= {} if self.by is None else {"by_label": by_label(self.workload, self.by_policy, self.by)}
        for key, by_policy in classes.items():
            for record, of_run in zip(records, chain(*by_policy), strict=True):
                record[key] = of_run
            for summary, group in zip(summaries, by_policy, strict=True):
                summary[key] = mean_by_class(group)
        return summaries, records

    @property
    def summaries(self) -> list[Record]:
        """Means of each policy over the seeds, in slots.

        `interval` has the half-widths of their 95 % intervals.
        """
        return self._measured[0]

    @property
    def records(self) -> list[Record]:
        """Measures of each run, in slots."""
        return self._measured[1]

    @property
    def rows(self) -> list[Record]:
        """Means of each policy."""
        return self.summaries

    @property
    def plain(self) -> list[Record]:
        """Measures of each run, then means of each policy, marked by `kind`."""
        return [{"kind": kind, **record} for kind, of in (("run", self.records), ("mean", self.summaries)) for record in of]

    @property
    def remarks(self) -> list[str]:
        """Remarks of policies on their first runs, and on nearly empty servers."""
        idle = []
        if self.whole and not self.workload.much_left_out and all(run.max_queue == 0 for run in self.all_runs):
            busy = max(share or 0.0 for run in self.all_runs for share in run.utilisation)
            if busy < NEARLY_EMPTY:
                kinds, size = str(self.workload.servers), counted(len(self.workload.servers), "server")
                size = f"{kinds} is {size}" if len(kinds) <= MOST_LETTERS else size
                idle = [f"nothing waits, and at most {busy:.2%} of the servers is busy: too many, or too large ({size})"]
        lost = [f"{runs[0].policy}: started no task" for runs in self.by_policy if not any(run.started for run in runs)]
        return [*idle, *lost] + [
            f"{run.policy}: {run.remark} (seed {run.seed})" for run in (runs[0] for runs in self.by_policy) if run.remark
        ]

    @property
    def stopped(self) -> list[str]:
        """A line for each policy with a run that stopped early."""
        return [f"{summary['policy']}: stopped, {summary['stopped']}" for summary in self.summaries if summary["stopped"]]

    @property
    def not_reached(self) -> list[str]:
        """Which policies have a wider interval than `until` allows, after the largest number of seeds."""
        if not self.too_wide or self.until is None:
            return []
        seeds = max(map(len, self.by_policy))
        line = f"the 95 % interval of the mean queue is wider than ± {100 * self.until:.3g} % after {counted(seeds, 'seed')}"
        return [f"{listed(self.too_wide)}: {line}"]

    @property
    def usual_measure(self) -> str:
        """Default measure to compare.

        Mean completion of whole jobs, mean delay of a table that all policies finished, else mean queue.
        """
        if JOBS in comparison_tables.table_names(self):
            return COMPLETION
        return "mean_delay" if self.drained else "mean_queue"

    def ratio(self, policy: Any, other: Any, measure: str | None = None) -> Interval:
        """Return the ratio of a measure's means, `policy` to `other`.

        Paired by seed, with a 95 % interval. Shared effects of the tasks cancel.
        policy   as given to `evaluate`, or as in `results`
        measure  a number of the records: "mean_queue", "mean_delay", "delay_p95", "mean_completion", "makespan", … Default:
                 `usual_measure`
        Raises InputError for an unknown policy or measure.
        """
        pair = [self._values(name, measure or self.usual_measure) for name in (policy, other)]
        seeds = max(map(len, pair))
        above, below = (values * seeds if len(values) == 1 else values for values in pair)
        return ratio_of_means(above, below)

    def _values(self, policy: Any, measure: str) -> list[float | None]:
        name = policy if policy in self.results else name_of(find_policy(policy) if isinstance(policy, str) else policy)
        runs = [record for record in self.records if record["policy"] == name]
        if not runs:
            raise InputError(f"no policy {name!r} in this comparison: {', '.join(self.results)}")
        values = [record.get(measure, "") for record in runs]
        if not all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
            numbers = [key for key, value in runs[0].items() if isinstance(value, (int, float))]
            raise InputError(f"{measure!r} is no measure; choose from {', '.join(numbers)}")
        return values

    @property
    def title(self) -> str:
        seeds = max(map(len, self.by_policy))
        return f"Comparison on {self.workload.label}, {seeds} seed{'' if seeds == 1 else 's'}: {story_of(self.by_policy)}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the verdict and the usual measure of each policy."""
        facts, key = [], self.usual_measure
        unit = "" if key == "mean_queue" else " slots"
        for summary in self.summaries:
            verdict = "" if summary["verdict"] is None else f"{summary['verdict']}, "
            mean = estimate(summary[key], summary["interval"][key])
            facts.append((summary["policy"], f"{verdict}{comparison_tables.USUAL[key]} {mean}{unit}"))
        return facts

    def tables(self) -> list[Table]:
        """Return means over the seeds, ± the half-width of a 95 % interval."""
        return comparison_tables.tables_of(self)

    def footnotes(self) -> list[str]:
        """Return the meaning of marks, remarks, and runs that stopped."""
        remarks = [*(Styled(line, "yellow") for line in self.remarks), *(Styled(line, "red") for line in self.stopped)]
        return [*comparison_tables.legend(self), *(Styled(line, "yellow") for line in self.not_reached), *remarks]

    def charts(self, kind: str = "queue", **options: Any) -> Charts:
        """Return the charts that `plot` draws.

        "queue": waiting tasks over time and quantiles of the delay. "schedule": the tasks on each server over time in each
        policy's first run (options: `first`, `last`, `colour`). "fragmentation": the share of all devices that is idle and
        unusable, also part of "queue" if schedules are stored. Raises InputError as `Result.charts` does.
        """
        check_kind(kind, KINDS, "kind of picture")
        return run_charts.charts_of_runs(self.by_policy, self.workload, kind, backlog=self.backlog, **options)

    def page(self) -> Page:
        """Return the report: queues, delays, fullness, and tables."""
        by_policy, workload, backlog = self.by_policy, self.workload, self.backlog
        speeds = [measure.heading for measure in MEASURES if measure.unit == SPEED]  # the same command gives the same page
        tables = [table.without(speeds) for table in self.tables()]
        queue = [*run_charts.queue_over_time(by_policy, workload, backlog), *run_charts.mean_queues(self.summaries)]
        sections = [
            Section("The queue", queue),
            Section("Delays", run_charts.delays(by_policy, workload)),
            Section("The numbers", notes=comparison_tables.legend(self), tables=tables),
        ]
        first = [runs[0] for runs in by_policy if runs[0].schedule is not None and runs[0].started and workload.jobs is not None]
        if first:
            sections.insert(2, Section("The cluster", run_charts.of_cluster(workload, first)))
        policies = [*self.results]
        title = f"{listed(policies) if len(policies) < 4 else f'{len(policies)} policies'} on {workload.label}"
        tabled = [workload.at(by_policy[0][0].seed)]
        answer, *_ = [*comparison_tables.answer_of(self), f"{story_of(by_policy)}."]
        overloaded = [OVERLOADED] if workload.overloaded and backlog is None and not self.drained else []
        return Page(title, answer, self._setting(), sections, [*overloaded, *self.remarks, *self.stopped], tabled)

    def _setting(self) -> list[tuple[str, str]]:
        workload, longest = self.workload, max(run.slots for run in self.all_runs)
        clock = clock_for(longest, workload.shown_slot)
        arrivals = f"{number(workload.rate)} tasks per slot, intensity {workload.intensity:.3f}"
        if self.drained and workload.jobs is not None:
            arrivals = f"{len(workload.jobs):,} tasks"
        return [
            ("Workload", workload.label),
            ("Arrivals", arrivals if self.backlog is None else f"{self.backlog:,} tasks are kept waiting"),
            ("Servers", f"{len(workload.servers):,}"),
            ("Length", f"{number(longest / clock.slots)} {clock.unit}"),
            ("Seeds", ", ".join(map(str, dict.fromkeys(run.seed for run in self.all_runs)))),
            ("Policies", ", ".join(self.results)),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: `policies` with means, and `runs`."""
        return {**self.workload.record, "policies": self.summaries, "runs": self.records}
