"""Figures 5-7 and 8-10 of Zhang and Yao: efficiency, utilisation and fairness over time, with small and with large demands.

Efficiency is the share of all value whose jobs have ended, unfairness the variance over jobs of the share of their service
that is over (PAPERS §3). As single numbers, their means over the slots until the slowest policy has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.comparators import BOUND, LEGEND, completion_bounds, notes_of
from experiments.finding import Claim, Finding, Row, Settings, claim_with_number
from experiments.price.gain import ORDER, PRICE_BLOCKING, UNBLOCKED, gain_claim, gain_rows
from experiments.price.runs import (
    COMPARED,
    LOOKS,
    NAMES,
    NOT_COMPARED,
    POLICIES,
    PRICES,
    completions,
    label,
    makespans,
    row,
    runs_of,
)
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted
from packenv.report.plot_style import light_grid
from packenv.results.job_times import NONE, efficiency, progress
from packenv.results.occupancy import occupancy
from packenv.results.result import Result
from packenv.runs.statistics import certainly_above, certainly_below, interval, ratio
from packenv.workloads.find import workload
from packenv.workloads.workload import Workload

PANELS = (
    ("efficiency", "share of all value", "Efficiency"),
    ("utilisation", "share of capacity in service", "Utilisation"),
    ("unfairness", "variance of the jobs' progress", "Unfairness"),
)
BESIDE = (("the paper's comparators", (*PRICES, *COMPARED)), ("those that it leaves out", (PRICES[0], *NOT_COMPARED)))
PARTS = {UNBLOCKED: COLOURS[4], ORDER: COLOURS[0]}
Floats = NDArray[np.float64]
MEASURES = ("efficiency", "utilisation", "unfairness")
BEST = {"makespan": "the shortest makespan", "utilisation": "the highest utilisation", "efficiency": "the highest efficiency"}
BEST |= {"unfairness": "the highest fairness (the least variance of progress)"}
LESS = ("makespan", "unfairness")  # is better
OVER_CAPACITY = 1.12
WHAT = {"price-fig5": "Figures 5–7: demands of at most a tenth of all machines"}
WHAT |= {"price-fig8": "Figures 8–10: demands of at most three fifths of a machine"}


class Curves(NamedTuple):
    """Of one run, slot by slot until the slowest policy has ended."""

    efficiency: Floats
    utilisation: Floats
    unfairness: Floats


def reproduce_5(settings: Settings) -> Finding:
    """Small demands."""
    return reproduce("price-fig5", settings)


def reproduce_8(settings: Settings) -> Finding:
    """Large demands."""
    return reproduce("price-fig8", settings)


def reproduce(figure: str, settings: Settings) -> Finding:
    setting = workload(figure.replace("-", "/"))
    every = runs_of(figure, setting, (*POLICIES, PRICE_BLOCKING), settings)
    runs = {policy: every[policy] for policy in POLICIES}
    seeds = len(runs["price"])
    ends = [int(max(makespans([results[seed]])[0] or 0 for results in runs.values())) for seed in range(seeds)]
    curves = {p: [curves_of(setting, result, max(ends)) for result in results] for p, results in runs.items()}
    values = {policy: values_of(runs[policy], curves[policy], ends) for policy in runs}
    claims = [
        *best_claims(figure, values),
        *best_of_all(figure, values),
        over_capacity(figure, values),
        gain_claim(figure, every),
    ]
    title = f"{WHAT[figure]}; 100 jobs of 1–5 phases on 2 machines, {counted(seeds, 'seed')}{settings.remark}"
    rows = [row(policy, measure, measures[measure]) for policy, measures in values.items() for measure in measures]
    bounds = completion_bounds(setting, seeds)
    rows.append(row(BOUND, "completion", bounds))
    by_policy = {
        measure: {policy: measures[measure] for policy, measures in values.items()} for measure in ("makespan", "completion")
    }
    notes = notes_of(figure, by_policy["makespan"], by_policy["completion"], bounds, "price", "slots")
    paths, gains = path_rows(curves), gain_rows(every)

    def draw() -> Figure:
        return draw_curves(paths, rows, gains, title)

    return Finding(figure, title, claims, {"": paths, "_measures": rows, "_gain": gains}, draw, notes)


def curves_of(setting: Workload, result: Result, end: int) -> Curves:
    jobs, schedule, times = setting.at(result.seed).jobs, result.schedule, result.jobs
    assert jobs is not None and schedule is not None and times is not None and (times.end != NONE).all()
    slots = np.arange(end + 1)
    when, share = efficiency(jobs, times)
    filled = occupancy(jobs, schedule, setting.servers.units)
    used = np.append(filled.used.mean(axis=1), 0.0)
    return Curves(
        efficiency=np.append(0.0, share)[np.searchsorted(when, slots, side="right")],
        utilisation=used[np.minimum(np.searchsorted(filled.slot, slots, side="right") - 1, len(used) - 1)],
        unfairness=progress(jobs, schedule, slots).var(axis=1),
    )


def values_of(results: Sequence[Result], curves: Sequence[Curves], ends: Sequence[int]) -> dict[str, list[float | None]]:
    """By measure, one number per seed; utilisation is that until the policy's own end."""
    return {
        "makespan": makespans(results),
        "utilisation": [float(np.mean([share or 0.0 for share in result.utilisation])) for result in results],
        "efficiency": [float(curve.efficiency[:end].mean()) for curve, end in zip(curves, ends, strict=True)],
        "unfairness": [float(curve.unfairness[:end].mean()) for curve, end in zip(curves, ends, strict=True)],
        "completion": completions(results),
    }


