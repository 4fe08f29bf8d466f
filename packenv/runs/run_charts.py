"""Charts of runs: queues over time, delays, and fullness, by policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.content.charts import COLOURS, GREY, ChartRow, Guide, Key, Line, LineChart, Mark, RowChart, colours_for
from packenv.content.page import Charts, Figure, Image
from packenv.content.text import Clock, clock_for, counted, estimate, listed, number
from packenv.policies.gpus.fragmentation import REASONS, fragmentation_over_time, has_fragmentation
from packenv.results import schedule_chart
from packenv.results.job_times import cut
from packenv.results.occupancy import Occupancy, occupancy
from packenv.results.result import Result
from packenv.results.stability import UNASKED, UNDECIDED, UNSTABLE
from packenv.runs.comparison_tables import all_done, none_waited, story_of, verdict_of
from packenv.runs.measures import Record
from packenv.theory.queue_bound.queue_bound import SHOWN_AS, bound_or_zero
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
POINTS = 256  # of a queue over time, at most
BINS = 240  # of an occupancy over time
HIDES = 4.0
"""Lines that grow to this multiple of the others leave the chart."""

ROOM = 1.3  # height of such a chart, in terms of the highest point that it must show
QUANTILES = {"delay_p50": ("median", "|"), "delay_p95": ("95 %", "o"), "delay_p99": ("99 %", "D")}  # names, markers
MOST_SCHEDULES = 4
BEYOND = 1.5  # room beyond the largest and the least delay


def charts_of_runs(
    by_policy: Sequence[Sequence[Result]], workload: Workload, kind: str, backlog: int | None = None, **options: Any
) -> Charts:
    """Return the charts of a kind in `results.result.KINDS`."""
    if kind == "queue":
        return runs_charts(by_policy, workload, backlog, **options)
    draw = schedule_charts if kind == "schedule" else fragmentation_charts
    return draw(by_policy, workload, **options)


def runs_charts(by_policy: Sequence[Sequence[Result]], workload: Workload, backlog: int | None = None) -> Charts:
    """Draw waiting tasks over time, delays, and fragmentation of devices.

    The title is a sentence on the result. If no task waited, fragmentation is shown alone.
    """
    seeds = max(map(len, by_policy))
    clock = _clock(by_policy, workload)
    length = max(run.slots for runs in by_policy for run in runs) / clock.slots
    arrivals = f"intensity {workload.intensity:.2f}" if backlog is None else f"{backlog:,} always waiting"
    if workload.jobs is not None and all(map(all_done, by_policy)):
        arrivals = f"{len(workload.jobs):,} tasks"
    setting = (
        f"{workload.name}: {counted(len(workload.servers), 'server')}, {arrivals}, "
        f"{length:,.{0 if length >= 100 else 1}f} {clock.unit}" + (f", {seeds} seeds" if seeds > 1 else "")
    )
    figures = fragmentation(by_policy, workload)
    if not (figures and all(map(none_waited, by_policy))):
        figures = [*queue_over_time(by_policy, workload, backlog), *delays(by_policy, workload), *figures]
    return Charts(f"{story_of(by_policy)}\n{setting}", figures)


def fragmentation_charts(by_policy: Sequence[Sequence[Result]], workload: Workload) -> Charts:
    """Draw `fragmentation` alone. Raises InputError if there is none."""
    fragmentation_over_time(by_policy[0][0], workload)
    title = f"{workload.name}: GPUs that are idle and of no use to the tasks that usually come"
    return Charts(title, fragmentation(by_policy, workload))


def schedule_charts(by_policy: Sequence[Sequence[Result]], workload: Workload, **options: Any) -> Charts:
    """Draw the tasks on each server in each policy's first run."""
    return schedule_chart.schedule_charts([runs[0] for runs in by_policy], workload, **options)


