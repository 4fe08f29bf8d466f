"""The picture of `packenv leaderboard`: mean queues, or measures of whole jobs, as multiples of the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from packenv.cli.leaderboard.measures import BEST
from packenv.cli.leaderboard.scores import Group, Score
from packenv.cli.leaderboard.standings import reference_of
from packenv.files import atomic_path
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.plot_style import GREY, MARKERS, VERDICT_MARKERS, colours_for
from packenv.runs.text import number

ROW, SPREAD = 0.55, 0.7  # inches for a load, and how much of them the policies take
MARGIN = 1.6


def draw_ratios(groups: Sequence[Group], reference: str | None, path: str) -> None:
    """A panel for each workload, a row for each load or measure of whole jobs; points with 95 % intervals, on a logarithmic axis.

    The axis goes as far as those that are not unstable; the others, whose means say how long the runs were, lie at its end.
    """
    chosen = {reference_of(contest, reference) for group in groups for contest in group.contests}
    fixed = next(iter(chosen)) if len(chosen) == 1 and BEST not in chosen else None
    policies = [name for name in dict.fromkeys(p for group in groups for p in group.rows) if name != fixed]
    every = [fixed, *policies] if fixed else policies
    colours = dict(zip(every, colours_for(every), strict=True))
    heights = [len(group.columns) for group in groups]
    size = (8, 1.6 + sum(0.65 + ROW * height for height in heights))
    figure = Figure(figsize=size, layout="constrained")
    panels: Any = figure.subplots(len(groups), 1, squeeze=False, height_ratios=[height + 0.3 for height in heights])
    for axes, group in zip(panels[:, 0], groups, strict=True):
        draw_group(axes, group, colours)
    of_jobs = {group.of_jobs for group in groups}
    what = "mean queue, as a multiple" if of_jobs == {False} else "multiple"
    panels[-1, 0].set_xlabel(
        f"{what} of {fixed}'s on the same jobs" if fixed else f"{what} of the best policy's on the same jobs"
    )
    handles = [Line2D([], [], linestyle="", marker=MARKERS.get(name, "o"), color=colours[name], label=name) for name in policies]
    for verdict, marker, face in () if of_jobs == {True} else VERDICT_MARKERS:
        handles.append(
            Line2D([], [], linestyle="", marker=marker, color=GREY, markerfacecolor=face, markeredgewidth=1.5, label=verdict)
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)), fontsize=9, frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130)


def draw_group(axes: Any, group: Group, colours: dict[str, str]) -> None:
    """One workload: the loads or measures from top to bottom."""
    limits = limits_of(group)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1, linestyle=":")
    shown = [policy for policy in group.rows if any(score and score.ratio.mean for score in group.scores(policy))]
    for n, policy in enumerate(shown):
        apart = SPREAD * ((n + 0.5) / len(shown) - 0.5)
        for row, score in enumerate(group.scores(policy)):
            if score is not None and score.ratio.mean:
                draw_point(axes, score, row + apart, colours[policy], limits)
    axes.set_xlim(*limits)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if limits[1] < 1000 * limits[0] else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(group.columns)), [column.heading for column in group.columns])
    axes.set_ylim(len(group.columns) - 0.5, -0.5)
    axes.set_title(group.name, fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def limits_of(group: Group) -> tuple[float, float]:
    """Room for 1, and for the ratios of all that are not unstable."""
    found = [score for policy in group.rows for score in group.scores(policy) if score is not None and score.ratio.mean]
    ratios = [1.0, *(score.ratio.mean or 1.0 for score in found if score.kind != UNSTABLE)]
    return min(ratios) / MARGIN, max(ratios) * MARGIN


def draw_point(axes: Any, one: Score, at: float, colour: str, limits: tuple[float, float]) -> None:
    """Filled if stable, hollow if undecided, a cross if unstable; with its value, at the end of the axis, if it lies beyond."""
    assert one.ratio.mean is not None
    kind = one.kind
    shown = min(max(one.ratio.mean, limits[0]), limits[1])
    if shown != one.ratio.mean:
        beyond = f"{number(one.ratio.mean)} →" if shown == limits[1] else f"← {number(one.ratio.mean)}"
        side = ("right", -8) if shown == limits[1] else ("left", 8)
        axes.annotate(
            beyond, (shown, at), (side[1], 0), textcoords="offset points", ha=side[0], va="center", fontsize=8, color=colour
        )
    elif one.ratio.low is not None and one.ratio.high is not None:
        axes.hlines(at, one.ratio.low, one.ratio.high, color=colour, linewidth=1.6, alpha=0.7)
    marker = "x" if kind == UNSTABLE else MARKERS.get(one.policy, "o")
    face = colour if kind == STABLE else "white"
    axes.plot(shown, at, marker, clip_on=False, color=colour, markerfacecolor=face, markersize=6, markeredgewidth=1.5, zorder=3)
