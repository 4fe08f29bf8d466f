"""The page of `packenv evaluate`: queues over time, delays, how full the cluster was, and the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table

from packenv.cli.report.drawing import Key, Rule, colours_of
from packenv.cli.report.lines import Line, LineChart
from packenv.cli.report.occupancy import Played, occupancy_figure
from packenv.cli.report.page import Figure, Picture, Report, Section
from packenv.cli.report.profile import profile_section
from packenv.cli.report.rows import TICK, Entry, Mark, RowChart
from packenv.cli.report.tables import rows_of
from packenv.report.comparison_tables import Times
from packenv.report.queue_lines import highest, line_of
from packenv.report.story import story_of
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE
from packenv.runs.clock import clock_for
from packenv.runs.records import Record
from packenv.runs.text import estimate, listed, number
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, known_bound
from packenv.workloads.workload import Workload

MEASURED = ("tasks/s",)
"""Columns that differ from run to run: they say how fast this machine is."""

SHAPES = {"delay_p50": (TICK, "│"), "delay_p95": ("circle", "●"), "delay_p99": ("diamond", "◆")}
NAMES = {"delay_p50": "median", "delay_p95": "95 %", "delay_p99": "99 %"}
MOST_SCHEDULES = 4
ROOM = 1.5  # beyond the largest and the least delay


def evaluate_report(
    by_policy: list[list[Result]],
    summaries: Sequence[Record],
    tables: Sequence[Table],
    legend: Sequence[str],
    notices: Sequence[str],
    workload: Workload,
    times: Times,
    backlog: int | None,
) -> Report:
    """`legend`: what marks of the tables mean; `notices`: on policies."""
    bound = 0.0 if backlog is not None else known_bound(workload)
    colours = colours_of([runs[0].policy for runs in by_policy])
    figures = [*_queues(by_policy, colours, workload, times, bound), *_mean_queues(summaries, colours)]
    sections = [
        Section("The queue", figures),
        Section("Delays", _delays(by_policy, colours, times)),
        Section("The numbers", notes=legend, tables=[rows_of(table, without=MEASURED) for table in tables]),
    ]
    played = _played(by_policy, workload)
    if played:
        pictures: list[Figure | Picture] = [occupancy_figure(workload, played, times.slot_seconds)]
        pictures += _schedules(by_policy, workload)
        sections.insert(2, Section("The cluster", pictures))
    profile = profile_section(workload.at(by_policy[0][0].seed), times.slot_seconds)
    who = listed([runs[0].policy for runs in by_policy]) if len(by_policy) < 4 else f"{len(by_policy)} policies"
    title = f"{who} on {workload.name}"
    asked = _asked(by_policy, workload, times, backlog)
    return Report(title, f"{story_of(by_policy)}.", asked, [*sections, *([profile] if profile else [])], notices)


def _asked(by_policy: list[list[Result]], workload: Workload, times: Times, backlog: int | None) -> list[tuple[str, str]]:
    runs = [run for own in by_policy for run in own]
    clock = clock_for(max(run.slots for run in runs), times.slot_seconds)
    arrivals = f"{number(workload.rate)} tasks per slot, intensity {workload.intensity:.3f}"
    return [
        ("Workload", workload.name),
        ("Arrivals", arrivals if backlog is None else f"{backlog:,} tasks are kept waiting"),
        ("Servers", f"{len(workload.servers):,}"),
        ("Length", f"{number(max(run.slots for run in runs) / clock.slots)} {clock.unit}"),
        ("Seeds", ", ".join(map(str, dict.fromkeys(run.seed for run in runs)))),
        ("Policies", ", ".join(own[0].policy for own in by_policy)),
    ]


def _queues(by_policy: list[list[Result]], colours: list[str], workload: Workload, times: Times, bound: float) -> list[Figure]:
    """Waiting tasks over time; nothing of runs that were too short."""
    clock = clock_for(max(run.slots for runs in by_policy for run in runs), times.slot_seconds)
    found = [line for runs, colour in zip(by_policy, colours, strict=True) if (line := line_of(runs, colour, clock)) is not None]
    if not found:
        return []
    lines = [
        Line(
            *(f"{line.policy}: {line.verdict}", line.colour, line.when.tolist(), line.mean.tolist(), line.verdict == UNSTABLE),
            *((line.low.tolist(), line.high.tolist()) if (line.low < line.high).any() else ()),
        )
        for line in found
    ]
    chart = LineChart(
        lines,
        "slot" if clock.unit == "slots" else clock.unit,
        "waiting tasks",
        max(highest(found) or 1.0, 1.2 * bound),
        across=[Rule(bound, SHOWN_AS)] if bound > 0 else [],
    )
    said = "; ".join(f"{line.policy} is {line.verdict}, with {number(float(line.mean[-1]))} waiting at the end" for line in found)
    band = " Bands hold the middle half of the seeds." if len(by_policy[0]) > 1 else ""
    return [Figure("Waiting tasks over time", f"{said}.{band}", chart)]


def _mean_queues(summaries: Sequence[Record], colours: list[str]) -> list[Figure]:
    """Mean queues with their intervals, where there are several seeds; the axis ends where the stable ones do."""
    known = [one for one in summaries if one["mean_queue"] is not None]
    if not any(one["interval"]["mean_queue"] is not None for one in known):
        return []
    stable = [one for one in known if one["verdict"] != UNSTABLE] or known
    top = max(one["mean_queue"] + (one["interval"]["mean_queue"] or 0.0) for one in stable)
    entries = []
    for one, colour in zip(summaries, colours, strict=True):
        mean, half = one["mean_queue"], one["interval"]["mean_queue"]
        if mean is not None:
            low, high = (None, None) if half is None else (max(mean - half, 0.0), mean + half)
            mark = Mark(mean, filled=one["verdict"] != UNSTABLE, text=f"{one['policy']}: {estimate(mean, half)}")
            entries.append(Entry(one["policy"], colour, low, high, [mark], estimate(mean, half)))
    said = "; ".join(f"{entry.label} {entry.text}" for entry in entries)
    hollow = " Hollow: unstable, so that the mean says how long the runs were." if len(stable) < len(known) else ""
    chart = RowChart(entries, "mean queue (tasks)", (0.0, 1.08 * top or 1.0))
    return [Figure("Mean queue, 95 % interval over the seeds", f"{said}.{hollow}{chart.note}", chart)]


def _delays(by_policy: list[list[Result]], colours: list[str], times: Times) -> list[Figure]:
    """Quantiles of the delay, mean over the seeds; hollow where the policy is unstable with any of them."""
    slowest = max((run.delay_p99 or 0.0 for runs in by_policy for run in runs), default=0.0)
    clock = clock_for(slowest, times.slot_seconds)
    entries: list[Entry] = []
    values: list[float] = []
    for runs, colour in zip(by_policy, colours, strict=True):
        means = {key: mean / clock.slots for key in SHAPES if (mean := _mean_of(runs, key)) is not None}
        diverges = any(run.verdict.kind == UNSTABLE for run in runs)
        policy = runs[0].policy
        marks = [
            Mark(value, SHAPES[key][0], not diverges, f"{policy}, {NAMES[key]}: {number(value)} {clock.unit}")
            for key, value in means.items()
        ]
        if marks:
            ends = marks[0].value, marks[-1].value
            entries.append(Entry(policy, colour, *ends, marks, " / ".join(number(value) for value in means.values())))
            values += means.values()
    if not entries:
        return []
    log = min(values) > 0
    ends = (min(values) / ROOM, max(values) * ROOM) if log else (0.0, 1.08 * max(values) or 1.0)
    keys = [Key("var(--muted)", NAMES[key], mark) for key, (_, mark) in SHAPES.items()]
    said = "; ".join(f"{entry.label} {entry.text}" for entry in entries)
    chart = RowChart(entries, f"delay ({clock.unit})", ends, log=log, marks=keys)
    return [Figure("Delay of tasks", f"Median, 95 % and 99 % in {clock.unit}: {said}.", chart)]


def _schedules(by_policy: list[list[Result]], workload: Workload) -> list[Picture]:
    """Who ran where and when, in the first run of each of the first MOST_SCHEDULES policies."""
    from packenv.report.schedule_chart import schedule_chart

    runs = [own[0] for own in by_policy if own[0].schedule is not None and own[0].started][:MOST_SCHEDULES]
    content = schedule_chart(runs, workload)._repr_png_()
    names = listed([run.policy for run in runs])
    finding = f"Each server's tasks over time under {names}, as high as what they need; above them the number of waiting tasks."
    return [Picture("Who ran where and when", finding, content)]


def _mean_of(runs: Sequence[Result], key: str) -> float | None:
    known = [getattr(run, key) for run in runs if getattr(run, key) is not None]
    return float(np.mean(known)) if known else None


def _played(by_policy: list[list[Result]], workload: Workload) -> list[Played]:
    """The first run of each policy on a table of jobs."""
    played = []
    for run in (runs[0] for runs in by_policy):
        jobs = workload.at(run.seed).jobs
        if jobs is not None and run.schedule is not None and run.started:
            played.append(Played(run.policy, jobs, run.schedule, run.slots))
    return played
