"""`packenv.evaluate`: policies compared on one workload, at one load or several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from packenv.api import at_a_rate
from packenv.errors import ArgumentError, check_count
from packenv.executors.local import ThisProcess
from packenv.inputs.numbers import Duration
from packenv.options.fields import takes
from packenv.options.shared import DEFAULT_POLICIES, DEFAULT_SLOTS
from packenv.options.verbs import MOST_SEEDS, EvaluateOptions
from packenv.policy import distinct_names, policies_in
from packenv.results.result import Result
from packenv.runs.comparison import Comparison, duration_aware_policies
from packenv.runs.delay_classes import labels_of
from packenv.runs.run import Run, chosen_seeds, seeds_for
from packenv.runs.runner import RunOptions, RunsFailed, run_most
from packenv.runs.sweep import Sweep, check_measure, several_loads
from packenv.workloads.estimates import misjudged
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import Workload

FEWEST_SEEDS = 4  # from which the width of an interval is judged


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
    # The workload at each load.
    loads = several_loads(changes)
    check_figure(options, loads is not None)
    changes_at = [changes] if loads is None else [{**changes, loads[0]: value} for value in loads[1]]
    workloads = [at_a_rate(workload, **each) for each in changes_at]
    # The runs: every policy with every seed.
    policies = policies_in(policies)
    evaluations = [planned(each, policies, options, schedule=schedule) for each in workloads]
    with RunOptions(fail_fast=True, executor=executor or ThisProcess()) as place:
        make_runs(evaluations, place)
    # Measure and compare them.
    comparisons = [each.comparison() for each in evaluations]
    return comparisons[0] if loads is None else Sweep(*loads, comparisons, options.measure or "mean_queue")


def check_figure(options: EvaluateOptions, several: bool) -> None:
    """Raise InputError for options that do not go with one load, or with several."""
    if several:
        check_measure(options.measure or "mean_queue")
        if options.backlog is not None:
            raise ArgumentError("`backlog` sets how many tasks wait: leave out `load`, `intensity` and `rate`")
    elif options.measure is not None:
        raise ArgumentError("`measure` is for a figure over several loads, such as `intensity` 0.5,0.7,0.9")


@dataclass
class Evaluation:
    """Policies on one workload: the runs to make, and the results so far.

    Seeds and results are by the policy's name in results. A failed run has the result None.
    """

    workload: Workload
    options: EvaluateOptions
    policies: dict[str, Any]
    all_seeds: list[int]
    seeds: dict[str, list[int]]  # the first alone where nothing is drawn by chance
    slots: int | None
    of_run: dict[str, Any]  # options of `packenv.simulate`
    results: dict[tuple[str, int], Result | None]

    def missing(self) -> dict[tuple[str, int], Run]:
        """Return the runs without a result, by policy and seed."""
        keys = [(name, seed) for name, seeds in self.seeds.items() for seed in seeds if (name, seed) not in self.results]
        return {(name, seed): Run(self.workload, self.policies[name], seed, self.slots, self.of_run) for name, seed in keys}

    def double_seeds(self) -> None:
        """Plan as many runs of other seeds. A policy that is run once keeps its run."""
        count, last = len(self.all_seeds), max(self.all_seeds)
        additional = [*range(last + 1, last + 1 + min(count, max(MOST_SEEDS - count, 0)))]
        self.seeds = {name: seeds + additional if len(seeds) == count else seeds for name, seeds in self.seeds.items()}
        self.all_seeds = self.all_seeds + additional

    def comparison(self) -> Comparison:
        """Compare the policies whose runs all succeeded."""
        by_policy = []
        for name, seeds in self.seeds.items():
            runs = [run for seed in seeds if (run := self.results[name, seed]) is not None]
            if len(runs) == len(seeds):
                by_policy.append([replace(run, policy=name, played=run.played or self.workload) for run in runs])
        return Comparison(self.workload, by_policy, self.options, duration_aware_policies(self.workload, self.policies))


def planned(
    workload: Workload,
    policies: Sequence[Any],
    options: EvaluateOptions,
    *,
    schedule: bool = False,
    jobs_schedule: bool = False,
    devices_schedule: bool = False,
) -> Evaluation:
    """Return the checked runs of `evaluate`.

    Runs store their schedules: all, those of tables, or those on servers with devices. Raises InputError.
    """
    named = dict(zip(distinct_names(policies), policies, strict=True))
    check_count("seed", options.seed, 0)
    if options.estimate_error is not None:
        workload = misjudged(workload, options.estimate_error)
    for name in ("cutoff", "slowdown_bound"):
        if workload.slot_seconds is None and isinstance(length := getattr(options, name), Duration):
            raise ArgumentError(f"`{name}` {length.text} needs the length of a slot: give `slot_seconds`, such as 1")
    for name in ("by_size", "by"):
        if options.backlog is not None and getattr(options, name):
            raise ArgumentError(f"`{name}` needs arrival times, and `backlog` has none: leave one out")
    if options.by is not None:
        jobs = workload.jobs_table(options.seed, 1) if workload.jobs is None else workload.jobs
        labels_of(workload, jobs, options.by, options.seed)
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if options.cutoff is not None and not (has_jobs and 0 < options.cutoff < math.inf):
        raise ArgumentError("`cutoff` must be a number of seconds above 0, and needs a table with a column job")
    # Options of each run.
    endless = workload.jobs is None or begins_busy(workload)
    of_run = {
        "drain": options.drain or None,
        "warmup": options.warmup,
        "waiting_limit": options.waiting_limit,
        "schedule": schedule
        or has_jobs
        or options.by_size
        or options.by is not None
        or workload.provenance.recorded_waits is not None
        or (jobs_schedule and workload.jobs is not None)
        or (devices_schedule and workload.has_devices),
        "backlog": options.backlog,
        **({"reject": True} if options.reject else {}),
        "slowdown_bound": options.slowdown_bound,
    }
    # Seeds of each policy.
    all_seeds = chosen_seeds(options.seeds, options.seed)
    if options.until is not None and len(all_seeds) < FEWEST_SEEDS:
        all_seeds += range(max(all_seeds) + 1, max(all_seeds) + 1 + FEWEST_SEEDS - len(all_seeds))
    by_policy = {name: seeds_for(policy, workload, all_seeds) for name, policy in named.items()}
    slots = DEFAULT_SLOTS if options.slots is None and endless else options.slots
    return Evaluation(workload, options, named, all_seeds, by_policy, slots, of_run, {})


def make_runs(evaluations: Sequence[Evaluation], place: RunOptions) -> RunsFailed | None:
    """Make all runs, with more seeds where `until` asks for them. Return the error of failed runs."""
    failure, unfinished = None, [*evaluations]
    while unfinished:
        # Make the runs that are missing, of all evaluations together.
        missing = [(evaluation, key, run) for evaluation in unfinished for key, run in evaluation.missing().items()]
        results, failed = run_most([run for *_, run in missing], place)
        failure = failure or failed
        for (evaluation, key, _), result in zip(missing, results, strict=True):
            evaluation.results[key] = result
        # Double the seeds where an interval is too wide.
        growing = [
            evaluation
            for evaluation in unfinished
            if evaluation.options.until is not None and len(evaluation.all_seeds) < MOST_SEEDS
        ]
        unfinished = [
            evaluation for evaluation in growing if None not in evaluation.results.values() and evaluation.comparison().too_wide
        ]
        for evaluation in unfinished:
            evaluation.double_seeds()
    return failure
