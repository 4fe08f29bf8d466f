"""The picture of `packenv leaderboard`: mean queues as multiples of the reference's on the same jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from packenv.cli.leaderboard.cells import Group, heading
from packenv.cli.leaderboard.standings import Standing
from packenv.files import atomic_path
from packenv.results.stability import STABLE, UNSTABLE
from packenv.runs.plot_style import GREY, MARKERS, VERDICT_MARKERS, colours_for
from packenv.runs.text import number

ROW, SPREAD = 0.55, 0.7  # inches for a load, and how much of them the policies take
MARGIN = 1.6


def draw_ratios(groups: Sequence[Group], reference: str, path: str) -> None:
    """A panel for each workload, a row for each load; points with 95 % intervals, on a logarithmic axis.

    The axis goes as far as those that are not unstable; the others, whose means say how long the runs were, lie at its end.
    """
    policies = [name for name in dict.fromkeys(p for group in groups for p in group.rows) if name != reference]
    colours = dict(zip(policies, colours_for([reference, *policies])[1:], strict=True))
    heights = [len(group.contests) for group in groups]
    size = (8, 1.6 + sum(0.65 + ROW * height for height in heights))
    figure = Figure(figsize=size, layout="constrained")
    panels: Any = figure.subplots(len(groups), 1, squeeze=False, height_ratios=[height + 0.3 for height in heights])
    for axes, group in zip(panels[:, 0], groups, strict=True):
        draw_group(axes, group, reference, colours)
    panels[-1, 0].set_xlabel(f"mean queue, as a multiple of {reference}'s on the same jobs")
    handles = [Line2D([], [], linestyle="", marker=MARKERS.get(name, "o"), color=colours[name], label=name) for name in policies]
    for verdict, marker, face in VERDICT_MARKERS:
        handles.append(
            Line2D([], [], linestyle="", marker=marker, color=GREY, markerfacecolor=face, markeredgewidth=1.5, label=verdict)
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)), fontsize=9, frameon=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=130)


def draw_group(axes: Any, group: Group, reference: str, colours: dict[str, str]) -> None:
    """One workload: the loads from top to bottom."""
    limits = limits_of(group)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1, linestyle=":")
    shown = [policy for policy in group.rows if policy != reference]
    for n, policy in enumerate(shown):
        apart = SPREAD * ((n + 0.5) / len(shown) - 0.5)
        for row, one in enumerate(group.rows[policy]):
            if one is not None and one.ratio.mean:
                draw_point(axes, one, row + apart, colours[policy], limits)
    axes.set_xlim(*limits)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if limits[1] < 1000 * limits[0] else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(group.contests)), [heading(contest) for contest in group.contests])
    axes.set_ylim(len(group.contests) - 0.5, -0.5)
    axes.set_title(group.name, fontsize=10, loc="left")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def limits_of(group: Group) -> tuple[float, float]:
    """Room for 1, and for the ratios of all that are not unstable."""
    found = [one for row in group.rows.values() for one in row if one is not None and one.ratio.mean]
    ratios = [1.0, *(one.ratio.mean or 1.0 for one in found if one.verdict.kind != UNSTABLE)]
    return min(ratios) / MARGIN, max(ratios) * MARGIN


def draw_point(axes: Any, one: Standing, at: float, colour: str, limits: tuple[float, float]) -> None:
    """Filled if stable, hollow if undecided, a cross if unstable; with its value, at the end of the axis, if it lies beyond."""
    assert one.ratio.mean is not None
    kind = one.verdict.kind
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
