"""The tables of the Eagle study: ratios to Hawk by cluster, all policies on the fullest, and what each mechanism adds."""

from __future__ import annotations

import numpy as np

from packenv.runs.statistics import interval, ratio
from packenv.studies.eagle.runs import EAGLE, EAGLES, HAWK, MEASURES, MECHANISMS, ByCluster, Measures
from packenv.studies.finding import Row, columns
from packenv.workloads.named.eagle import MIXES


def panel_rows(trace: str, found: ByCluster, seeds: int) -> list[Row]:
    """Eagle over Hawk seed by seed, their geometric means with 95 % intervals."""
    rows = []
    for servers in MIXES[trace].clusters:
        hawk, eagle = found[servers, HAWK], found[servers, EAGLE]
        used = interval(run.utilisation for run in eagle)
        for kind, level in MEASURES:
            times = {name: [run.seconds[kind, level] for run in runs] for name, runs in (("eagle", eagle), ("hawk", hawk))}
            over = ratio(times["eagle"], times["hawk"])
            row: Row = {"trace": trace, "servers": servers, "jobs": kind, "percentile": level, "seeds": seeds}
            row |= {"eagle_over_hawk": over.mean, "low": over.low, "high": over.high}
            row |= {f"{name}_s": float(np.mean(each)) for name, each in times.items()}
            rows.append(row | {"eagle_utilisation": used.mean})
    return rows


def times_of(policy: str, found: dict[str, list[Measures]]) -> list[Row]:
    """A policy's completion times, and as multiples of Hawk's and of Sparrow's, seed by seed."""
    rows = []
    for kind, level in MEASURES:
        times = {name: [run.seconds[kind, level] for run in found[name]] for name in (policy, HAWK, "sparrow")}
        each = interval(times[policy])
        row: Row = {"policy": policy, "jobs": kind, "percentile": level} | columns("seconds", each)
        for other in (HAWK, "sparrow"):
            row |= columns(f"over_{other}", ratio(times[policy], times[other]))
        rows.append(row | {"utilisation": interval(run.utilisation for run in found[policy]).mean})
    return rows


def shares_of(found: dict[str, list[Measures]]) -> list[Row]:
    """By which factor each mechanism shortens completion times, and its share of all that they do.

    A mechanism's factor depends on which others are there: this is its geometric mean over all orders of adding the three
    (Shapley value of the logarithm), so that the factors' product is the time without any over the time with all.
    """
    rows = []
    for kind, level in MEASURES:
        logs = {own: np.log([run.seconds[kind, level] for run in found[policy]]) for own, policy in EAGLES.items()}
        total = logs[()] - logs[MECHANISMS]
        for mechanism in MECHANISMS:
            gain = shapley(mechanism, logs)
            factor = ratio(np.exp(gain).tolist(), [1.0] * len(gain))
            share = float(gain.mean() / total.mean()) if total.mean() else None
            row: Row = {"jobs": kind, "percentile": level, "mechanism": mechanism, "factor": factor.mean}
            rows.append(row | {"low": factor.low, "high": factor.high, "share": share})
    return rows


def shapley(mechanism: str, logs: dict[tuple[str, ...], np.ndarray]) -> np.ndarray:
    """(seeds,) what adding the mechanism takes off the logarithm, over all orders of adding."""
    weights = {0: 1 / 3, 1: 1 / 6, 2: 1 / 3}  # of those before it: none, one of the two, both
    without = [own for own in EAGLES if mechanism not in own]
    with_it = {own: tuple(m for m in MECHANISMS if m in own or m == mechanism) for own in without}
    return np.sum([weights[len(own)] * (logs[own] - logs[with_it[own]]) for own in without], axis=0)
