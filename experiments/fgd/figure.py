"""FGD's figures (Weng et al., USENIX ATC 2023): allocation and fragmentation of six policies; what their ties decide; a bound."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.fgd.runs import BOUNDED, DEMANDS, RULES, WEIGHED, Case, Means, Study, bounds, read_study, run_all
from experiments.finding import Claim, Finding, Row, Settings, columns
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted, listed
from packenv.errors import InputError
from packenv.policies.gpus.fragmentation import REASONS
from packenv.policies.gpus.scores import SCORES, TIES
from packenv.report.plot_style import light_grid
from packenv.runs.statistics import interval

NAME = "fgd"
ORDER = TIES[0]
ALLOCATED_AT, FRAGMENTED_AT = (110, 130), (50, 80, 90, 130)
SEEDS, QUICK_SEEDS = 10, 3
PUBLISHED_SEEDS = 10
NEAR = ("fgd", "best-fit", "dot-product", "random")
WITHIN = {"allocated": {True: 0.3, False: 1.0}, "fragmented": {True: 0.3, False: 0.7}}
"""Points of the published mean, for the policies of NEAR and for the others."""

EXAMPLE = "default"
TRAINED_ON = ("default", "gpushare40", "gpuspec10", "multigpu20")


def reproduce(settings: Settings) -> Finding:
    study = read_study(folder_of(settings.folder))
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    means = run_all(study, [*RULES, *WEIGHED], seeds, settings.runs)
    table = [
        row_of(study, means, workload, *rule, demand, seeds) for workload in study.lists for rule in RULES for demand in DEMANDS
    ]
    ties = [row for workload in study.lists for row in tie_rows(means, workload, seeds)]
    learnt = [learnt_row(means, workload, policy, seeds) for workload in study.lists for policy, _ in WEIGHED]
    most = bounds(study)
    bound = [bound_row(table, most, workload, demand) for workload in study.lists for demand in BOUNDED]
    title = f"FGD: six policies, {counted(len(study.lists), 'list')} of pods, {counted(seeds, 'seed')} each{settings.remark}"
    claims = [*claims_on_means(table), *claims_on_order(study, table), *claims_on_ties(ties)]
    unjudged = lists_to_judge_on(study.lists)
    claims += [*claims_on_bound(bound), *([] if unjudged else [claim_on_weight(learnt)])]

    def draw() -> Figure:
        return draw_study(table, ties, most, title)

    notes = [] if study.published else [f"{NAME}: no published means next to the lists (allocation.csv, fragmentation.csv)"]
    notes += [f"{NAME}: the choice of a weight is not judged: the folder lacks {unjudged}"] if unjudged else []
    return Finding(NAME, title, claims, {"": table, "_ties": ties, "_bound": bound, "_learnt": learnt}, draw, notes)


def folder_of(path: str | None) -> Path:
    """The folder of lists. Raises InputError where there is none."""
    oracles = os.environ.get("PACKENV_ORACLES")
    folder = Path(path) if path is not None else Path(oracles or "") / NAME
    if path is None and (oracles is None or not folder.is_dir()):
        raise InputError("fgd: name the folder of the lists of pods and nodes: --trace FOLDER")
    if not folder.is_dir():
        raise InputError(f"fgd: {folder} is not a folder of lists of pods and nodes")
    return folder


def row_of(study: Study, means: dict[Case, Means], workload: str, policy: str, ties: str, demand: int, seeds: int) -> Row:
    """Means over the seeds, in % of all devices, with their intervals, the published ones, and F by reason."""
    n = DEMANDS.index(demand)
    of_seeds = [means[workload, policy, ties, seed] for seed in range(seeds)]
    published = study.published.get((workload, policy, demand), (None, None)) if ties == ORDER else (None, None)
    row: Row = {"workload": workload, "policy": policy, "ties": ties, "demand": demand}
    row |= columns("allocated", interval([float(run.allocated[n]) for run in of_seeds]))
    row["allocated_published"] = None if published[0] is None or np.isnan(published[0]) else published[0]
    row |= columns("fragmented", interval([float(run.fragmented[n].sum()) for run in of_seeds]))
    row["fragmented_published"] = published[1]
    by_reason = np.mean([run.fragmented[n] for run in of_seeds], axis=0)
    return row | dict(zip(REASONS, by_reason.tolist(), strict=True))


def tie_rows(means: dict[Case, Means], workload: str, seeds: int) -> list[Row]:
    """The allocation at the largest demand by each rule for ties; what is lost against `order`, and the lead over best fit,
    which breaks its ties by `order`: on the same lists, seed by seed."""
    rows: list[Row] = []
    fit = last_of(means, workload, "best-fit", ORDER, seeds)
    for policy in SCORES[:-1]:
        by_order = last_of(means, workload, policy, ORDER, seeds)
        for ties in TIES:
            allocated = last_of(means, workload, policy, ties, seeds)
            row: Row = {"workload": workload, "policy": policy, "ties": ties, "seeds": seeds}
            row |= columns("allocated", interval(allocated))
            row |= columns("over_order", interval((allocated - by_order).tolist()))
            rows.append(row | columns("over_best_fit", interval((allocated - fit).tolist())))
    return rows


def last_of(means: dict[Case, Means], workload: str, policy: str, ties: str, seeds: int) -> Any:
    return np.array([means[workload, policy, ties, seed].allocated[-1] for seed in range(seeds)])


def bound_row(table: list[Row], most: dict[tuple[str, int], float], workload: str, demand: int) -> Row:
    rows = [row for row in table if row["workload"] == workload and row["demand"] == demand]
    fgd = next(row["allocated"] for row in rows if row["policy"] == "fgd" and row["ties"] == ORDER)
    best = max(rows, key=lambda row: row["allocated"])
    row: Row = {"workload": workload, "demand": demand, "bound": most[workload, demand], "fgd": fgd}
    return row | {"best": best["allocated"], "best_policy": best["policy"], "best_ties": best["ties"]}


def claims_on_means(table: list[Row]) -> list[Claim]:
    """The published means: how many are met."""
    claims = []
    for measure, demands in (("allocated", ALLOCATED_AT), ("fragmented", FRAGMENTED_AT)):
        rows = [row for row in table if row["demand"] in demands and row[f"{measure}_published"] is not None]
        for near in (True, False):
            gaps = [
                (abs(row[measure] - row[f"{measure}_published"]), f"{row['policy']} on {row['workload']} at {row['demand']} %")
                for row in rows
                if (row["policy"] in NEAR) == near
            ]
            if not gaps:
                continue
            at, points = ", ".join(map(str, demands)), WITHIN[measure][near]
            met = sum(gap <= points for gap, _ in gaps)
            who = ", ".join(name for name in SCORES if (name in NEAR) == near)
            what = f"{measure} at {at} % within {points:g} points of the published mean: {who}"
            figures = f"{met} of {len(gaps)}; at most {max(gaps)[0]:.2f} off, {max(gaps)[1]}"
            claims.append(Claim(NAME, what, met == len(gaps), figures))
    return claims


def claims_on_order(study: Study, table: list[Row]) -> list[Claim]:
    """FGD first, Random last; and every two policies whose published means are further apart than two standard errors."""
    last = {(row["workload"], row["policy"]): row for row in table if row["demand"] == DEMANDS[-1] and row["ties"] == ORDER}
    firsts, ends, pairs, turned = 0, 0, 0, []
    for workload in study.lists:
        ranked = sorted(SCORES, key=lambda policy: -last[workload, policy]["allocated"])
        firsts += ranked[0] == "fgd"
        ends += ranked[-1] == "random"
        for a, b in combinations(SCORES, 2):
            published = [last[workload, policy]["allocated_published"] for policy in (a, b)]
            if None in published:
                continue
            gap = published[0] - published[1]
            error = np.hypot(study.deviation[workload, a], study.deviation[workload, b]) / np.sqrt(PUBLISHED_SEEDS)
            if abs(gap) > 2 * error:
                pairs += 1
                if gap * (last[workload, a]["allocated"] - last[workload, b]["allocated"]) <= 0:
                    turned.append(f"{a} and {b} on {workload}")
    lists = len(study.lists)
    claims = [
        Claim(NAME, "FGD allocates most at 130 %, Random least", firsts == ends == lists, f"{firsts} and {ends} of {lists} lists")
    ]
    if pairs:
        figures = f"{pairs - len(turned)} of {pairs}" + (f"; not {', '.join(turned)}" if turned else "")
        claims.append(
            Claim(NAME, "policies further apart than two standard errors are in the published order", not turned, figures)
        )
    return claims


def claims_on_ties(ties: list[Row]) -> list[Claim]:
    """What a new choice at each decision costs FGD; whether its lead over best fit, and the order of the others, survive."""
    rows = {(row["workload"], row["policy"], row["ties"]): row for row in ties}
    lists = list(dict.fromkeys(row["workload"] for row in ties))
    behind = [name for name in lists if below_zero(rows[name, "fgd", "random"], "over_best_fit")]
    costs = {name: rows[name, "fgd", "random"]["over_order"] for name in lists}
    worst = min(costs, key=lambda name: costs[name])
    figures = f"{len(behind)} of {len(lists)} ({', '.join(behind)}); {costs[worst]:+.2f} points on {worst}"
    what = "on some lists FGD falls behind best fit if it breaks ties again at each decision"
    claims = [Claim(NAME, what, len(behind) > 0, figures)]
    leads = [(rows[name, "fgd", rule]["over_best_fit"], name, rule) for name in lists for rule in ("file", "exact", "best-fit")]
    what = "with the nodes' own order, exact scores, or best fit among ties it stays ahead on all"
    lead, name, rule = min(leads)
    claims.append(Claim(NAME, what, lead > 0, f"by {lead:+.2f} points at least, {rule} on {name}"))
    turned = [
        f"{policy} on {name}"
        for name in lists
        for policy in ("gpu-packing", "gpu-clustering")
        if below_zero(rows[name, policy, ORDER], "over_best_fit") and above_zero(rows[name, policy, "best-fit"], "over_best_fit")
    ]
    what = "best fit among ties puts packing or clustering before best fit where they were behind"
    return [*claims, Claim(NAME, what, len(turned) > 0, f"{len(turned)} of {2 * len(lists)}: {', '.join(turned)}")]


def below_zero(row: Row, name: str) -> bool:
    return row[f"{name}_high"] is not None and row[f"{name}_high"] < 0


def above_zero(row: Row, name: str) -> bool:
    return row[f"{name}_low"] is not None and row[f"{name}_low"] > 0


def learnt_row(means: dict[Case, Means], workload: str, policy: str, seeds: int) -> Row:
    """What FGD with another weight allocates over FGD as published, on the same lists, seed by seed."""
    row: Row = {"workload": workload, "lists": "trained on" if workload in TRAINED_ON else "judged on", "policy": policy}
    for demand in ALLOCATED_AT:
        n = DEMANDS.index(demand)
        both = [(means[workload, policy, "exact", seed], means[workload, "fgd", ORDER, seed]) for seed in range(seeds)]
        row |= columns(f"over_fgd_{demand}", interval([float(a.allocated[n] - b.allocated[n]) for a, b in both]))
    return row


def lists_to_judge_on(lists: Collection[str]) -> str:
    """Return the lists that are missing to judge the choice of a weight; empty if none is."""
    missing = [name for name in TRAINED_ON if name not in lists]
    others = [] if set(lists) - set(TRAINED_ON) else ["a list that had no part in the choice"]
    return listed([*missing, *others]) if missing or others else ""


def claim_on_weight(learnt: list[Row]) -> Claim:
    """The weight that is best on some lists, on the others."""

    def gain(policy: str, lists: str) -> float:
        rows = [row for row in learnt if row["policy"] == policy and row["lists"] == lists]
        return float(np.mean([row[f"over_fgd_{demand}"] for row in rows for demand in ALLOCATED_AT]))

    policies = list(dict.fromkeys(row["policy"] for row in learnt))
    best = max(policies, key=lambda policy: gain(policy, "trained on"))
    ends = "; ".join(f"{row['workload']} {row['over_fgd_130']:+.2f}" for row in learnt if row["policy"] == best)
    figures = (
        f"{best} by {gain(best, 'judged on'):+.2f}, on those it was chosen on by {gain(best, 'trained on'):+.2f}; at 130 % {ends}"
    )
    what = "a weight for idle parts of satisfied shapes, chosen on four lists, gains .3 points over FGD on the others"
    return Claim(NAME, what, gain(best, "judged on") >= 0.3, figures)


def claims_on_bound(bound: list[Row]) -> list[Claim]:
    below = all(row["best"] <= row["bound"] + 1e-6 for row in bound)
    gaps = [row["bound"] - row["best"] for row in bound if row["demand"] == DEMANDS[6]]
    figures = f"when as much has arrived as there is, between {min(gaps):.1f} and {max(gaps):.1f} points are left"
    return [Claim(NAME, "no policy allocates more than the linear program allows", below, figures)]


def draw_study(table: list[Row], ties: list[Row], most: dict[tuple[str, int], float], title: str) -> Figure:
    """Above, allocation and fragmentation against demand on one list; below, all lists, and what ties do to FGD."""
    lists = list(dict.fromkeys(row["workload"] for row in table))
    example = EXAMPLE if EXAMPLE in lists else lists[0]
    figure = Figure(figsize=(11, 9), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    draw_curves(axes[0, 0], table, example, "allocated")
    draw_curves(axes[0, 1], table, example, "fragmented")
    draw_lists(axes[1, 0], table, most, lists)
    draw_ties(axes[1, 1], ties, lists)
    figure.suptitle(title, fontsize=11)
    return figure


def draw_curves(axes: Any, table: list[Row], workload: str, measure: str) -> None:
    for n, policy in enumerate(SCORES):
        rows = [row for row in table if (row["workload"], row["policy"], row["ties"]) == (workload, policy, ORDER)]
        if measure == "allocated":
            rows = [row for row in rows if row["demand"] >= 80]
        axes.plot([row["demand"] for row in rows], [row[measure] for row in rows], color=COLOURS[n], label=policy)
        known = [row for row in rows if row[f"{measure}_published"] is not None]
        axes.plot([row["demand"] for row in known], [row[f"{measure}_published"] for row in known], "x", color=COLOURS[n], ms=6)
    axes.set_xlabel("demand that has arrived, % of all GPUs")
    axes.set_ylabel("% of all GPUs")
    axes.set_title(f"{measure}, {workload} (×: published)", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    light_grid(axes)


def draw_lists(axes: Any, table: list[Row], most: dict[tuple[str, int], float], lists: list[str]) -> None:
    width, last = 0.8 / len(SCORES), DEMANDS[-1]
    for n, policy in enumerate(SCORES):
        rows = {row["workload"]: row for row in table if (row["policy"], row["ties"], row["demand"]) == (policy, ORDER, last)}
        at = np.arange(len(lists)) + (n - (len(SCORES) - 1) / 2) * width
        axes.bar(at, [rows[name]["allocated"] for name in lists], width, color=COLOURS[n], label=policy)
        known = [(x, rows[name]["allocated_published"]) for x, name in zip(at, lists, strict=True)]
        axes.plot([x for x, value in known if value], [value for _, value in known if value], "kx", ms=3)
    axes.plot(range(len(lists)), [most[name, last] for name in lists], "_", color=GREY, ms=26, label="bound")
    axes.set_ylim(75, 107)
    axes.set_xticks(range(len(lists)), lists, rotation=30, fontsize=8)
    axes.set_ylabel("allocated, % of all GPUs")
    axes.set_title(f"at a demand of {last} % (×: published)", fontsize=10)
    axes.legend(fontsize=8, frameon=False, ncols=4, loc="upper center")
    light_grid(axes)


def draw_ties(axes: Any, ties: list[Row], lists: list[str]) -> None:
    """FGD's lead over best fit by each rule, with intervals."""
    for n, rule in enumerate(TIES):
        rows = {row["workload"]: row for row in ties if (row["policy"], row["ties"]) == ("fgd", rule)}
        leads = [rows[name]["over_best_fit"] for name in lists]
        ends = [[rows[name][f"over_best_fit_{end}"] for name in lists] for end in ("low", "high")]
        bars = None if None in ends[0] else np.abs(np.array(ends) - leads)
        axes.errorbar(np.arange(len(lists)) + 0.12 * (n - 2), leads, yerr=bars, fmt="o", ms=4, color=COLOURS[n], label=rule)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_xticks(range(len(lists)), lists, rotation=30, fontsize=8)
    axes.set_ylabel("points")
    axes.set_title("FGD's lead over best fit at 130 %, by its rule for ties", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    light_grid(axes)
