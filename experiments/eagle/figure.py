"""Eagle over Hawk by the size of the cluster, and what each of Eagle's mechanisms adds (Delgado et al., figure 3.2); Hawk over
Sparrow by load and burst."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from experiments.eagle.claims import claims_on
from experiments.eagle.runs import QUICK_SEEDS, SEEDS, SWEPT, TRACES, measure
from experiments.eagle.tables import mechanism_rows, panel_rows, policy_rows, sweep_rows
from experiments.finding import Finding, Row, Settings
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted
from packenv.report.plot_style import light_grid, plain_numbers

LEVEL_COLOURS = {50: COLOURS[0], 90: COLOURS[1], 99: COLOURS[2]}
HIGHEST = 2.0  # of the panels, as printed
DARK = "#333333"


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    measured = measure(seeds, settings)
    panels, compared, parts = (
        [row for trace in TRACES for row in rows_of(trace, measured)] for rows_of in (panel_rows, policy_rows, mechanism_rows)
    )
    sweep = sweep_rows(measured)
    what = f"{counted(seeds, 'seed')} of workloads in the traces' proportions, the smallest clusters 0.9 utilised"
    title = f"Eagle over Hawk, {what}{settings.remark}"

    def draw() -> Figure:
        return draw_eagle(panels, compared, parts, sweep, title)

    tables = {"": panels, "_policies": compared, "_mechanisms": parts, "_sweep": sweep}
    return Finding("eagle", title, claims_on(panels, sweep, parts), tables, draw)


def draw_eagle(panels: list[Row], compared: list[Row], parts: list[Row], sweep: list[Row], title: str) -> Figure:
    """Rows as experiments.eagle.figure writes them into its tables."""
    figure = Figure(figsize=(12.5, 16), layout="constrained")
    rows_of_figure: Any = figure.subfigures(3, 1, height_ratios=[1.6, 0.8, 1.1])
    upper, middle, lower = rows_of_figure
    traces = list(dict.fromkeys(row["trace"] for row in panels))
    grid = upper.subplots(2, len(traces), sharey=True)
    for row_of_axes, kind in zip(grid, ("short", "long"), strict=True):
        for axes, trace in zip(row_of_axes, traces, strict=True):
            draw_panel(axes, [row for row in panels if (row["trace"], row["jobs"]) == (trace, kind)], f"{kind} jobs, {trace}")
        row_of_axes[0].set_ylabel("Eagle over Hawk")
    for axes in grid[1]:
        axes.set_xlabel("servers")
    grid[0][0].legend(fontsize=8, frameon=False, loc="upper left")
    of_parts = middle.subplots(1, len(traces), sharey=True)
    for axes, trace in zip(of_parts, traces, strict=True):
        draw_parts(axes, [row for row in parts if (row["trace"], row["jobs"]) == (trace, "short")], trace)
    of_parts[0].set_ylabel("factor by which it shortens short jobs' times")
    left, right = lower.subplots(1, 2, width_ratios=[1.4, 1])
    draw_policies(left, [row for row in compared if (row["trace"], row["jobs"]) == (SWEPT, "short")])
    draw_sweep(right, sweep)
    figure.suptitle(title, fontsize=11)
    return figure


def draw_panel(axes: Any, rows: list[Row], name: str) -> None:
    """Ratios with their 95 % intervals, and Eagle's utilisation, against the size of the cluster."""
    axes.axhline(1, color=GREY, linewidth=0.8)
    for level, colour in LEVEL_COLOURS.items():
        own = [row for row in rows if row["percentile"] == level]
        sizes = [row["servers"] for row in own]
        axes.plot(sizes, [row["eagle_over_hawk"] for row in own], "o-", color=colour, markersize=4, label=f"{level}th percentile")
        if own[0]["eagle_over_hawk_low"] is not None:
            low, high = ([row[f"eagle_over_hawk_{end}"] for row in own] for end in ("low", "high"))
            axes.fill_between(sizes, low, high, color=colour, alpha=0.15, lw=0)
    used = [row["eagle_utilisation"] for row in own]
    axes.plot(sizes, used, "s--", color=GREY, markersize=3, linewidth=1, label="Eagle's utilisation")
    axes.set_ylim(0, HIGHEST)
    axes.set_xticks(sizes)
    axes.set_title(name, fontsize=10)
    plain_numbers(axes.xaxis)
    light_grid(axes)


