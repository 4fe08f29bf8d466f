"""Figures 1 to 3 of Zhang and Yao, and what they hold against Tetris: makespans of their schedulers on the same instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.comparators import BOUND, LEGEND, completion_bounds, notes_of
from experiments.finding import Claim, Finding, Row, Settings, claim_with_number
from experiments.price.gain import PRICE_BLOCKING, gain_claim, gain_rows
from experiments.price.runs import (
    FIXED_SAT,
    LEFT_OUT,
    LOOKS,
    NAMES,
    NOT_COMPARED,
    POLICIES,
    PRICES,
    SAT,
    SEEDS,
    Runs,
    completions,
    has_sat,
    label,
    least_makespan,
    longest_job,
    makespans,
    row,
    runs_of,
    shorter,
)
from packenv.api import simulate
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted, number
from packenv.jobs import Jobs
from packenv.report.plot_style import plain_numbers
from packenv.results.result import Result
from packenv.runs.progress import PREPARING, announce_if_slow
from packenv.runs.statistics import certainly_below, interval
from packenv.workloads.find import workload
from packenv.workloads.workload import Workload

SAT_GAINS = {"price-fig2": 0.2, "price-fig3": 0.3}  # shorter than FIFO by, says the seed
SAT_SEEDS = {"price-fig2": SEEDS, "price-fig3": 40}
IN_TURN = ("fifo", "price", *NOT_COMPARED)  # that play the flow shop


def reproduce_1(settings: Settings) -> Finding:
    """The flow shop: the order of two jobs decides."""
    setting = workload("price/fig1")
    assert setting.jobs is not None
    turned = setting.with_(jobs=reversed_jobs(setting.jobs))
    reverse = "FIFO, reversed"
    with announce_if_slow(PREPARING):
        runs = {reverse: (turned, simulate(turned, "fifo", schedule=True))}
        runs |= {NAMES[policy]: (setting, simulate(setting, policy, schedule=True)) for policy in IN_TURN}
    took = {name: makespans([result])[0] for name, (_, result) in runs.items()}
    fifo, price = took[NAMES["fifo"]], took[NAMES["price"]]
    others = ", ".join(f"{NAMES[policy]} {took[NAMES[policy]]}" for policy in NOT_COMPARED)
    claims = [
        Claim("price-fig1", "FIFO takes 10 slots", fifo == 10, f"{fifo} slots"),
        Claim("price-fig1", "the reverse order takes 8", took[reverse] == 8, f"{took[reverse]} slots"),
        Claim("price-fig1", "the price scheduler finds it", price == 8, f"{price} slots; {others}"),
    ]
    bars = [bar for name, (setting, result) in runs.items() for bar in bars_of(name, setting, result)]
    title = "Figure 1: jobs 1 (5 slots of A, 2 of B) and 2 (1 of A, 3 of B)"

    def draw() -> Figure:
        return draw_flow_shop(bars, title)

    return Finding("price-fig1", title, claims, {"": bars}, draw)


def reversed_jobs(jobs: Jobs) -> Jobs:
    """The last job first; phases stay in order."""
    assert jobs.job is not None and jobs.phase is not None
    order = np.lexsort((jobs.phase, -jobs.job))
    return Jobs(jobs.arrival[order], jobs.demand[order], jobs.service[order], job=jobs.job[order], phase=jobs.phase[order])


def bars_of(name: str, setting: Workload, result: Result) -> list[Row]:
    """When each phase runs, and on which resource."""
    jobs, schedule = setting.jobs, result.schedule
    assert jobs is not None and jobs.job is not None and schedule is not None and setting.resources is not None
    return [
        {"order": name, "resource": setting.resources[int(np.argmax(jobs.demand[n]))], "job": int(jobs.job[n]) + 1}
        | {"start": int(schedule.start[n]), "end": int(schedule.end[n])}
        for n in range(len(jobs))
    ]


def reproduce_2(settings: Settings) -> Finding:
    """More of every resource than can be used."""
    return against_sat("price-fig2", "Figure 2: 10 jobs of 1–3 phases, each at most a tenth of all machines", settings)


def reproduce_3(settings: Settings) -> Finding:
    """Resources are scarce."""
    return against_sat("price-fig3", "Figure 3: 30 jobs of 1–5 phases, each at most three tenths of all machines", settings)


def against_sat(figure: str, what: str, settings: Settings) -> Finding:
    setting = workload(figure.replace("-", "/"))
    sats = (FIXED_SAT, SAT) if has_sat() else ()
    runs = runs_of(figure, setting, (*POLICIES, PRICE_BLOCKING, *sats), settings, SAT_SEEDS[figure])
    seeds = len(runs["fifo"])
    bounds = [float(least_makespan(setting, seed)) for seed in range(seeds)]
    over = f"the lower bound is {number(least_over_fifo(runs, bounds), 2)} of FIFO's"
    bound_to_tie = all(
        makespan == longest_job(setting, seed) for results in runs.values() for seed, makespan in enumerate(makespans(results))
    )
    if bound_to_tie:
        figures = f"impossible: with all {seeds} seeds every scheduler takes exactly as long as the longest job alone"
        claims = [Claim(figure, sat_claim(figure, "SAT"), False, figures)]
    elif sats:
        claims = [shorter_than_fifo(figure, runs, sat, over) for sat in sats]
    else:
        claims = [Claim(figure, sat_claim(figure, "SAT"), False, f"{LEFT_OUT}; {over}")]
    return spread(figure, what, setting, runs, bounds, claims, settings)


def sat_claim(figure: str, name: str) -> str:
    return f"the makespan of {name} is {SAT_GAINS[figure]:.0%} shorter than FIFO's"


def shorter_than_fifo(figure: str, runs: Runs, sat: str, over: str) -> Claim:
    over_fifo, unblocked = shorter(runs, sat, "fifo"), shorter(runs, sat, "fifo:blocking=false")
    figures = f"{over_fifo} of FIFO's, {unblocked} of FIFO's without blocking; {over}"
    return claim_with_number(figure, sat_claim(figure, NAMES[sat]), over_fifo, 1 - SAT_GAINS[figure], figures)


def least_over_fifo(runs: Runs, bounds: list[float]) -> float:
    return float(np.mean([bound / took for bound, took in zip(bounds, makespans(runs["fifo"]), strict=True) if took]))


def reproduce_abundant(settings: Settings) -> Finding:
    """The seed's case against Tetris: an alignment favours the resource of which there is plenty."""
    figure, setting = "price-abundant", workload("price/abundant")
    runs = runs_of(figure, setting, (*POLICIES, PRICE_BLOCKING), settings)
    bounds = [float(least_makespan(setting, seed)) for seed in range(len(runs["price"]))]
    claims = [
        Claim(
            figure,
            f"where one resource is abundant, price has a shorter makespan than {NAMES[other]}",
            all(certainly_below(shorter(runs, price, other), 1) for price in PRICES),
            "; ".join(f"{NAMES[price]}: {shorter(runs, price, other)} of its makespan" for price in PRICES),
        )
        for other in NOT_COMPARED
    ]
    what = "One abundant resource: 100 jobs of 1–5 phases"
    return spread(figure, what, setting, runs, bounds, claims, settings)


