"""The table of RLScheduler (Zhang et al., SC 2020): as coded, as defined, packenv's orders beside; and what windows decide."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.finding import Claim, Finding, Row, Settings, columns
from experiments.rlscheduler.decided import Difference, independent, overlapping
from experiments.rlscheduler.engine import ORDERS, Outcome, log_of
from experiments.rlscheduler.runs import (
    AGENT,
    JOBS,
    KINDS,
    POLICIES,
    QUICK_STRIDE,
    STRIDE,
    Study,
    all_windows,
    folder_of,
    of_engine,
    of_packenv,
    read_study,
    ten_windows,
)
from experiments.rlscheduler.search import problem_of, search
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import number
from packenv.policies.orders import ORDERS as RULES
from packenv.report.plot_style import light_grid
from packenv.runs.statistics import Interval, certainly_below, ratio_of_means

Floats = NDArray[np.float64]
NAME = "rlscheduler"
MEASURES = ("bounded_slowdown", "utilisation")
DIGITS = {"bounded_slowdown": 2, "utilisation": 3}
TURNED = ("wfp3", "unicef")  # w is negative in the published program
BACKFILLING = {"no": "kept", "yes": "easy"}
EXACT, NEARLY = {"bounded_slowdown": 0.0101, "utilisation": 0.00051}, {"bounded_slowdown": 0.2, "utilisation": 0.001}
SEARCHED, QUICK_SEARCHED = 20, 5  # windows
WITHIN = 0.02  # of a cell, for packenv's own policy

Cells = dict[tuple[str, str], dict[str, tuple[Outcome, Outcome]]]
"""By log and backfilling, by order: as coded and as defined, means over the ten windows."""

Gaps = dict[tuple[str, str, str, str], Difference]
"""By log, kind and two orders."""


def reproduce(settings: Settings) -> Finding:
    study = read_study(folder_of(settings.folder))
    stride = QUICK_STRIDE if settings.quick else STRIDE
    first = {log: [*ten_windows(study, log), *all_windows(workload, stride)] for log, workload in study.logs.items()}
    cells = repeated(study)
    measured = of_packenv(study.logs, first, settings.runs)
    ten = {case: values[:10] for case, values in measured.items()}
    every = {case: values[10:] for case, values in measured.items()}
    table = table_rows(study, cells, ten)
    searched = search_rows(study, QUICK_SEARCHED if settings.quick else SEARCHED)
    windows = window_rows(ten, every)
    overlap = max(1, JOBS // stride)
    pairs = {case: overlapping(*gaps, overlap) for case, gaps in paired(every).items()}
    of_ten = {case: independent(*gaps) for case, gaps in paired(ten).items()}
    decided = [pair_row(case, of_ten[case], pairs[case]) for case in pairs]
    claims = [*claims_on_cells(table), *claims_on_definitions(table), *claims_on_decisions(of_ten, pairs)]
    claims += [claim_on_agent(log, every, overlap) for log in study.logs]
    claims.append(claim_on_search(searched))
    count = ", ".join(f"{len(first[log]) - 10} of {log}" for log in study.logs)
    title = f"RLScheduler's table: ten windows of {JOBS:,} jobs, then {count}{settings.remark}"

    def draw() -> Figure:
        return draw_table(list(study.logs), windows, pairs, title)

    notes = notes_on(study, of_ten, pairs)
    return Finding(NAME, title, claims, {"": table, "_windows": windows, "_decided": decided, "_search": searched}, draw, notes)


def repeated(study: Study) -> Cells:
    """The small engine on the ten windows."""
    cells: Cells = {}
    for log, workload in study.logs.items():
        jobs, first = log_of(workload), ten_windows(study, log)
        for backfilling in BACKFILLING:
            of_cell = cells[log, backfilling] = {}
            for order in ORDERS:
                defined = of_engine(jobs, first, order, backfilling == "yes", as_coded=False)
                coded = of_engine(jobs, first, order, backfilling == "yes", as_coded=True) if order in TURNED else defined
                of_cell[order] = coded, defined
    return cells


def table_rows(study: Study, cells: Cells, ten: dict[tuple[str, str, str], Floats]) -> list[Row]:
    """A row for each cell: published, as coded, as defined, and packenv's policy on the same ten windows."""
    rows: list[Row] = []
    for measure, digits in DIGITS.items():
        place = MEASURES.index(measure)
        for (log, backfilling), by_order in cells.items():
            published = study.published.get((log, backfilling, measure), {})
            for order in [*RULES, "rl"]:
                both = by_order.get(order)
                own = ten.get((log, BACKFILLING[backfilling], order))
                if both is None and own is None and order not in published:
                    continue
                rows.append(
                    {
                        "measure": measure,
                        "log": log,
                        "backfilling": backfilling,
                        "order": order,
                        "published": published.get(order),
                        "as_coded": None if both is None else round(both[0][place], digits),
                        "as_defined": None if both is None else round(both[1][place], digits),
                        "policy": POLICIES.get((BACKFILLING[backfilling], order)),
                        "packenv": None if own is None else round(float(own[:, place].mean()), digits),
                    }
                )
    return rows