def draw_policies(axes: Any, rows: list[Row]) -> None:
    """Short jobs' completion times under every policy, the fastest at the 90th percentile on top."""
    ninetieth = {row["policy"]: row["seconds"] for row in rows if row["percentile"] == 90}
    order = sorted(ninetieth, key=lambda policy: ninetieth[policy])
    for level, colour in LEVEL_COLOURS.items():
        seconds = {row["policy"]: row["seconds"] for row in rows if row["percentile"] == level}
        axes.plot([seconds[policy] for policy in order], range(len(order)), "o", color=colour, label=f"{level}th percentile")
    axes.set_yticks(range(len(order)), [name_of(policy) for policy in order], fontsize=8)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xticks([100, 200, 500, 1000, 2000, 5000])
    axes.xaxis.set_minor_formatter(NullFormatter())
    plain_numbers(axes.xaxis)
    axes.set_xlabel("completion time of short jobs (s); google, the smallest cluster")
    axes.legend(fontsize=8, frameon=False)
    light_grid(axes)


def name_of(policy: str) -> str:
    """`eagle without sharing, srpt`; other policies as they are called."""
    off = [part.removesuffix("=false") for part in policy.partition(":")[2].split(",") if part.endswith("=false")]
    return f"{policy.partition(':')[0]} without {', '.join(off)}" if off else policy


def draw_parts(axes: Any, rows: list[Row], trace: str) -> None:
    """By which factor each mechanism divides short jobs' completion times."""
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    for n, (level, colour) in enumerate(LEVEL_COLOURS.items()):
        own = [row for row in rows if row["percentile"] == level]
        place = [k + (n - 1) * 0.25 for k in range(len(own))]
        axes.bar(place, [row["factor"] - 1 for row in own], 0.22, bottom=1, color=colour, yerr=errors(own, "factor"), ecolor=DARK)
    axes.axhline(1, color=GREY, linewidth=0.8)
    axes.set_xticks(range(len(mechanisms)), mechanisms)
    axes.set_yscale("log")
    axes.set_yticks([1, 1.5, 2, 3, 5, 10])
    axes.yaxis.set_minor_formatter(NullFormatter())
    plain_numbers(axes.yaxis)
    axes.set_title(f"{trace}, the smallest cluster", fontsize=10)
    light_grid(axes)


def draw_sweep(axes: Any, rows: list[Row]) -> None:
    """Hawk over Sparrow at each load and burst, and as published."""
    points = list(dict.fromkeys((row["load"], row["burst"]) for row in rows))
    for n, (kind, level) in enumerate(dict.fromkeys((row["jobs"], row["percentile"]) for row in rows)):
        own = [row for row in rows if (row["jobs"], row["percentile"]) == (kind, level)]
        colour, marker = LEVEL_COLOURS[level], "o" if kind == "short" else "^"
        place = [k + (n - 1.5) * 0.12 for k in range(len(points))]
        over = [row["hawk_over_sparrow"] for row in own]
        label = f"{kind} jobs, {level}th percentile"
        axes.errorbar(place, over, errors(own, "hawk_over_sparrow"), fmt=marker, color=colour, markersize=5, label=label)
        axes.axhline(own[0]["published"], color=colour, linewidth=1, linestyle=":" if kind == "short" else "--")
    axes.axhline(1, color=GREY, linewidth=0.8)
    axes.set_xticks(
        range(len(points)), [f"{load}\n{'one by one' if burst == 1 else burst}" for load, burst in points], fontsize=8
    )
    axes.set_xlabel("load, and jobs that arrive together; lines: as published")
    axes.set_ylabel("Hawk over Sparrow")
    axes.set_ylim(0, None)
    axes.legend(fontsize=8, frameon=False)
    axes.set_title(SWEPT, fontsize=10)
    light_grid(axes)


def errors(rows: list[Row], name: str) -> list[list[float]] | None:
    """Lengths of error bars, below and above; None without intervals."""
    if rows[0][f"{name}_low"] is None:
        return None
    return [[row[name] - row[f"{name}_low"] for row in rows], [row[f"{name}_high"] - row[name] for row in rows]]
