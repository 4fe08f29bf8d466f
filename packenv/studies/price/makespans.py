"""Figures 1 to 3 of Zhang and Yao, and what they hold against Tetris: makespans of their schedulers on the same instances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from packenv.api import simulate
from packenv.jobs import Jobs
from packenv.results.result import Result
from packenv.runs.progress import COMPILING, announce_if_slow
from packenv.runs.statistics import certainly_below, interval
from packenv.runs.text import counted, number
from packenv.studies.beside import BOUND, completion_bounds, notes_of
from packenv.studies.finding import Claim, Finding, Row, Settings, claim_with_number
from packenv.studies.price.gain import PRICE_BLOCKING, gain_claim, gain_rows
from packenv.studies.price.runs import (
    FIXED_SAT,
    LEFT_OUT,
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
    with announce_if_slow(COMPILING):
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

    def draw(path: Path) -> None:
        from packenv.studies.price.plot import draw_flow_shop

        draw_flow_shop(bars, title, path)

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
        says = f"cannot be: with all {seeds} seeds every scheduler takes exactly as long as the longest job does on its own"
        claims = [Claim(figure, sat_claim(figure, "SAT"), False, says)]
    elif sats:
        claims = [shorter_than_fifo(figure, runs, sat, over) for sat in sats]
    else:
        claims = [Claim(figure, sat_claim(figure, "SAT"), False, f"{LEFT_OUT}; {over}")]
    return spread(figure, what, setting, runs, bounds, claims, settings)


def sat_claim(figure: str, name: str) -> str:
    return f"the makespan of {name} is {SAT_GAINS[figure]:.0%} shorter than FIFO's"


def shorter_than_fifo(figure: str, runs: Runs, sat: str, over: str) -> Claim:
    found, unblocked = shorter(runs, sat, "fifo"), shorter(runs, sat, "fifo:blocking=false")
    says = f"{found} of that of FIFO, {unblocked} of that of FIFO that does not block; {over}"
    return claim_with_number(figure, sat_claim(figure, NAMES[sat]), found, 1 - SAT_GAINS[figure], says)


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
    each: list[Row] = [
        {"seed": seed, "lower_bound": bounds[seed]} | {policy: values[seed] for policy, values in table.items()}
        for seed in range(len(bounds))
    ]
    title = f"{what}; {counted(len(bounds), 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.price.plot import draw_makespans

        draw_makespans({label(policy): values for policy, values in table.items()}, bounds, [*table], title, path)

    notes = [f"{figure}: makespan {', '.join(f'{NAMES[p]} {interval(values)}' for p, values in table.items())}"]
    notes += notes_of(figure, table, ends, least, "price", "slots")
    return Finding(figure, title, claims, {"": rows, "_seeds": each, "_gain": gain_rows(runs)}, draw, notes)