def of_cluster(workload: Workload, runs: Sequence[Result]) -> list[Figure | Image]:
    """Draw fullness, fragmentation, and a few of the runs' schedules."""
    few = runs[:MOST_SCHEDULES]
    names = listed([run.policy for run in few])
    finding = f"Each server's tasks over time under {names}, as high as what they need; above them the number of waiting tasks."
    schedules = schedule_chart.schedule_charts(few, workload)
    fragments = fragmentation([[run] for run in runs], workload)
    return [fullness(workload, runs), *fragments, Image("Who ran where and when", finding, schedules)]


def queue_over_time(by_policy: Sequence[Sequence[Result]], workload: Workload, backlog: int | None = None) -> list[Figure]:
    """Draw waiting tasks, mean over the seeds, with a band of their middle half.

    Runs that are too short have none. Unstable queues are dashed, and leave the chart at the top if they would hide others.
    The dotted line is the bound for policies that do not know durations.
    """
    bound = 0.0 if backlog is not None else bound_or_zero(workload)
    clock = _clock(by_policy, workload)
    colours = colours_for([runs[0].policy for runs in by_policy])
    kinds = [verdict_of(runs) for runs in by_policy]
    lines, text = [], []
    for runs, colour, kind in zip(by_policy, colours, kinds, strict=True):
        bins = min(len(run.trajectory.queue) for run in runs)
        if bins == 0:
            continue
        # Merge bins, then take the mean and the middle half over the seeds.
        group = max(1, bins // POINTS)
        groups = bins // group
        paths = np.array([run.trajectory.queue[: groups * group].reshape(groups, group).mean(axis=1) for run in runs])
        when = (np.arange(groups) + 0.5) * runs[0].trajectory.bin_slots * group / clock.slots
        low, high = np.quantile(paths, (0.25, 0.75), axis=0)
        below, above = (low.tolist(), high.tolist()) if (low < high).any() else (None, None)
        mean, name = paths.mean(axis=0), runs[0].policy
        leaving = f"{name}: {kind}, {mean[-1]:,.0f} waiting at the end"
        path = when.tolist(), mean.tolist()
        if kind == UNASKED or (kind == UNDECIDED and all_done(runs)):
            label, finding = name, f"{name} did all the work" if all_done(runs) else f"{name} kept tasks waiting"
        else:
            label, finding = f"{name}: {kind}", f"{name} is {kind}, with {number(float(mean[-1]))} waiting at the end"
        lines.append(Line(label, colour, *path, kind == UNSTABLE, below, above, leaving=leaving))
        text.append(finding)
    if not lines:
        return []
    top = max(_highest(lines), 1.2 * bound)
    across = [Guide(bound, SHOWN_AS)] if bound > 0 else []
    banded = any(line.low is not None for line in lines)
    y_title = "waiting tasks: mean, and middle half of seeds" if banded else "waiting tasks"
    chart = LineChart(lines, "slot" if clock.unit == "slots" else clock.unit, y_title, top, across)
    bands = " Bands hold the middle half of the seeds." if len(by_policy[0]) > 1 else ""
    return [Figure("Waiting tasks over time", f"{'; '.join(text)}.{bands}", chart)]


def _highest(lines: Sequence[Line]) -> float:
    """Return the top of the chart, below the highest unstable lines."""
    low = max((max(line.y) for line in lines if not line.dashed), default=0.0)
    grown = max((max(line.y) for line in lines if line.dashed), default=0.0)
    return ROOM * low if 0 < HIDES * low < grown else 1.08 * max(low, grown) or 1.0


def mean_queues(summaries: Sequence[Record]) -> list[Figure]:
    """Draw mean queues with intervals, up to the stable ones.

    Empty for single seeds.
    """
    measured = [summary for summary in summaries if summary["mean_queue"] is not None]
    if not any(summary["interval"]["mean_queue"] is not None for summary in measured):
        return []
    stable = [summary for summary in measured if summary["verdict"] != UNSTABLE] or measured
    top = max(summary["mean_queue"] + (summary["interval"]["mean_queue"] or 0.0) for summary in stable)
    entries = []
    for summary, colour in zip(summaries, colours_for([summary["policy"] for summary in summaries]), strict=True):
        mean, half = summary["mean_queue"], summary["interval"]["mean_queue"]
        if mean is not None:
            low, high = (None, None) if half is None else (max(mean - half, 0.0), mean + half)
            mark = Mark(mean, filled=summary["verdict"] != UNSTABLE)
            entries.append(ChartRow(summary["policy"], colour, low, high, [mark], estimate(mean, half)))
    text = "; ".join(f"{entry.label} {entry.text}" for entry in entries)
    hollow = " Hollow: unstable, so the mean depends on the length of the runs." if len(stable) < len(measured) else ""
    chart = RowChart(entries, "mean queue (tasks)", (0.0, 1.08 * top or 1.0))
    return [Figure("Mean queue, 95 % interval over the seeds", f"{text}.{hollow}{chart.note}", chart)]


def delays(by_policy: Sequence[Sequence[Result]], workload: Workload) -> list[Figure]:
    """Draw quantiles of the delay, mean over the seeds.

    Marks are hollow if a seed is unstable.
    """
    slowest = max((run.delay_p99 or 0.0 for runs in by_policy for run in runs), default=0.0)
    clock = clock_for(slowest, workload.slot_seconds)
    entries: list[ChartRow] = []
    for runs, colour in zip(by_policy, colours_for([runs[0].policy for runs in by_policy]), strict=True):
        diverges = any(run.verdict.kind == UNSTABLE for run in runs)
        marks = [
            Mark(float(np.mean(measured)) / clock.slots, shape, not diverges)
            for key, (_, shape) in QUANTILES.items()
            if (measured := [getattr(run, key) for run in runs if getattr(run, key) is not None])
        ]
        if marks:
            text = " / ".join(number(mark.value) for mark in marks)
            entries.append(ChartRow(runs[0].policy, colour, marks[0].value, marks[-1].value, marks, text))
    if not entries:
        return []
    values = [mark.value for entry in entries for mark in entry.marks]
    ends = (min(values) / BEYOND, max(values) * BEYOND or 1.0)
    marks = [mark for row in entries for mark in row.marks]
    hollow = [Key(GREY, "unstable (hollow)", "o", False)] if any(not mark.filled for mark in marks) else []
    keys = [Key(GREY, name, shape) for name, shape in QUANTILES.values()] + hollow
    text = "; ".join(f"{entry.label} {entry.text}" for entry in entries)
    chart = RowChart(entries, f"delay ({clock.unit})", ends, log=True, marks=keys)
    return [Figure("Delay of tasks", f"Median, 95 % and 99 % in {clock.unit}: {text}.", chart)]


def fragmentation(by_policy: Sequence[Sequence[Result]], workload: Workload) -> list[Figure]:
    """Draw the share of all GPUs that is idle and unusable, by reason.

    A chart for each policy, mean over the seeds (PAPERS §7). Empty without devices or stored schedules.
    """
    recorded = [runs for runs in by_policy if all(run.schedule is not None for run in runs)]
    if not recorded or not has_fragmentation(workload):
        return []
    clock = _clock(recorded, workload)
    edges = [np.linspace(0, length, min(BINS, length) + 1) for runs in recorded for length in [min(run.slots for run in runs)]]
    shares = [
        np.mean([_fragmented(run, workload, ends) for run in runs], axis=0) for runs, ends in zip(recorded, edges, strict=True)
    ]
    reasons = np.flatnonzero(np.max([share.max(axis=0) for share in shares], axis=0))
    top = 1.08 * max(float(share.sum(axis=1).max()) for share in shares) or 1.0
    figures = []
    for runs, ends, share in zip(recorded, edges, shares, strict=True):
        when, below, lines, policy = (ends / clock.slots).tolist(), np.zeros(len(share)), [], runs[0].policy
        for k in reasons.tolist():
            above = below + share[:, k]
            low, high = ([*layer.tolist(), layer[-1]] for layer in (below, above))
            lines.append(Line(REASONS[k], (*COLOURS[:6], GREY)[k], when, high, low=low, high=high))
            below = above
        unit = "slot" if clock.unit == "slots" else clock.unit
        chart = LineChart(lines, unit, "of all GPUs", top, layers=True, steps=True, percent=True, tall=260)
        parts = ", ".join(f"{REASONS[k]} {mean:.1%}" for k, mean in enumerate(share.mean(axis=0)) if k in reasons)
        finding = f"Of all GPUs {share.sum(axis=1).mean():.1%} are idle and of no use, on average: {parts}."
        figures.append(Figure(f"Fragmentation: {policy}", finding, chart, small=len(recorded) > 1))
    return figures


def _fragmented(run: Result, workload: Workload, edges: Floats) -> Floats:
    """Return mean unusable shares of all GPUs by reason, (bins, 7)."""
    over_time = fragmentation_over_time(run, workload)
    return np.stack([means_between(over_time.slot, share, edges) for share in over_time.shares.T], axis=1)


def fullness(workload: Workload, runs: Sequence[Result]) -> Figure:
    """Draw the share of the scarcest resource in service over time.

    A line for each run of a table of jobs. Each run has its schedule, and started a task.
    """
    clock = _clock([runs], workload)
    every = [_occupancy(run, workload) for run in runs]
    scarce = int(np.argmax(every[0].utilisation))
    name = "" if workload.D == 1 else f": {workload.resource_names[scarce]}"
    lines, text = [], []
    for run, use, colour in zip(runs, every, colours_for([run.policy for run in runs]), strict=True):
        edges = np.linspace(0, run.slots, min(BINS, run.slots) + 1)
        shares = means_between(use.slot, use.used[:, scarce], edges)
        lines.append(Line(run.policy, colour, (edges[:-1] / clock.slots).tolist(), shares.tolist()))
        text.append(f"{run.policy} {shares.mean():.0%}, at most {shares.max():.0%}")
    when = "slot" if clock.unit == "slots" else clock.unit
    chart = LineChart(lines, when, "share in service", 1.0, steps=True, percent=True, tall=260)
    return Figure(f"How full the cluster was{name}", f"On average in service: {'; '.join(text)}.", chart)


def use_charts(workload: Workload, runs: Sequence[Result], bound: int, title: str) -> Charts:
    """Draw the use of each resource over time, filled for the first run.

    `bound`: least length of all schedules, in slots. The runs are finished, of a table of jobs, and have their schedules.
    """
    assert workload.jobs is not None
    first, every = int(workload.jobs.arrival[0]), [_occupancy(run, workload) for run in runs]
    ends = [int(use.slot[-1]) - first for use in every]
    names = [f"{run.policy}: {end:,} slots" for run, end in zip(runs, ends, strict=True)]
    up = Guide(bound, f"no schedule is shorter: {bound:,} slots")
    figures = []
    for r, resource in enumerate(workload.resource_names):
        lines = []
        for n, use in enumerate(every):
            when, used = (use.slot - first).tolist(), [*use.used[:, r].tolist(), 0.0]
            low, high = ([0.0] * len(used), used) if n == 0 else (None, None)
            lines.append(Line(names[n], COLOURS[n], when, used, low=low, high=high))
        chart = LineChart(lines, "slots from the first arrival", "in use", 1.2, up=[up], steps=True, percent=True, tall=220)
        figures.append(Figure(resource if workload.D > 1 else "capacity", "", chart))
    return Charts(title, figures)


def _occupancy(run: Result, workload: Workload) -> Occupancy:
    assert run.schedule is not None
    jobs = workload.played_jobs(run.seed, len(run.schedule.start))
    return occupancy(jobs, cut(run.schedule, run.slots), workload.servers.units, workload.network)


def means_between(slot: NDArray[np.int64], value: Floats, edges: Floats) -> Floats:
    """Return means (bins,) between edges (bins + 1,) of a step function.

    It is value[k] from slot[k] to slot[k + 1], and 0 elsewhere.
    """
    area = np.concatenate([[0.0], np.cumsum(value * np.diff(slot))])
    return np.asarray(np.diff(np.interp(edges, slot, area)) / np.diff(edges))


def _clock(by_policy: Sequence[Sequence[Result]], workload: Workload) -> Clock:
    return clock_for(max(run.slots for runs in by_policy for run in runs), workload.slot_seconds)
