"""The picture of `packenv evaluate`: queues over time, and delays, by policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from packenv.report.pictures import Picture
from packenv.report.queue_lines import draw_queues
from packenv.report.story import story_of
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE
from packenv.runs.clock import Clock, clock_for
from packenv.runs.plot_style import colours_for
from packenv.runs.text import counted
from packenv.theory.queue_bound.queue_bound import known_bound
from packenv.workloads.workload import Workload

QUANTILES = (("delay_p50", "median", "|", 11), ("delay_p95", "95 %", "o", 6), ("delay_p99", "99 %", "D", 5))


def runs_chart(by_policy: Sequence[Sequence[Result]], workload: Workload, backlog: int | None = None) -> Picture:
    """Left: waiting tasks over time, mean over the seeds (band: the middle half of them). Right: quantiles of the delay.

    Delays of a policy that is unstable with any seed are dashed and hollow: they say how long the run was. The queue of an
    unstable policy is dashed; where it would hide the others, it leaves the picture at the top. A dotted line shows what no
    policy's mean queue comes below unless it knows durations, if anything is proved. The title says in a sentence what is to
    be seen.
    """
    height = max(4.2, 2.2 + 0.45 * len(by_policy))
    figure = Picture(figsize=(11, height), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    colours = colours_for([runs[0].policy for runs in by_policy])
    longest = max(run.slots for runs in by_policy for run in runs)
    clock = clock_for(longest, workload.shown_slot)
    draw_queues(left, by_policy, colours, clock, 0.0 if backlog is not None else known_bound(workload))
    slowest = max((run.delay_p99 or 0.0 for runs in by_policy for run in runs), default=0.0)
    delay_clock = clock_for(slowest, workload.shown_slot)
    for row, (runs, colour) in enumerate(zip(by_policy, colours, strict=True)):
        _draw_delays(right, runs, row, colour, delay_clock)
    _finish_delays(right, [runs[0].policy for runs in by_policy], delay_clock)
    figure.suptitle(f"{story_of(by_policy)}\n{_setting(by_policy, workload, clock, longest, backlog)}", fontsize=11)
    return figure


def _setting(by_policy: Sequence[Sequence[Result]], workload: Workload, clock: Clock, longest: int, backlog: int | None) -> str:
    seeds = max(map(len, by_policy))
    length = longest / clock.slots
    arrivals = f"intensity {workload.intensity:.2f}" if backlog is None else f"{backlog:,} kept waiting"
    return (
        f"{workload.name}: {counted(len(workload.servers), 'server')}, {arrivals}, "
        f"{length:,.{0 if length >= 100 else 1}f} {clock.unit}" + (f", {seeds} seeds" if seeds > 1 else "")
    )


def _diverges(runs: Sequence[Result]) -> bool:
    return any(run.verdict.kind == UNSTABLE for run in runs)


def _draw_delays(axes: Any, runs: Sequence[Result], row: int, colour: str, clock: Clock) -> None:
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
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(f"delay ({clock.unit})")
    axes.grid(axis="x", alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        handles, labels = axes.get_legend_handles_labels()
        legend = axes.legend(handles, labels, loc="lower right", ncols=3, fontsize=9, bbox_to_anchor=(1.0, 1.0), frameon=False)
        for handle in legend.legend_handles:
            handle.set(color="#444444", markerfacecolor="#444444")
    axes.set_title("Delay", fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