def window_rows(ten: dict[tuple[str, str, str], Floats], every: dict[tuple[str, str, str], Floats]) -> list[Row]:
    """Mean bounded slowdowns of packenv's policies over the ten windows and over all."""
    rows: list[Row] = []
    for (log, kind, order), values in every.items():
        slowdown = values[:, 0]
        rows.append(
            {
                "log": log,
                "kind": kind,
                "order": order,
                "policy": POLICIES[kind, order],
                "ten": round(float(ten[log, kind, order][:, 0].mean()), 2),
                "all": round(float(slowdown.mean()), 2),
                "windows": len(slowdown),
                "median": round(float(np.median(slowdown)), 2),
                "deviation": round(float(slowdown.std(ddof=1)), 2),
            }
        )
    return rows


def search_rows(study: Study, count: int) -> list[Row]:
    """How far the best order is from a search that knows all jobs, on windows of each log's second half."""
    rows: list[Row] = []
    for log, workload in study.logs.items():
        windows = workload.windows(JOBS, between=(0.5, 1))
        for backfilling, kind in BACKFILLING.items():
            found = [search(problem_of(windows.at(seed), backfilling == "yes")) for seed in range(count)]
            best = min(found[0].orders, key=lambda order: sum(each.orders[order] for each in found))
            ours, theirs = [each.best for each in found], [each.orders[best] for each in found]
            means = {"best": round(float(np.mean(theirs)), 2), "search": round(float(np.mean(ours)), 2)}
            gain = columns("ratio", ratio_of_means(ours, theirs))
            rows.append({"log": log, "kind": kind, "windows": count, "order": best, **means, **gain})
    return rows


def claim_on_search(rows: list[Row]) -> Claim:
    measured = [Interval(row["ratio"], row["ratio_low"], row["ratio_high"]) for row in rows]
    figures = ", ".join(f"{row['log']} {row['kind']} {each} of {row['order']}" for row, each in zip(rows, measured, strict=True))
    what = "a search that knows all jobs in advance is below the best order, without backfilling and with EASY"
    return Claim(NAME, what, all(certainly_below(each, 1.0) for each in measured), figures)


def paired(values: dict[tuple[str, str, str], Floats]) -> dict[tuple[str, str, str, str], tuple[Floats, Floats]]:
    """By log, kind and two orders: their bounded slowdowns, window by window."""
    logs = dict.fromkeys(log for log, _, _ in values)
    return {
        (log, kind, a, b): (values[log, kind, a][:, 0], values[log, kind, b][:, 0])
        for log in logs
        for kind in KINDS
        for a, b in combinations(RULES, 2)
    }


def pair_row(case: tuple[str, str, str, str], ten: Difference, every: Difference) -> Row:
    log, kind, a, b = case
    row: Row = {"log": log, "kind": kind, "first": a, "second": b}
    for name, gap in (("ten", ten), ("all", every)):
        decided = {f"{name}_decided": "yes" if gap.decided else "no"}
        row |= {f"{name}_difference": round(gap.mean, 2), f"{name}_half": round(gap.half, 2)} | decided
    needed = every.windows
    return row | {"windows_needed": None if math.isinf(needed) else int(needed), "windows_apart": every.apart}


