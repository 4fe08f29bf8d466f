"""Pictures of Zhang and Yao: a flow shop, makespans by policy, and solving times. Those of measures over time: `curves_plot`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from packenv.runs.plot_style import COLOURS, GREY, light_grid, plain_numbers
from packenv.studies.beside import LEGEND
from packenv.studies.price.runs import FIXED_SAT, SAT

Row = dict[str, Any]
LOOKS = {
    "price": (COLOURS[0], "-"),
    "price:welfare=1": (COLOURS[0], "--"),
    "price:blocking": (COLOURS[0], ":"),
    "priority": (COLOURS[1], "-"),
    "capacity": (COLOURS[2], "-"),
    "fifo": (COLOURS[4], "-"),
    "fifo:blocking=false": (COLOURS[4], "--"),
    "bf-js": (COLOURS[5], "-"),
    "drf": (COLOURS[5], "--"),
    "tetris": (COLOURS[3], "-"),
    "tetris:m=0,f=0": (COLOURS[3], "--"),
    SAT: (COLOURS[6], "--"),
    FIXED_SAT: (COLOURS[6], "-"),
}
"""Colour and line of a policy; the same policy with another parameter differs in the line."""


def draw_flow_shop(bars: list[Row], title: str, path: str | os.PathLike[str]) -> None:
    """Which job has each resource when, one panel per order."""
    orders = list(dict.fromkeys(bar["order"] for bar in bars))
    resources = sorted({bar["resource"] for bar in bars}, reverse=True)
    figure = Figure(figsize=(7.2, 0.8 + 1.2 * len(orders)), layout="constrained")
    all_axes = figure.subplots(len(orders), 1, sharex=True)
    for axes, order in zip(all_axes, orders, strict=True):
        own = [bar for bar in bars if bar["order"] == order]
        for bar in own:
            row, width = resources.index(bar["resource"]), bar["end"] - bar["start"]
            colour = COLOURS[bar["job"] - 1]
            axes.barh(row, width, left=bar["start"], height=0.72, color=colour, alpha=0.75, edgecolor="white", linewidth=1.5)
            axes.text(bar["start"] + width / 2, row, f"job {bar['job']}", ha="center", va="center", fontsize=9, color="white")
        end = max(bar["end"] for bar in own)
        axes.axvline(end, color=GREY, linewidth=1.2, linestyle=":")
        axes.set_yticks(range(len(resources)), resources)
        axes.set_title(f"{order}: {end} slots", fontsize=10, loc="left")
        axes.grid(axis="x", alpha=0.25)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[-1].set_xlabel("slot")
    all_axes[-1].set_xlim(0, max(bar["end"] for bar in bars) + 0.5)
    all_axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    figure.savefig(path, dpi=130)


def draw_makespans(
    makespans: dict[str, Sequence[float | None]],
    bounds: Sequence[float],
    policies: list[str],
    title: str,
    path: str | os.PathLike[str],
) -> None:
    """A line of points for each policy, one per instance, with their mean; the lower bounds below. `policies`: whose colours."""
    lines = [*((name, values, LOOKS[policy]) for (name, values), policy in zip(makespans.items(), policies, strict=True))]
    lines.append(("lower bound", list(bounds), (GREY, "-")))
    figure = Figure(figsize=(7.6, 1.5 + 0.42 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    known = [value for _, values, _ in lines for value in values if value is not None]
    width = max(known) - min(known) or 1.0
    for n, (_, values, (colour, style)) in enumerate(lines):
        own = [value for value in values if value is not None]
        spread = np.linspace(-0.22, 0.22, len(own)) if len(own) > 1 else np.zeros(1)
        face = "white" if style != "-" else colour
        axes.plot(own, n + spread, "o", color=colour, markersize=4, alpha=0.5, markerfacecolor=face, zorder=2)
        mean = float(np.mean(own))
        axes.plot([mean, mean], [n - 0.34, n + 0.34], color=colour, linewidth=2.4, zorder=3)
        axes.text(1.01, n, f"{mean:.1f}", transform=axes.get_yaxis_transform(), va="center", fontsize=10, color=colour)
    axes.set_yticks(range(len(lines)), [name for name, _, _ in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(min(known) - 0.05 * width, max(known) + 0.05 * width)
    axes.set_xlabel("makespan (slots): a point per instance, a line and a number for the mean")
    plain_numbers(axes.xaxis)
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{title}; {LEGEND}".replace("; ", "\n"), fontsize=10, loc="left")
    figure.savefig(path, dpi=130)


def draw_times(rows: list[Row], names: dict[str, str], title: str, path: str | os.PathLike[str]) -> None:
    """Seconds on a logarithmic scale: exponential growth is a straight line. Runs that were stopped point upwards."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    all_axes = figure.subplots(1, len(names), sharey=True)
    for axes, (servers, name) in zip(all_axes, names.items(), strict=True):
        own = [row for row in rows if row["servers"] == servers]
        for proven, marker, colour, label in ((True, "o", COLOURS[6], "proven optimal"), (False, "^", COLOURS[1], "stopped")):
            runs = [row for row in own if row["proven"] == proven]
            size, seconds = ([row[key] for row in runs] for key in ("phases", "seconds"))
            axes.plot(size, seconds, marker, color=colour, markersize=5, alpha=0.6, label=label, linestyle="none")
        if not own:
            missing = "not measured: policy sat and OR-tools\nare not installed"
            axes.text(0.5, 0.5, missing, ha="center", va="center", color=GREY, transform=axes.transAxes)
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("phases of all jobs")
        axes.set_title(name, fontsize=10, loc="left")
        light_grid(axes)
    all_axes[0].set_ylabel("seconds of one core")
    all_axes[0].legend(fontsize=9, frameon=False)
    figure.suptitle(title.replace("; ", "\n"), fontsize=10, x=0.01, ha="left")
    figure.savefig(path, dpi=130)
