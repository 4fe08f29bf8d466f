"""`Comparison`: the runs of policies on one workload, measured and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

from packenv.content.page import Charts, Page, Section, check_kind
from packenv.content.showable import Showable
from packenv.content.tables import Styled, Table
from packenv.content.text import clock_for, counted, estimate, listed, number
from packenv.errors import InputError
from packenv.options.verbs import EvaluateOptions
from packenv.policy import find_policy, is_told_durations, name_of
from packenv.results.result import KINDS, Result
from packenv.results.stability import UNSTABLE
from packenv.runs import comparison_tables, run_charts
from packenv.runs.comparison_tables import story_of, verdict_of
from packenv.runs.delay_classes import by_label, by_size, mean_by_class
from packenv.runs.measures import COMPLETION, JOBS, MEASURES, SPEED, Record, measured_values, record_of, same_jobs, summary_of
from packenv.runs.statistics import DOUBT, DOUBT_IN_LOOKS, Interval, mean_and_half, ratio_of_means
from packenv.simulation import setting_of
from packenv.workloads.workload import Workload

MOST_LETTERS = 40  # of servers in a line; above, only their number is shown
NEARLY_EMPTY = 0.05  # utilisation


def duration_aware_policies(workload: Workload, policies: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the policies, by name, that know durations."""
    setting = setting_of(workload)
    objects = {name: find_policy(policy) if isinstance(policy, str) else policy for name, policy in policies.items()}
    return tuple(name for name, policy in objects.items() if is_told_durations(policy, setting))


@dataclass(frozen=True, repr=False)
class Comparison(Showable):
    """The runs of each policy on the same tasks, and their measures."""

    workload: Workload
    by_policy: list[list[Result]]
    options: EvaluateOptions
    duration_aware: tuple[str, ...] = ()  # policies that know durations

    @property
    def to_the_end(self) -> bool:
        """Whether runs lasted until all work was done, or nothing could start or end."""
        return self.options.drain or (self.options.slots is None and self.workload.at_once)

    @cached_property
    def too_wide(self) -> list[str]:
        """Policies whose mean queue has a wider 95 % interval than `until` allows.

        The mean of an unstable policy depends on the length of the runs, so it is not judged.
        """
        wide = []
        for runs in self.by_policy if self.options.until else ():
            mean, half = mean_and_half([run.mean_queue for run in runs], DOUBT_IN_LOOKS)
            if mean and half and half > (self.options.until or math.inf) * mean and verdict_of(runs) != UNSTABLE:
                wide.append(runs[0].policy)
        return wide

    @cached_property
    def complete(self) -> bool:
        """Whether every run saw all tasks of a table arrive."""
        if self.workload.jobs is None:
            return False
        tasks = {seed: len(self.workload.at(seed).jobs or ()) for seed in {run.seed for run in self.all_runs}}
        return all(run.arrived == tasks[run.seed] for run in self.all_runs)

    @property
    def drained(self) -> bool:
        """Whether all work of a table was done, so stability does not matter."""
        return self.complete and all(run.completed == run.arrived for run in self.all_runs)

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
        slot = self.workload.slot_seconds
        seeds = same_jobs(self.workload, self.by_policy, self.options.cutoff)
        values = [[measured_values(run, same) for run, same in zip(runs, seeds, strict=False)] for runs in self.by_policy]
        doubt = DOUBT if self.options.until is None else DOUBT_IN_LOOKS
        summaries = [summary_of(*group, slot, doubt) for group in zip(self.by_policy, values, strict=True)]
        records = [*map(record_of, self.all_runs, chain(*values), repeat(slot))]
        # Add recorded waits, and delays by size if wanted.
        if (recorded := comparison_tables.recorded_delays(self.workload)) is not None:
            for summary, runs in zip(summaries, self.by_policy, strict=True):
                summary |= {"recorded": recorded} | comparison_tables.likeness(self.workload, runs)
        by = self.options.by
        classes = {"by_size": by_size(self.workload, self.by_policy)} if self.options.by_size else {}
        classes |= {} if by is None else {"by_label": by_label(self.workload, self.by_policy, by)}
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
        nothing_waits = all(run.max_queue == 0 for run in self.all_runs) and not comparison_tables.any_lost(self)
        if self.complete and not self.workload.much_left_out and nothing_waits:
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
        if not self.too_wide or self.options.until is None:
            return []
        seeds = max(map(len, self.by_policy))
        line = (
            f"the 95 % interval of the mean queue is wider than ± {100 * self.options.until:.3g} % after {counted(seeds, 'seed')}"
        )
        return [f"{listed(self.too_wide)}: {line}"]

    @property
    def usual_measure(self) -> str:
        """Default measure to compare.

        Rejected tasks with `reject`, as other means are then of different tasks. Otherwise mean completion of whole jobs, mean
        delay of a table that all policies finished, else mean queue.
        """
        if self.options.reject:
            return "rejected"
        if JOBS in comparison_tables.table_names(self):
            return COMPLETION
        return "mean_delay" if self.drained else "mean_queue"

    def ratio(self, policy: Any, other: Any, measure: str | None = None) -> Interval:
        """Return the ratio of a measure's means, `policy` to `other`.

        Paired by seed, with a 95 % interval. Shared effects of the tasks cancel. With `reject`, delays are of the tasks that
        started, which differ between policies.
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
            raise InputError(f"{measure!r} is not a measure; choose from {', '.join(numbers)}")
        return values

    @property
    def title(self) -> str:
        seeds = max(map(len, self.by_policy))
        return f"Comparison on {self.workload.label}, {seeds} seed{'' if seeds == 1 else 's'}: {story_of(self.by_policy)}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the verdict and the usual measure of each policy."""
        facts, key = [], self.usual_measure
        unit = "" if key in ("mean_queue", "rejected") else " slots"
        for summary in self.summaries:
            verdict = "" if summary["verdict"] is None else f"{summary['verdict']}, "
            mean = estimate(summary[key], summary["interval"].get(key))
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
        return run_charts.charts_of_runs(self.by_policy, self.workload, kind, backlog=self.options.backlog, **options)

    def page(self) -> Page:
        """Return the report: queues, delays, fullness, and tables."""
        by_policy, workload, backlog = self.by_policy, self.workload, self.options.backlog
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
        line = workload.overload_lost if self.options.reject else workload.overload
        overloaded = [line] if workload.overloaded and backlog is None and not self.drained else []
        return Page(title, answer, self._setting(), sections, [*overloaded, *self.remarks, *self.stopped], tabled)

    def _setting(self) -> list[tuple[str, str]]:
        workload, longest = self.workload, max(run.slots for run in self.all_runs)
        clock = clock_for(longest, workload.slot_seconds)
        arrivals = f"{number(workload.rate)} tasks per slot, intensity {workload.intensity:.3f}"
        if self.drained and workload.jobs is not None:
            arrivals = f"{len(workload.jobs):,} tasks"
        return [
            ("Workload", workload.label),
            ("Arrivals", arrivals if self.options.backlog is None else f"{self.options.backlog:,} tasks always wait"),
            ("Servers", f"{len(workload.servers):,}"),
            ("Length", f"{number(longest / clock.slots)} {clock.unit}"),
            ("Seeds", ", ".join(map(str, dict.fromkeys(run.seed for run in self.all_runs)))),
            ("Policies", ", ".join(self.results)),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: `policies` with means, and `runs`."""
        return {**self.workload.record, "policies": self.summaries, "runs": self.records}