def claims_on_cells(table: list[Row]) -> list[Claim]:
    """The published cells, as coded: how many are met."""
    claims = []
    for measure in MEASURES:
        rows = [
            row for row in table if row["measure"] == measure and row["published"] is not None and row["as_coded"] is not None
        ]
        if not rows:
            continue
        met = [row for row in rows if abs(row["as_coded"] - row["published"]) <= EXACT[measure]]
        nearly = all(abs(row["as_coded"] - row["published"]) <= NEARLY[measure] for row in rows)
        unit = f"{10 ** -DIGITS[measure]:g}"
        shown = nearly and len(met) >= len(rows) - 1
        figures = f"{len(met)} of {len(rows)} to {unit}"
        claims.append(Claim(NAME, f"the published cells of {measure.replace('_', ' ')}, as coded", shown, figures))
    return claims


def claims_on_definitions(table: list[Row]) -> list[Claim]:
    """What the two orders are when they are not turned round; packenv's own policies against the definitions."""
    rows = [row for row in table if row["measure"] == "bounded_slowdown" and row["as_defined"] is not None]
    turned = [row for row in rows if row["order"] in TURNED]
    kept = [row for row in turned if row["backfilling"] == "no"]
    worst = max(row["as_defined"] / row["as_coded"] for row in kept)
    figures = "; ".join(
        f"{row['order']} on {row['log']} {row['as_coded']:,.2f}, as defined {row['as_defined']:,.2f}" for row in kept
    )
    own = [abs(row["packenv"] / row["as_defined"] - 1) for row in rows if row["backfilling"] == "no"]
    claims = [
        Claim(NAME, "WFP3 and UNICEF without backfilling are at least five times as good as defined", worst < 0.2, figures),
        Claim(
            NAME,
            f"packenv's own orders are within {WITHIN:.0%} of the published rules, without backfilling",
            max(own) <= WITHIN,
            f"off by {max(own):.2%} at most, of {len(own)} cells",
        ),
    ]
    agent = [row for row in table if row["measure"] == "bounded_slowdown" and row["order"] == "rl" and row["published"]]
    saf = {(row["log"], row["backfilling"]): row["as_defined"] for row in rows if row["order"] == "saf"}
    below = [row for row in agent if (row["log"], row["backfilling"]) in saf]
    below_agent = [row for row in below if saf[row["log"], row["backfilling"]] < row["published"]]
    if below:
        what = "smallest area first, which was not tried, is below the published agent in most cells"
        claims.append(Claim(NAME, what, 2 * len(below_agent) > len(below), f"{len(below_agent)} of {len(below)}"))
    return claims


def claims_on_decisions(ten: Gaps, every: Gaps) -> list[Claim]:
    """Among the orders that know durations, where the question lies: how often it is decided who is better than whom."""
    close = [case for case in every if not {"fcfs", "ljf", "smallest"} & set(case[2:])]
    by_ten, by_all = (sum(gaps[case].decided for case in close) for gaps in (ten, every))
    turned = sum(ten[case].decided and every[case].decided and ten[case].mean * every[case].mean < 0 for case in every)
    lost = sum(ten[case].decided and not every[case].decided for case in every)
    known = "differences between orders that know durations"
    return [
        Claim(
            NAME,
            f"ten windows leave more than half of the {known} open",
            2 * by_ten < len(close),
            f"{by_ten} of {len(close)} decided",
        ),
        Claim(NAME, "all windows decide more of them", by_all > by_ten, f"{by_all} of {len(close)} decided"),
        Claim(
            NAME,
            "no difference that ten windows decide is decided the other way by all windows",
            turned == 0,
            f"{turned}; {lost} that ten windows decide are open over all",
        ),
    ]


