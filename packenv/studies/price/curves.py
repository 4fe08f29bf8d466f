"""Figures 5-7 and 8-10 of Zhang and Yao: efficiency, utilisation and fairness over time, with small and with large demands.

Efficiency is the share of all value whose jobs have ended, unfairness the variance over jobs of the share of their service
that is over (PAPERS §3). As single numbers, their means over the slots until the slowest policy has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.results.job_times import NONE, efficiency, progress
from packenv.results.occupancy import occupancy
from packenv.results.result import Result
from packenv.runs.statistics import certainly_above, certainly_below, interval, ratio
from packenv.runs.text import counted
from packenv.studies.beside import BOUND, completion_bounds, notes_of
from packenv.studies.finding import Claim, Finding, Row, Settings, claim_with_number
from packenv.studies.price.gain import PRICE_BLOCKING, gain_claim, gain_rows
from packenv.studies.price.runs import COMPARED, NAMES, NOT_COMPARED, POLICIES, PRICES, completions, makespans, row, runs_of
from packenv.workloads.find import workload
from packenv.workloads.workload import Workload

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
    rows = [row(policy, measure, own[measure]) for policy, own in values.items() for measure in own]
    bounds = completion_bounds(setting, seeds)
    rows.append(row(BOUND, "completion", bounds))
    by_policy = {measure: {policy: own[measure] for policy, own in values.items()} for measure in ("makespan", "completion")}
    notes = notes_of(figure, by_policy["makespan"], by_policy["completion"], bounds, "price", "slots")
    paths, gains = path_rows(curves), gain_rows(every)

    def draw(path: Path) -> None:
        from packenv.studies.price.curves_plot import draw_curves

        draw_curves(paths, rows, gains, title, path)

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
        "efficiency": [float(own.efficiency[:end].mean()) for own, end in zip(curves, ends, strict=True)],
        "unfairness": [float(own.unfairness[:end].mean()) for own, end in zip(curves, ends, strict=True)],
        "completion": completions(results),
    }


def best_claims(figure: str, values: dict[str, dict[str, list[float | None]]]) -> list[Claim]:
    """What the paper claims: at either rate of welfare better than each scheduler with which it compares."""
    return [best_claim(figure, values, policy, measure, COMPARED) for policy in PRICES for measure in BEST]


def best_of_all(figure: str, values: dict[str, dict[str, list[float | None]]]) -> list[Claim]:
    """The same beside the schedulers that it leaves out."""
    says = ", beside those that the paper leaves out"
    return [best_claim(figure, values, policy, measure, NOT_COMPARED, says) for policy in PRICES for measure in BEST]


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
    found = f"{interval(values[policy][measure])}; over " + ", ".join(f"{NAMES[o]} {r}" for o, r in against.items())
    return Claim(figure, f"{NAMES[policy]}: {BEST[measure]}{of}", all(better(one, 1) for one in against.values()), found)


def over_capacity(figure: str, values: dict[str, dict[str, list[float | None]]]) -> Claim:
    found = {p: ratio(values[p]["efficiency"], values["capacity"]["efficiency"]) for p in PRICES}
    says = "; ".join(f"{NAMES[policy]}: {over}" for policy, over in found.items())
    return claim_with_number(figure, "price is 12 % more efficient than capacity", found["price"], OVER_CAPACITY, says)


def path_rows(curves: dict[str, list[Curves]]) -> list[Row]:
    """By policy and slot, means over the seeds with 95 % intervals."""
    rows = []
    for policy, own in curves.items():
        together = {measure: np.array([getattr(one, measure) for one in own]) for measure in MEASURES}
        for slot in range(len(own[0].efficiency)):
            entry: Row = {"policy": policy, "slot": slot}
            for measure in MEASURES:
                found = interval(together[measure][:, slot].tolist())
                entry |= {measure: found.mean, f"{measure}_low": found.low, f"{measure}_high": found.high}
            rows.append(entry)
    return rows
