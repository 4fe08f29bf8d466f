"""Queues of policies, as figures 3 to 5 have them: names, rows of tables, and curves against how much arrives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from experiments.finding import Row, columns
from experiments.random_requirements.verdicts import joint_verdict, verdict_counts
from packenv.content.charts import GREY, MARKERS, VERDICT_MARKERS, colours_for
from packenv.report.plot_style import light_grid, plain_numbers
from packenv.results.result import Result
from packenv.runs.statistics import interval

NAMES = {"bf-js": "BF-J/S", "vqs": "VQS", "vqs-bf": "VQS-BF", "fifo-ff": "FIFO-FF"}


def draw_curves(
    axes: Any, rows: list[Row], by: str, key: str, names: list[str], scale: float = 1.0, apart: float | None = None
) -> None:
    """A line for each policy, its points marked by verdict; intervals as bands or, `apart` from each other, as bars."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    values = [row[key] * scale for row in rows if row[key]]
    floor = min(values, default=1.0) / 3
    for n, (policy, name, colour) in enumerate(zip(policies, names, colours_for(policies), strict=True)):
        of_policy = [row for row in rows if row["policy"] == policy and row[key] is not None]
        x = np.array([row[by] for row in of_policy]) + (apart or 0.0) * (n - (len(policies) - 1) / 2)
        mean = np.array([row[key] for row in of_policy]) * scale
        axes.plot(x, mean, color=colour, linewidth=1.5, label=name, zorder=2)
        if of_policy and of_policy[0][f"{key}_low"] is not None:
            low, high = (np.array([row[f"{key}_{end}"] for row in of_policy]) * scale for end in ("low", "high"))
            low = np.maximum(low, floor)
            if apart is None:
                axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
            else:
                axes.vlines(x, low, high, color=colour, linewidth=1.2, alpha=0.6, zorder=1)
        for row, at, value in zip(of_policy, x, mean, strict=True):
            unstable = row["verdict"] == "unstable"
            face = colour if row["verdict"] == "stable" else "white"
            marker = "x" if unstable else MARKERS.get(policy, "o")
            axes.plot(at, value, marker, color=colour, markerfacecolor=face, markersize=6, markeredgewidth=1.5, zorder=3)
    if values and all(row[key] for row in rows if row[key] is not None):
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    plain_numbers(axes.yaxis)
    light_grid(axes)


def legends(figure: Any, axes: Any) -> None:
    """Policies and verdicts, below the picture."""
    handles, labels = axes.get_legend_handles_labels()
    for verdict, marker, face in VERDICT_MARKERS:
        handles.append(Line2D([], [], linestyle="", marker=marker, color=GREY, markerfacecolor=face, markeredgewidth=1.5))
        labels.append(verdict)
    if axes.collections:  # bands or bars
        handles.append(Line2D([], [], color=GREY, linewidth=6, alpha=0.25))
        labels.append("95 % interval")
    close = {"columnspacing": 1.2, "handletextpad": 0.5, "handlelength": 1.6}
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9, frameon=False, **close)


def row_of(results: Sequence[Result], **about: float | str | None) -> Row:
    """Queue and delay of one policy over the seeds, with verdicts; `about`: the columns that say which setting it is."""
    row: Row = {**about, "policy": results[0].policy, "seeds": len(results), "slots": results[0].slots}
    for key in ("mean_queue", "mean_delay"):
        row |= columns(key, interval(getattr(result, key) for result in results))
    utilisation = interval(result.utilisation[0] for result in results).mean
    return row | {"utilisation": utilisation, "verdict": joint_verdict(results)} | verdict_counts(results)
