"""Delay scheduling: locality against how long jobs wait for it, fixed and dynamic intervals, sticky slots (PAPERS §5)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from experiments.comparators import BOUND, LEGEND, MARK, completion_bounds, notes_of
from experiments.delay import runs
from experiments.delay.claims import (
    claim_on_sticky_slots,
    claims_on_intervals,
    claims_on_locality,
    claims_on_the_bound,
    times,
)
from experiments.finding import Finding, Row, Settings
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted
from packenv.report.plot_style import light_grid
from packenv.workloads.find import workload as named
from packenv.workloads.named.blocks import SLOT_SECONDS


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(runs.SEEDS, runs.QUICK_SEEDS)
    small = [row for servers in runs.CLUSTERS for row in runs.locality_rows(servers, seeds, settings)]
    by_network = {
        which: runs.measures_by_policy(named(workload), runs.COMPARED, seeds, settings)
        for which, workload in runs.NETWORKS.items()
    }
    compared, notes = [], []
    for which, by_policy in by_network.items():
        bounds = [SLOT_SECONDS * each for each in completion_bounds(named(runs.NETWORKS[which]), seeds)]
        rows = [*(runs.row_of(policy, each) for policy, each in by_policy.items()), runs.bound_row(bounds)]
        compared += [{"network": which} | row for row in rows]
        spans, ends = ({p: times(each, key) for p, each in by_policy.items()} for key in ("makespan", "completion"))
        notes += notes_of(f"delay, {which}", spans, ends, bounds, runs.DYNAMIC, "s")
    sticky = [row for jobs in runs.STICKY_JOBS for row in runs.sticky_rows(jobs, seeds, settings)]
    title = f"Delay scheduling: locality, intervals, sticky slots; {counted(seeds, 'seed')}{settings.remark}"

    def draw() -> Figure:
        return draw_delay(small, compared, sticky, title)

    claims = [
        *claims_on_locality(small),
        *claims_on_intervals(by_network),
        *claims_on_the_bound(by_network),
        claim_on_sticky_slots(sticky),
    ]
    return Finding("delay", title, claims, {"": small, "_network": compared, "_sticky": sticky}, draw, notes)


def draw_delay(small: list[Row], compared: list[Row], sticky: list[Row], title: str) -> Figure:
    """Rows as experiments.delay.figure writes them into its tables."""
    figure = Figure(figsize=(13, 10), layout="constrained")
    (locality, slots), (apart, shared) = figure.subplots(2, 2)
    draw_locality(locality, small)
    draw_sticky(slots, sticky)
    compared = [row for row in compared if row["policy"] != BOUND]  # of jobs; drawn are times of tasks
    hot = [row for row in compared if row["network"].startswith("hot")]
    draw_intervals(apart, [row for row in compared if row not in hot], "each task reads its own block")
    draw_intervals(shared, hot, "many tasks read the same few blocks")
    figure.suptitle(f"{title}; {LEGEND}", fontsize=11)
    return figure


def draw_locality(axes: Any, rows: list[Row]) -> None:
    """Measured points on the line of the closed form."""
    for n, servers in enumerate(dict.fromkeys(row["servers"] for row in rows)):
        for variant, marker in (("paper", "o"), ("robust", "^")):
            of = [row for row in rows if row["servers"] == servers and row["variant"] == variant]
            x, y = [row["skips"] / servers for row in of], [row["locality"] for row in of]
            errors = None if of[0]["locality_low"] is None else [[r["locality"] - r["locality_low"] for r in of]] * 2
            style = {"fmt": marker, "ms": 5, "color": COLOURS[n], "mfc": COLOURS[n] if variant == "paper" else "white"}
            axes.errorbar(x, y, yerr=errors, capsize=2, label=f"{servers} servers, {variant}", **style)
            if variant == "paper":
                axes.plot(x, [row["closed_form"] for row in of], "-", lw=1, color=COLOURS[n], label=f"{servers}, closed form")
    axes.axhline(0.95, color=GREY, lw=0.8, ls=":")
    axes.set_xlabel("D / number of servers: skips that a job accepts")
    axes.set_ylabel("locality of jobs of 20 tasks")
    axes.set_ylim(0, 1.02)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    light_grid(axes)


def draw_intervals(axes: Any, rows: list[Row], what: str) -> None:
    """Mean completion of tasks, on a network that changes and on one that does not, and what of it is scheduling delay."""
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    for k, network in enumerate(dict.fromkeys(row["network"] for row in rows)):
        for row in (row for row in rows if row["network"] == network):
            place, colour = policies.index(row["policy"]) + (0.19 if k else -0.19), COLOURS[k]
            mean, low, high = (row[f"task_completion{end}"] for end in ("", "_low", "_high"))
            error = None if low is None else [[mean - low], [high - mean]]
            first = row["policy"] == policies[0]
            label = f"{'changing' if 'changing' in network else 'constant'} network" if first else None
            axes.barh(place, mean, 0.36, color=colour, xerr=error, label=label, error_kw={"lw": 1})
            waited = "part of it: scheduling delay" if first and k else None
            axes.barh(place, row["scheduling_delay"], 0.36, color="none", edgecolor="white", hatch="////", lw=0, label=waited)
            axes.annotate(f" {row['locality']:.2f}", (high or mean, place), va="center", fontsize=7)
    marked = {row["policy"] for row in rows if row["in_paper"] == "no"}
    axes.set_yticks(range(len(policies)), [name + MARK * (name in marked) for name in policies], fontsize=8)
    axes.set_ylim(len(policies) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_title(what, fontsize=10, pad=22)
    axes.set_xlabel("mean completion time of tasks (s); next to the bars, locality")
    legend = axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.99), ncols=3)
    for patch in legend.get_patches()[2:]:
        patch.set_facecolor(GREY)
    light_grid(axes)


def draw_sticky(axes: Any, rows: list[Row]) -> None:
    """Locality against the number of equal jobs that share the cluster."""
    for n, policy in enumerate(dict.fromkeys(row["policy"] for row in rows)):
        of = [row for row in rows if row["policy"] == policy]
        axes.plot([row["jobs"] for row in of], [row["locality"] for row in of], "o-", color=COLOURS[n], label=policy)
    axes.set_xscale("log")
    ticks = sorted({row["jobs"] for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("equal jobs that share 100 servers")
    axes.set_ylabel("locality")
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    light_grid(axes)
