"""Figure 3 of the paper: queues over time, mean over the seeds with its interval and their range."""

from __future__ import annotations

import os
from typing import Any

from matplotlib.figure import Figure

from packenv.runs.plot_style import colours_for, light_grid, plain_numbers

Row = dict[str, Any]
STYLES = {"stable": "-", "unstable": "--", "undecided": "-."}


def draw_queues(
    paths: dict[str, list[Row]], names: dict[str, str], verdicts: dict[str, str], title: str, path: str | os.PathLike[str]
) -> None:
    """`paths`: by curve, rows with slot, mean_queue and its ends. Unstable curves are dashed."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axes = figure.add_subplot()
    colours = dict(zip(paths, colours_for(list(paths)), strict=True))
    for curve, rows in paths.items():
        when = [row["slot"] for row in rows]
        style = STYLES[verdicts[curve]]
        label = f"{names[curve]}: {verdicts[curve]}{_on_average(rows)}"
        axes.plot(when, [row["mean_queue"] for row in rows], style, color=colours[curve], linewidth=1.8, label=label)
        if rows and rows[0]["mean_queue_low"] is not None:
            low, high = ([row[f"mean_queue_{end}"] for row in rows] for end in ("low", "high"))
            axes.fill_between(when, low, high, color=colours[curve], alpha=0.25, linewidth=0)
    axes.set_xlabel("slot")
    axes.set_ylabel("waiting jobs")
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.012 * top, top)  # curves near 0 stay off the axis
    axes.margins(x=0)
    plain_numbers(axes.xaxis)
    plain_numbers(axes.yaxis)
    light_grid(axes)
    axes.legend(loc="upper left", fontsize=9, framealpha=0.9, title="band: 95 % interval of the mean", title_fontsize=8)
    axes.set_title(title.replace("; ", "\n"), fontsize=10, loc="left")
    figure.savefig(path, dpi=130)


def _on_average(rows: list[Row]) -> str:
    """`, 13.4 on average`: what a curve near 0 does not let one read."""
    known = [row["mean_queue"] for row in rows]
    return f", {sum(known) / len(known):,.3g} waiting on average" if known and sum(known) < 100 * len(known) else ""
