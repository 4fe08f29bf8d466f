"""What `packenv evaluate` is asked to compare, checked before anything runs, and what was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from rich.table import Table

from packenv.cli.evaluate.records import Record, record_of, summary_of
from packenv.cli.evaluate.size_classes import by_size, mean_by_size, sizes_table
from packenv.cli.evaluate.tables import Times, classes_table, data_table, jobs_table, results_table
from packenv.cli.evaluate.whole_jobs import whole_jobs
from packenv.cli.options.workload import WorkloadOptions, chosen_policies, workload_from
from packenv.errors import InputError
from packenv.results.result import Result
from packenv.runs.chance import seeds_for
from packenv.runs.run import Run, runs_of
from packenv.workloads.estimates import misjudged
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import INTENSITIES, Workload

DEFAULT_SLOTS = 200_000


@dataclass(frozen=True)
class Asked:
    """Policies on one workload, and the runs that compare them, policy by policy."""

    workload: Workload
    dropped: dict[str, int]  # rows of a trace, by reason
    seed: int
    seeds: Mapping[str, Sequence[int]]  # by policy: one where nothing is drawn by chance
    runs: list[Run]
    times: Times
    backlog: int | None
    cutoff: float | None  # seconds
    sized: bool


@dataclass(frozen=True)
class Found:
    """The finished runs of each policy, and what is shown of them."""

    by_policy: list[list[Result]]
    summaries: list[Record]  # one for each policy
    records: list[Record]  # one for each run
    tables: list[Table]

    @property
    def results(self) -> list[Result]:
        """The runs one after the other."""
        return [*chain(*self.by_policy)]

    @property
    def remarks(self) -> list[str]:
        """What policies say of their first runs."""
        return [f"{run.policy}: {run.remark} (seed {run.seed})" for run in (own[0] for own in self.by_policy) if run.remark]

    @property
    def stopped(self) -> list[str]:
        """Which runs were stopped before their end."""
        return [f"{each['policy']}: stopped, {each['stopped']}" for each in self.summaries if each["stopped"]]


def ask(given: Mapping[str, Any], words: dict[str, Any], scheduled: bool, reported: bool) -> Asked:
    """Read the options, `words` those of the workload. Runs keep their schedules if `scheduled`, and of tables if `reported`.

    Raises InputError.
    """
    seed, backlog, sized, cutoff = given["seed"], given["backlog"], given["sized"], given["cutoff"]
    if seed < 0:
        raise InputError(f"--seed must not be negative, not {seed}")
    named = chosen_policies(given["policies"])
    said = WorkloadOptions(**words)
    workload, dropped = workload_from(said)
    if given["estimate_error"] is not None:
        workload = misjudged(workload, given["estimate_error"])
    if backlog is not None and any(words[key] is not None for key in INTENSITIES):
        raise InputError("--backlog says how much waits, whatever arrives: leave out --load, --intensity and --rate")
    if backlog is not None and sized:
        raise InputError("--by-size shows delays from arrival on; with --backlog nothing arrives at a time of its own")
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if cutoff is not None and not (has_jobs and 0 < cutoff < math.inf):
        raise InputError("--cutoff is a number of seconds above 0, for tables that say which tasks make a job")
    endless = workload.jobs is None or begins_busy(workload)
    slots = DEFAULT_SLOTS if given["slots"] is None and endless else given["slots"]
    options = {
        "drain": given["drain"] or None,
        "warmup": given["warmup"],
        "waiting_limit": given["max_waiting"],
        "schedule": scheduled or has_jobs or sized or (reported and workload.jobs is not None),
        "backlog": backlog,
    }
    seeds = {name: seeds_for(name, workload, range(seed, seed + given["seeds"])) for name in named}
    runs = [run for name in named for run in runs_of(workload, [name], seeds[name], slots, options)]
    return Asked(workload, dropped, seed, seeds, runs, Times(workload.shown_slot), backlog, cutoff, sized)


def finished_policies(asked: Asked, finished: Sequence[Result | None]) -> list[list[Result]]:
    """The runs of each policy, of all in the order in which they were asked for, without policies with a failed run (None)."""
    left = iter(finished)
    groups = [[next(left) for _ in own] for own in asked.seeds.values()]
    return [[run for run in group if run is not None] for group in groups if None not in group]


def compare(asked: Asked, by_policy: list[list[Result]]) -> Found:
    """Measure the runs of one policy or more."""
    workload, times = asked.workload, asked.times
    results = [*chain(*by_policy)]
    whole = whole_jobs(workload, by_policy, asked.cutoff)
    summaries = [summary_of(*group, times.slot_seconds) for group in zip(by_policy, whole, strict=True)]
    records = [*map(record_of, results, chain(*whole), repeat(times.slot_seconds))]
    tables = [results_table(summaries, times)]
    if asked.sized:
        classes = by_size(workload, by_policy)
        for record, own in zip(records, chain(*classes), strict=True):
            record["by_size"] = own
        for summary, group in zip(summaries, classes, strict=True):
            summary["by_size"] = mean_by_size(group)
        tables.append(sizes_table(summaries, times))
    if results[0].jobs is not None:
        tables.append(jobs_table(summaries, times))
        if asked.cutoff is not None:
            tables.append(classes_table(summaries, asked.cutoff, times))
    if results[0].data is not None:
        tables.append(data_table(summaries, times))
    return Found(by_policy, summaries, records, tables)
