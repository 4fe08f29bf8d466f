"""Tetris, packing with little work left first, against fair sharing that checks every resource or two of them (Grandl et al.)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from experiments.comparators import BOUND, LEGEND, MARK, completion_bounds, notes_of
from experiments.finding import Finding, Row, Settings
from experiments.tetris import runs
from experiments.tetris.claims import claim_on_fragments, claims_on_demands, claims_on_fairness, claims_on_times
from experiments.tetris.runs import (
    COMPARED,
    DEMANDS,
    FRAGMENTED,
    JOBS,
    KNOBS,
    OF_DEMANDS,
    QUICK_JOBS,
    QUICK_SEEDS,
    RESOURCES,
    SEEDS,
    SMALL,
    bound_row,
    measures_by_demands,
    measures_by_policy,
    row_of,
)
from packenv.content.charts import COLOURS, GREY, colours_for
from packenv.content.text import counted
from packenv.report.plot_style import light_grid
from packenv.workloads.named.analytics import analytics

TETRIS, FAIR, TWO, OTHERS = COLOURS[0], COLOURS[2], COLOURS[1], GREY


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    jobs = QUICK_JOBS if settings.quick else JOBS
    by_demands = measures_by_demands(jobs, seeds, settings.runs)
    by_policy = by_demands["correlated"]
    small = {D: analytics(jobs=SMALL, resources=D, kinds=False) for D in RESOURCES}
    fragments = {D: measures_by_policy(workload, FRAGMENTED, seeds, settings.runs) for D, workload in small.items()}
    bounds = completion_bounds(analytics(jobs=jobs), seeds)
    compared = [*(row_of(policy, by_policy[policy]) for policy in COMPARED), bound_row(bounds)]
    makespans, means = ({p: [getattr(each, what) for each in by_policy[p]] for p in COMPARED} for what in ("makespan", "mean"))
    notes = notes_of("tetris", makespans, means, bounds, "tetris", "slots")
    curve = [{"f": f} | row_of(policy, by_policy[policy]) for f, policy in KNOBS.items()]
    sweep = [{"demands": name} | row_of(policy, by_demands[name][policy]) for name in DEMANDS for policy in OF_DEMANDS]
    pieces = [{"resources": D} | row_of(policy, fragments[D][policy]) for D in RESOURCES for policy in FRAGMENTED]
    servers = len(small[1].servers)
    title = f"Tetris: {jobs} jobs of many tasks on {servers} servers, {counted(seeds, 'seed')}{settings.remark}"

    def draw() -> Figure:
        return draw_tetris(compared, curve, sweep, pieces, title)

    claims = [
        *claims_on_times(by_policy),
        *claims_on_demands(by_demands),
        *claims_on_fairness(by_policy),
        claim_on_fragments(fragments),
    ]
    tables = {"": compared, "_fairness": curve, "_demands": sweep, "_fragmentation": pieces}
    return Finding("tetris", title, claims, tables, draw, notes)


def draw_tetris(compared: list[Row], curve: list[Row], sweep: list[Row], pieces: list[Row], title: str) -> Figure:
    """Rows as experiments.tetris.figure writes them into its tables."""
    figure = Figure(figsize=(12.5, 8.4), layout="constrained")
    parts: Any = figure.subfigures(2, 1)
    top, bottom = parts
    labels = {"mean": "mean completion time of jobs (slots)", "makespan": "makespan (slots)"}
    for axes, (what, label) in zip(top.subplots(1, 2, sharey=True), labels.items(), strict=True):
        draw_bars(axes, compared, what, label)
    left, middle, right = bottom.subplots(1, 3)
    draw_curve(left, curve)
    draw_sweep(middle, sweep)
    draw_pieces(right, pieces)
    figure.suptitle(f"{title}; {LEGEND}", fontsize=11)
    return figure


def colour_of(policy: str) -> str:
    if policy.startswith("tetris"):
        return TETRIS
    if policy in runs.TWO:
        return TWO
    return FAIR if policy in (*runs.FAIR, "slot-fair:checked=4") else OTHERS


def draw_bars(axes: Any, rows: list[Row], what: str, label: str) -> None:
    """One bar per policy, the first one on top, with its 95 % interval, and a line at the lower bound, if there is one."""
    least = next(row[what] for row in rows if row["policy"] == BOUND)
    rows = [row for row in rows if row["policy"] != BOUND]
    names = [row["policy"] + (MARK if row["in_paper"] == "no" else "") for row in rows]
    if least is not None:
        axes.axvline(least, color="black", lw=1, ls=":", label=f"{BOUND} {least:,.0f}")
        axes.legend(fontsize=8, frameon=False, loc="lower right")
    for n, row in enumerate(rows):
        low, high = row[f"{what}_low"], row[f"{what}_high"]
        error = None if low is None else [[row[what] - low], [high - row[what]]]
        axes.barh(n, row[what], color=colour_of(row["policy"]), xerr=error, error_kw={"lw": 1, "ecolor": "#333333"})
        axes.annotate(f" {row[what]:,.0f}", (high or row[what], n), va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(label)
    light_grid(axes)


def draw_curve(axes: Any, rows: list[Row]) -> None:
    """Fairness against speed, along the knob f."""
    x, y = [row["unfairness"] for row in rows], [row["mean"] for row in rows]
    axes.plot(x, y, "o-", color=TETRIS)
    for row in rows:
        axes.annotate(
            f"f = {row['f']:g}", (row["unfairness"], row["mean"]), xytext=(6, 5), textcoords="offset points", fontsize=8
        )
    axes.margins(0.12)
    axes.set_xlabel("mean distance below the fair share of owners that wait")
    axes.set_ylabel("mean completion time of jobs (slots)")
    light_grid(axes)


def draw_sweep(axes: Any, rows: list[Row]) -> None:
    """Makespan and mean completion time along the weight m of the remaining work, as shares of those of DRF."""
    styles = {"correlated": "-", "independent": "--"}
    for what, colour, name in (("makespan", TETRIS, "makespan"), ("mean", COLOURS[3], "mean completion time")):
        for demands, style in styles.items():
            value = {row["policy"]: row[what] for row in rows if row["demands"] == demands}
            shares = [value[policy] / value["drf"] for policy in runs.WEIGHTS.values()]
            axes.plot(list(runs.WEIGHTS), shares, style, marker=".", color=colour, label=f"{name}, {demands} demands")
    axes.axhline(1, color=GREY, lw=1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("weight m of the remaining work")
    axes.set_ylabel("share of DRF, which checks every resource")
    axes.legend(fontsize=7, frameon=False)
    light_grid(axes)


def draw_pieces(axes: Any, rows: list[Row]) -> None:
    """What is free while tasks wait, against the number of resources."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    for policy, colour in zip(policies, colours_for(policies), strict=True):
        of = [row for row in rows if row["policy"] == policy]
        axes.plot([row["resources"] for row in of], [row["fragmentation"] for row in of], "o-", color=colour, label=policy)
    axes.set_xticks(sorted({row["resources"] for row in rows}))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("resources, with independent demands")
    axes.set_ylabel("share of the cluster free while tasks wait")
    axes.legend(fontsize=8, frameon=False)
    light_grid(axes)