def best_claims(figure: str, values: dict[str, dict[str, list[float | None]]]) -> list[Claim]:
    """What the paper claims: at either rate of welfare better than each scheduler with which it compares."""
    return [best_claim(figure, values, policy, measure, COMPARED) for policy in PRICES for measure in BEST]


def best_of_all(figure: str, values: dict[str, dict[str, list[float | None]]]) -> list[Claim]:
    """The same beside the schedulers that it leaves out."""
    others = ", also against those that the paper leaves out"
    return [best_claim(figure, values, policy, measure, NOT_COMPARED, others) for policy in PRICES for measure in BEST]


def best_claim(
    figure: str,
    values: dict[str, dict[str, list[float | None]]],
    policy: str,
    measure: str,
    others: Sequence[str],
    of: str = "",
) -> Claim:
    """Certainly better than each of the others, seed by seed."""
    better = certainly_below if measure in LESS else certainly_above
    against = {other: ratio(values[policy][measure], values[other][measure]) for other in others}
    figures = f"{interval(values[policy][measure])}; over " + ", ".join(f"{NAMES[o]} {r}" for o, r in against.items())
    return Claim(figure, f"{NAMES[policy]}: {BEST[measure]}{of}", all(better(over, 1) for over in against.values()), figures)


def over_capacity(figure: str, values: dict[str, dict[str, list[float | None]]]) -> Claim:
    ratios = {p: ratio(values[p]["efficiency"], values["capacity"]["efficiency"]) for p in PRICES}
    figures = "; ".join(f"{NAMES[policy]}: {over}" for policy, over in ratios.items())
    return claim_with_number(figure, "price is 12 % more efficient than capacity", ratios["price"], OVER_CAPACITY, figures)


def path_rows(curves: dict[str, list[Curves]]) -> list[Row]:
    """By policy and slot, means over the seeds with 95 % intervals."""
    rows = []
    for policy, of_policy in curves.items():
        together = {measure: np.array([getattr(curve, measure) for curve in of_policy]) for measure in MEASURES}
        for slot in range(len(of_policy[0].efficiency)):
            entry: Row = {"policy": policy, "slot": slot}
            for measure in MEASURES:
                over_seeds = interval(together[measure][:, slot].tolist())
                entry |= {measure: over_seeds.mean, f"{measure}_low": over_seeds.low, f"{measure}_high": over_seeds.high}
            rows.append(entry)
    return rows


def draw_curves(rows: list[Row], measures: list[Row], gains: list[Row], title: str) -> Figure:
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
            axes.set_title(f"{heading}, compared with {beside}", fontsize=10, loc="left")
        grid[line, 0].legend(fontsize=8.5, frameon=False, loc="lower right")
    draw_means(grid[0, -1], [row for row in measures if row["measure"] == "makespan"])
    draw_gains(grid[1, -1], [row for row in gains if row["difference"] in PARTS])
    figure.suptitle(f"{title}; bands and bars: 95 % intervals; {LEGEND}", fontsize=10, x=0.01, ha="left")
    return figure


def draw_measure(axes: Axes, rows: list[Row], policies: tuple[str, ...], measure: str) -> None:
    for policy in policies:
        of_policy = [row for row in rows if row["policy"] == policy]
        colour, style = LOOKS[policy]
        slots = [row["slot"] for row in of_policy]
        axes.plot(slots, [row[measure] for row in of_policy], style, color=colour, linewidth=1.7, label=label(policy))
        if of_policy[0][f"{measure}_low"] is not None:
            low, high = ([row[f"{measure}_{end}"] for row in of_policy] for end in ("low", "high"))
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
        for step, (place, side) in zip(steps, ((0.0, "left"), (total, "right")), strict=True):
            colour = PARTS[step["difference"]]
            axes.barh(n, step["slots"], left=left, height=0.5, color=colour, alpha=0.8, edgecolor="white")
            axes.text(place, n - 0.32, f"{step['difference']}: {step['slots']:.1f}", ha=side, fontsize=8.5, color=colour)
            left += step["slots"]
    axes.set_yticks(range(2), [f"{steps[0]['difference']}\nfirst" for steps in orders], fontsize=8.5)
    axes.set_ylim(1.5, -0.6)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlabel("slots of makespan saved")
    axes.set_title("Price's gain over blocking FIFO", fontsize=10, loc="left")
    light_grid(axes)
