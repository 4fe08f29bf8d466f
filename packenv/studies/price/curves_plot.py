"""Pictures of figures 5-7 and 8-10 of Zhang and Yao: measures over time, makespans, and where price's gain comes from."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from packenv.runs.plot_style import COLOURS, GREY, light_grid
from packenv.studies.beside import LEGEND
from packenv.studies.finding import Row
from packenv.studies.price.gain import ORDER, UNBLOCKED
from packenv.studies.price.plot import LOOKS
from packenv.studies.price.runs import COMPARED, NOT_COMPARED, POLICIES, PRICES, label

PANELS = (
    ("efficiency", "share of all value", "Efficiency"),
    ("utilisation", "share of capacity in service", "Utilisation"),
    ("unfairness", "variance of the jobs' progress", "Unfairness"),
)
BESIDE = (("the paper's comparators", (*PRICES, *COMPARED)), ("those that it leaves out", (PRICES[0], *NOT_COMPARED)))
PARTS = {UNBLOCKED: COLOURS[4], ORDER: COLOURS[0]}


def draw_curves(rows: list[Row], measures: list[Row], gains: list[Row], title: str, path: str | os.PathLike[str]) -> None:
    """Measures over time, means over the seeds with their intervals: above beside the paper's comparators, below beside others.

    On the right the makespans of all, and the slots that price saves over FIFO.
    """
    figure = Figure(figsize=(15.5, 8.2), layout="constrained")
    grid: Any = figure.subplots(2, len(PANELS) + 1, width_ratios=[1, 1, 1, 1.05])
    for line, (beside, policies) in enumerate(BESIDE):
        for axes, (measure, unit, heading) in zip(grid[line], PANELS, strict=False):
            draw_measure(axes, rows, policies, measure)
            axes.set_xlabel("slot")
            axes.set_ylabel(unit)
            axes.set_title(f"{heading}, beside {beside}", fontsize=10, loc="left")
        grid[line, 0].legend(fontsize=8.5, frameon=False, loc="lower right")
    draw_means(grid[0, -1], [row for row in measures if row["measure"] == "makespan"])
    draw_gains(grid[1, -1], [row for row in gains if row["difference"] in PARTS])
    figure.suptitle(f"{title}; bands and bars: 95 % intervals; {LEGEND}", fontsize=10, x=0.01, ha="left")
    figure.savefig(path, dpi=110)


def draw_measure(axes: Axes, rows: list[Row], policies: tuple[str, ...], measure: str) -> None:
    for policy in policies:
        own = [row for row in rows if row["policy"] == policy]
        colour, style = LOOKS[policy]
        slots = [row["slot"] for row in own]
        axes.plot(slots, [row[measure] for row in own], style, color=colour, linewidth=1.7, label=label(policy))
        if own[0][f"{measure}_low"] is not None:
            low, high = ([row[f"{measure}_{end}"] for row in own] for end in ("low", "high"))
            axes.fill_between(slots, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    light_grid(axes)


def draw_means(axes: Axes, rows: list[Row]) -> None:
    """A point for each policy with its interval."""
    for n, policy in enumerate(POLICIES):
        row = next(row for row in rows if row["policy"] == policy)
        colour, style = LOOKS[policy]
        low, high = (row["mean"] if row[end] is None else row[end] for end in ("low", "high"))
        axes.plot([low, high], [n, n], style, color=colour, linewidth=2)
        axes.plot(row["mean"], n, "o", color=colour, markerfacecolor=colour if style == "-" else "white")
        axes.text(1.01, n, f"{row['mean']:.1f}", transform=axes.get_yaxis_transform(), va="center", fontsize=9, color=colour)
    axes.set_yticks(range(len(POLICIES)), [label(policy) for policy in POLICIES], fontsize=8.5)
    axes.invert_yaxis()
    axes.set_xlabel("slots")
    axes.set_title("Makespan", fontsize=10, loc="left")
    light_grid(axes)


def draw_gains(axes: Axes, rows: list[Row]) -> None:
    """The slots that price saves over FIFO, in both orders in which its two differences can be made."""
    orders = [rows[:2], rows[2:]]
    for n, steps in enumerate(orders):
        left, total = 0.0, sum(row["slots"] for row in steps)
        for row, (place, side) in zip(steps, ((0.0, "left"), (total, "right")), strict=True):
            colour = PARTS[row["difference"]]
            axes.barh(n, row["slots"], left=left, height=0.5, color=colour, alpha=0.8, edgecolor="white")
            axes.text(place, n - 0.32, f"{row['difference']}: {row['slots']:.1f}", ha=side, fontsize=8.5, color=colour)
            left += row["slots"]
    axes.set_yticks(range(2), [f"{steps[0]['difference']}\nfirst" for steps in orders], fontsize=8.5)
    axes.set_ylim(1.5, -0.6)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("slots of makespan saved")
    axes.set_title("Price's gain over blocking FIFO", fontsize=10, loc="left")
    light_grid(axes)