def claim_on_agent(log: str, every: dict[tuple[str, str, str], Floats], overlap: int) -> Claim:
    """The agent against the order that is best with EASY on the same windows, in hindsight; others beside."""
    own = every[log, "easy", AGENT][:, 0]
    best = {kind: min(RULES, key=lambda order: float(every[log, kind, order][:, 0].mean())) for kind in ("easy", "conservative")}
    slowdown = {POLICIES[kind, order]: every[log, kind, order][:, 0] for kind, order in best.items()}
    gap = overlapping(own, slowdown[POLICIES["easy", best["easy"]]], overlap)
    ratios = {
        name: float(own.mean() / values.mean())
        for name, values in (slowdown | {"easy": every[log, "easy", "fcfs"][:, 0]}).items()
    }
    figures = ", ".join(f"{ratio:.2f} of {name}" for name, ratio in ratios.items()) + f"; {number(gap.mean)} ± {number(gap.half)}"
    what = f"{log}: {AGENT}, trained on no log, has at most the mean slowdown of the best order with EASY"
    return Claim(NAME, what, gap.mean <= 0, figures)


def notes_on(
    study: Study,
    ten: Gaps,
    every: Gaps,
) -> list[str]:
    notes = [] if study.published else [f"{NAME}: no published cells next to the logs (published.csv)"]
    if study.first is None:
        notes.append(f"{NAME}: the published windows are not known (windows.csv): ten that are spread over each log")
    for log in study.logs:
        for kind in KINDS:
            counts = [
                sum(gap.decided for (at, of, _, _), gap in gaps.items() if (at, of) == (log, kind)) for gaps in (ten, every)
            ]
            pairs = sum(case[:2] == (log, kind) for case in every)
            case = log, kind, "saf", "f1"
            gap = every[case]
            needed = "no number" if math.isinf(gap.windows) else f"{gap.windows:,}"
            notes.append(
                f"{log}, {kind}: ten windows decide {counts[0]} of {pairs} pairs, all windows {counts[1]}; SAF − F1 is "
                f"{number(ten[case].mean)} ± {number(ten[case].half)}, then {number(gap.mean)} ± {number(gap.half)}: "
                f"{needed} independent windows would decide it, the log has {gap.apart}"
            )
    return notes


def draw_table(logs: list[str], windows: list[Row], pairs: Gaps, title: str) -> Figure:
    """Above, mean slowdowns over the ten and over all windows; below, who is decided to be better than whom."""
    figure = Figure(figsize=(6.2 * max(len(logs), 2), 9.6), layout="constrained")
    axes: Any = figure.subplots(2, len(logs), squeeze=False)
    for place, log in enumerate(logs):
        draw_means(axes[0, place], log, windows)
        draw_matrix(axes[1, place], log, "easy", pairs)
    figure.suptitle(title, fontsize=11)
    return figure


def draw_means(axes: Any, log: str, windows: list[Row]) -> None:
    for n, kind in enumerate(KINDS):
        rows = [row for row in windows if (row["log"], row["kind"]) == (log, kind)]
        at = np.arange(len(rows)) + 0.22 * (n - 1)
        axes.plot(at, [row["all"] for row in rows], "o", color=COLOURS[n], label=f"{kind}, all windows")
        axes.plot(at, [row["ten"] for row in rows], "_", ms=11, color=COLOURS[n], label="the ten" if n == 0 else None)
    axes.set_yscale("log")
    names = [*RULES, AGENT]
    axes.set_xticks(range(len(names)), names, rotation=60, fontsize=8)
    axes.set_ylabel("mean bounded slowdown")
    axes.set_title(log, fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    light_grid(axes)


def draw_matrix(axes: Any, log: str, kind: str, pairs: Gaps) -> None:
    """Green: the row's order has the smaller mean, and all windows decide it; red: the larger one; numbers: windows needed."""
    names = list(RULES)
    shade = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i == j:
                continue
            gap = pairs[log, kind, a, b] if i < j else pairs[log, kind, b, a]
            smaller = (gap.mean < 0) == (i < j)
            shade[i, j] = (1 if smaller else -1) if gap.decided else 0
            needed = "∞" if gap.windows > 9_999 else f"{gap.windows:,}"
            axes.text(j, i, needed, ha="center", va="center", fontsize=6, color="black" if gap.decided else GREY)
    axes.imshow(shade, cmap="RdYlGn", vmin=-2, vmax=2)
    axes.set_xticks(range(len(names)), names, rotation=60, fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_title(f"{log}, {kind}: green, the row is decided to be better; windows that would decide", fontsize=9)
