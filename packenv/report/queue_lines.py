"""Queues over time: a line for each policy, with its name beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.report.story import verdict_of
from packenv.results.result import Result
from packenv.results.stability import UNSTABLE
from packenv.runs.clock import Clock
from packenv.runs.plot_style import GREY, light_grid, plain_numbers
from packenv.theory.queue_bound.queue_bound import SHOWN_AS

POINTS = 256
HIDES = 4.0
"""A line that grows to so many times the highest of the others leaves the picture."""

ROOM = 1.3
"""Height of the picture, in terms of the highest point that it must show."""

APART = 0.065
"""Least distance of two labels, as a share of the height."""


class Line(NamedTuple):
    """Mean queue over the seeds in bins, and the quartiles of the seeds."""

    policy: str
    verdict: str
    colour: str
    when: NDArray[np.floating]  # middles of the bins
    mean: NDArray[np.floating]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def draw_queues(axes: Any, by_policy: Sequence[Sequence[Result]], colours: list[str], clock: Clock, bound: float) -> None:
    """Draw the queues of all policies, unstable ones dashed, and label each line; dotted the lower `bound` of all, if not 0."""
    lines = [line for runs, colour in zip(by_policy, colours, strict=True) if (line := line_of(runs, colour, clock)) is not None]
    top = highest(lines)
    for line in lines:
        style = "--" if line.verdict == UNSTABLE else "-"
        axes.plot(line.when, line.mean, style, color=line.colour, linewidth=1.6, label=f"{line.policy}: {line.verdict}")
        if (line.low < line.high).any():
            axes.fill_between(line.when, line.low, line.high, color=line.colour, alpha=0.12, linewidth=0)
    if bound > 0:
        axes.axhline(bound, color=GREY, linewidth=1.2, linestyle=":", label=SHOWN_AS)
    axes.set_xlabel("slot" if clock.unit == "slots" else clock.unit)
    axes.set_ylabel("waiting tasks")
    axes.margins(x=0)
    axes.set_ylim(0, top)
    plain_numbers(axes.yaxis)
    if clock.unit == "slots":
        plain_numbers(axes.xaxis)
    axes.set_title("Queue over time", fontsize=10, loc="left")
    light_grid(axes)
    label_lines(axes, lines, top, bound)


def line_of(runs: Sequence[Result], colour: str, clock: Clock) -> Line | None:
    """None of runs that were too short for a bin."""
    bins = min(len(run.trajectory.queue) for run in runs)
    if bins == 0:
        return None
    group = max(1, bins // POINTS)
    whole = bins // group
    paths = np.array([run.trajectory.queue[: whole * group].reshape(whole, group).mean(axis=1) for run in runs])
    when = (np.arange(whole) + 0.5) * runs[0].trajectory.bin_slots * group / clock.slots
    return Line(runs[0].policy, verdict_of(runs), colour, when, paths.mean(axis=0), *np.quantile(paths, (0.25, 0.75), axis=0))


def highest(lines: list[Line]) -> float | None:
    """The top of the picture: that of the lines that keep low, where unstable ones grow to HIDES times as much."""
    low = [float(line.mean.max()) for line in lines if line.verdict != UNSTABLE]
    grown = [float(line.mean.max()) for line in lines if line.verdict == UNSTABLE]
    if low and max(low) > 0 and grown and max(grown) > HIDES * max(low):
        return ROOM * max(low)
    return None if not any([*low, *grown]) else 1.08 * max(low + grown)


def label_lines(axes: Any, lines: list[Line], top: float | None, bound: float) -> None:
    """Names at the right, at the height of the lines' ends; of lines that leave the picture, at the top where they do."""
    if top is None:
        top = axes.get_ylim()[1]
    leaving = sorted((line for line in lines if line.mean[-1] > top), key=lambda line: int(np.argmax(line.mean > top)))
    for n, line in enumerate(leaving):
        said = f"{line.policy}: {line.verdict}, {line.mean[-1]:,.0f} waiting at the end"
        where = line.when[int(np.argmax(line.mean > top))], top * (0.97 - n * APART)
        axes.annotate(said, where, (8, 0), textcoords="offset points", color=line.colour, fontsize=9, va="top")
    staying = sorted((line for line in lines if line.mean[-1] <= top), key=lambda line: float(line.mean[-1]))
    labels = [(float(line.mean[-1]), f"{line.policy}: {line.verdict}", line.colour) for line in staying]
    below = [(bound, SHOWN_AS.replace(" (", "\n("), GREY)] if bound > 0 else []
    height = -np.inf
    for end, said, colour in [*below, *labels]:
        height = max(height + APART * top, end)
        place = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(said, (1, height), (4, 0), color=colour, fontsize=9, va="center", **place)