def spread(
    figure: str, what: str, setting: Workload, runs: Runs, bounds: list[float], claims: list[Claim], settings: Settings
) -> Finding:
    """Makespans by policy and seed, and where price's gain over FIFO comes from, if there is one."""
    if shorter(runs, "price", "fifo").mean != 1:
        claims = [*claims, gain_claim(figure, runs)]
    table = {policy: makespans(results) for policy, results in runs.items()}
    ends = {policy: completions(results) for policy, results in runs.items()}
    least = completion_bounds(setting, len(bounds))
    rows = [row(policy, "makespan", values) for policy, values in (table | {BOUND: bounds}).items()]
    rows += [row(policy, "completion", values) for policy, values in (ends | {BOUND: least}).items()]
    by_seed: list[Row] = [
        {"seed": seed, "lower_bound": bounds[seed]} | {policy: values[seed] for policy, values in table.items()}
        for seed in range(len(bounds))
    ]
    title = f"{what}; {counted(len(bounds), 'seed')}{settings.remark}"

    def draw() -> Figure:
        return draw_makespans({label(policy): values for policy, values in table.items()}, bounds, [*table], title)

    notes = [f"{figure}: makespan {', '.join(f'{NAMES[p]} {interval(values)}' for p, values in table.items())}"]
    notes += notes_of(figure, table, ends, least, "price", "slots")
    return Finding(figure, title, claims, {"": rows, "_seeds": by_seed, "_gain": gain_rows(runs)}, draw, notes)


