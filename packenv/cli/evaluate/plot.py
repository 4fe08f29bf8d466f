"""The picture of `packenv evaluate`: queues over time, and delays, by policy."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter

from packenv.files import atomic_path
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE, combine
from packenv.runs.plot_style import colours_for, light_grid, plain_numbers
from packenv.runs.text import counted
from packenv.workloads.workload import Workload

QUANTILES = (("delay_p50", "median", "|", 11), ("delay_p95", "95 %", "o", 6), ("delay_p99", "99 %", "D", 5))
POINTS = 256


class Clock(NamedTuple):
    """The unit in which times are shown: its length in slots, and its name."""

    slots: float
    unit: str


def draw_runs(
    by_policy: list[list[Result]], workload: Workload, path: str | os.PathLike[str], backlog: int | None = None
) -> None:
    """Left: waiting tasks over time, mean over the seeds (band: their range). Right: quantiles of the delay.

    A policy that is unstable with any seed is dashed and hollow: its delays say how long the run was.
    """
    height = max(4.2, 2.2 + 0.45 * len(by_policy))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, height), width_ratios=(3, 2), layout="constrained")
    colours = colours_for([runs[0].policy for runs in by_policy])
    longest = max(run.slots for runs in by_policy for run in runs)
    clock = clock_for(longest, workload.slot_seconds)
    for runs, colour in zip(by_policy, colours, strict=True):
        _draw_queue(left, runs, colour, clock)
    _finish_queue(left, clock)
    slowest = max((run.delay_p99 or 0.0 for runs in by_policy for run in runs), default=0.0)
    delay_clock = clock_for(slowest, workload.slot_seconds)
    for row, (runs, colour) in enumerate(zip(by_policy, colours, strict=True)):
        _draw_delays(right, runs, row, colour, delay_clock)
    _finish_delays(right, [runs[0].policy for runs in by_policy], delay_clock)
    seeds = max(map(len, by_policy))
    length = longest / clock.slots
    arrivals = f"intensity {workload.intensity:.2f}" if backlog is None else f"{backlog:,} kept waiting"
    figure.suptitle(
        f"{workload.name}: {counted(len(workload.servers), 'server')}, {arrivals}, "
        f"{length:,.{0 if length >= 100 else 1}f} {clock.unit}" + (f", {seeds} seeds" if seeds > 1 else "")
    )
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    plt.close(figure)


def clock_for(slots: float, slot_seconds: float | None) -> Clock:
    """A unit that gives numbers from about 2 to a few hundred, where the length of a slot is known; slots otherwise."""
    if slot_seconds is None:
        return Clock(1.0, "slots")
    for seconds, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if slots * slot_seconds >= 2 * seconds:
            return Clock(seconds / slot_seconds, unit)
    return Clock(1 / slot_seconds, "seconds")


def verdict_of(runs: list[Result]) -> str:
    """The verdict on all seeds together."""
    return combine(run.verdict for run in runs).kind


def _diverges(runs: list[Result]) -> bool:
    return any(run.verdict.kind == UNSTABLE for run in runs)


def _draw_queue(axes: Any, runs: list[Result], colour: str, clock: Clock) -> None:
    bins = min(len(run.trajectory.queue) for run in runs)
    if bins == 0:
        return
    width = runs[0].trajectory.bin_slots
    group = max(1, bins // POINTS)
    whole = bins // group
    paths = np.array([run.trajectory.queue[: whole * group].reshape(whole, group).mean(axis=1) for run in runs])
    when = (np.arange(whole) + 0.5) * width * group / clock.slots
    style = "--" if _diverges(runs) else "-"
    axes.plot(when, paths.mean(axis=0), style, color=colour, linewidth=1.6, label=f"{runs[0].policy}: {verdict_of(runs)}")
    if len(runs) > 1:
        axes.fill_between(when, paths.min(axis=0), paths.max(axis=0), color=colour, alpha=0.15, linewidth=0)


def _finish_queue(axes: Any, clock: Clock) -> None:
    axes.set_xlabel("slot" if clock.unit == "slots" else clock.unit)
    axes.set_ylabel("waiting tasks")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    plain_numbers(axes.yaxis)
    if clock.unit == "slots":
        plain_numbers(axes.xaxis)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", fontsize=9, framealpha=0.9)
    axes.set_title("Queue over time", fontsize=10, loc="left")
    light_grid(axes)


def _draw_delays(axes: Any, runs: list[Result], row: int, colour: str, clock: Clock) -> None:
    means = []
    for key, label, marker, size in QUANTILES:
        known = [getattr(run, key) for run in runs if getattr(run, key) is not None]
        if not known:
            return
        means.append(float(np.mean(known)) / clock.slots)
        face = "white" if _diverges(runs) else colour
        axes.plot(
            means[-1], row, marker, color=colour, markerfacecolor=face, markersize=size, markeredgewidth=1.8, zorder=3,
            label=label if row == 0 else None,
        )  # fmt: skip
    style = "--" if _diverges(runs) else "-"
    axes.plot([means[0], means[-1]], [row, row], style, color=colour, linewidth=1.6, zorder=2)


def _finish_delays(axes: Any, policies: list[str], clock: Clock) -> None:
    axes.set_yticks(range(len(policies)), policies)
    axes.set_ylim(len(policies) - 0.4, -0.6)
    shown = np.concatenate([line.get_xdata() for line in axes.lines]) if axes.lines else np.zeros(1)
    largest, least = max(float(shown.max()), 1e-9), float(shown.min())
    if least > 0:
        axes.set_xscale("log")
        axes.set_xlim(least / 1.5, largest * 1.5)
    else:
        axes.set_xscale("symlog", linthresh=largest / 100, linscale=0.5)
        axes.set_xlim(-largest / 500, largest * 1.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
    axes.set_xlabel(f"delay ({clock.unit})")
    axes.grid(axis="x", alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        handles, labels = axes.get_legend_handles_labels()
        legend = axes.legend(handles, labels, loc="lower right", ncols=3, fontsize=9, bbox_to_anchor=(1.0, 1.0), frameon=False)
        for handle in legend.legend_handles:
            handle.set(color="#444444", markerfacecolor="#444444")
    axes.set_title("Delay", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