def draw_flow_shop(bars: list[Row], title: str) -> Figure:
    """Which job has each resource when, one panel per order."""
    orders = list(dict.fromkeys(bar["order"] for bar in bars))
    resources = sorted({bar["resource"] for bar in bars}, reverse=True)
    figure = Figure(figsize=(7.2, 0.8 + 1.2 * len(orders)), layout="constrained")
    all_axes = figure.subplots(len(orders), 1, sharex=True)
    for axes, order in zip(all_axes, orders, strict=True):
        of_order = [bar for bar in bars if bar["order"] == order]
        for bar in of_order:
            row, width = resources.index(bar["resource"]), bar["end"] - bar["start"]
            colour = COLOURS[bar["job"] - 1]
            axes.barh(row, width, left=bar["start"], height=0.72, color=colour, alpha=0.75, edgecolor="white", linewidth=1.5)
            axes.text(bar["start"] + width / 2, row, f"job {bar['job']}", ha="center", va="center", fontsize=9, color="white")
        end = max(bar["end"] for bar in of_order)
        axes.axvline(end, color=GREY, linewidth=1.2, linestyle=":")
        axes.set_yticks(range(len(resources)), resources)
        axes.set_title(f"{order}: {end} slots", fontsize=10, loc="left")
        axes.grid(axis="x", alpha=0.25)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[-1].set_xlabel("slot")
    all_axes[-1].set_xlim(0, max(bar["end"] for bar in bars) + 0.5)
    all_axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def draw_makespans(
    makespans: dict[str, Sequence[float | None]],
    bounds: Sequence[float],
    policies: list[str],
    title: str,
) -> Figure:
    """A line of points for each policy, one per instance, with their mean; the lower bounds below. `policies`: whose colours."""
    lines = [*((name, values, LOOKS[policy]) for (name, values), policy in zip(makespans.items(), policies, strict=True))]
    lines.append(("lower bound", list(bounds), (GREY, "-")))
    figure = Figure(figsize=(7.6, 1.5 + 0.42 * len(lines)), layout="constrained")
    axes = figure.add_subplot()
    known = [value for _, values, _ in lines for value in values if value is not None]
    width = max(known) - min(known) or 1.0
    for n, (_, values, (colour, style)) in enumerate(lines):
        known_ends = [value for value in values if value is not None]
        spread = np.linspace(-0.22, 0.22, len(known_ends)) if len(known_ends) > 1 else np.zeros(1)
        face = "white" if style != "-" else colour
        axes.plot(known_ends, n + spread, "o", color=colour, markersize=4, alpha=0.5, markerfacecolor=face, zorder=2)
        mean = float(np.mean(known_ends))
        axes.plot([mean, mean], [n - 0.34, n + 0.34], color=colour, linewidth=2.4, zorder=3)
        axes.text(1.01, n, f"{mean:.1f}", transform=axes.get_yaxis_transform(), va="center", fontsize=10, color=colour)
    axes.set_yticks(range(len(lines)), [name for name, _, _ in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlim(min(known) - 0.05 * width, max(known) + 0.05 * width)
    axes.set_xlabel("makespan (slots): a point per instance, a line and a number for the mean")
    plain_numbers(axes.xaxis)
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{title}; {LEGEND}".replace("; ", "\n"), fontsize=10, loc="left")
    return figure
