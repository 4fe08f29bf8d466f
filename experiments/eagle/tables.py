"""The tables of the Eagle study: ratios to Hawk by cluster, Hawk over Sparrow by load, all policies on the fullest cluster,
and what each mechanism adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.eagle.runs import EAGLE, EAGLES, HAWK, MEASURES, MECHANISMS, SPARROW, SWEEP, Case, Measured, Measures, swept
from experiments.finding import Row, columns
from packenv.runs.statistics import interval, ratio
from packenv.workloads.named.eagle import MIXES

HAWK_PUBLISHED = {("short", 50): 80, ("short", 90): 90, ("long", 50): 35, ("long", 90): 10}  # % better than Sparrow


def panel_rows(trace: str, measured: Measured) -> list[Row]:
    """Eagle over Hawk seed by seed, their geometric means with 95 % intervals.

    `nearer`: how much nearer to 1 the ratio is than on the smallest cluster, as the difference of |ln(Eagle over Hawk)|.
    """
    rows = []
    clusters = MIXES[trace].clusters
    for servers in clusters:
        used = interval(run.utilisation for run in measured[Case(trace, servers, EAGLE)])
        for measure in MEASURES:
            times = {policy: seconds(measured[Case(trace, servers, policy)], measure) for policy in (EAGLE, HAWK)}
            row: Row = {"trace": trace, "servers": servers, "jobs": measure[0], "percentile": measure[1]}
            row |= {"seeds": len(times[EAGLE])} | columns("eagle_over_hawk", ratio(times[EAGLE], times[HAWK]))
            nearer = distances(measured, trace, clusters[0], measure) - distances(measured, trace, servers, measure)
            row |= columns("nearer", interval(nearer.tolist()))
            row |= {f"{policy}_s": float(np.mean(each)) for policy, each in times.items()}
            rows.append(row | {"eagle_utilisation": used.mean})
    return rows


def distances(measured: Measured, trace: str, servers: int, measure: tuple[str, int]) -> NDArray[np.float64]:
    """(seeds,) how far Eagle over Hawk is from 1: |ln|."""
    eagle, hawk = (seconds(measured[Case(trace, servers, policy)], measure) for policy in (EAGLE, HAWK))
    return np.abs(np.log(np.divide(eagle, hawk)))


def seconds(runs: list[Measures], measure: tuple[str, int]) -> list[float]:
    """A completion time, seed by seed."""
    return [run.seconds[measure] for run in runs]


def policy_rows(trace: str, measured: Measured) -> list[Row]:
    """On the smallest cluster: every policy's completion times, and as multiples of Hawk's, seed by seed."""
    smallest = MIXES[trace].clusters[0]
    rows = []
    for case in (case for case in measured if case[:2] == (trace, smallest) and case.burst == 1):
        used = interval(run.utilisation for run in measured[case])
        for measure in MEASURES:
            times, hawk = seconds(measured[case], measure), seconds(measured[case._replace(policy=HAWK)], measure)
            row: Row = {"trace": trace, "policy": case.policy, "jobs": measure[0], "percentile": measure[1]}
            row |= columns("seconds", interval(times)) | columns("over_hawk", ratio(times, hawk))
            rows.append(row | {"utilisation": used.mean})
    return rows


def sweep_rows(measured: Measured) -> list[Row]:
    """Hawk over Sparrow seed by seed, by load and burst, beside what is published of Google's trace under high load."""
    rows = []
    for load, burst in SWEEP:
        hawk, sparrow = (measured[swept(load, burst, policy)] for policy in (HAWK, SPARROW))
        for measure, percent in HAWK_PUBLISHED.items():
            row: Row = {"load": load, "burst": burst, "jobs": measure[0], "percentile": measure[1]}
            row |= columns("hawk_over_sparrow", ratio(seconds(hawk, measure), seconds(sparrow, measure)))
            rows.append(row | {"published": 1 - percent / 100})
    return rows


def mechanism_rows(trace: str, measured: Measured) -> list[Row]:
    """By which factor each mechanism shortens completion times on the smallest cluster, and its share of all that they do.

    A mechanism's factor depends on which others are there: this is its geometric mean over all orders of adding the three
    (Shapley value of the logarithm), so that the factors' product is the time without any over the time with all.
    """
    rows = []
    smallest = MIXES[trace].clusters[0]
    for measure in MEASURES:
        logs = {
            mechanisms: np.log(seconds(measured[Case(trace, smallest, policy)], measure)) for mechanisms, policy in EAGLES.items()
        }
        total = logs[()] - logs[MECHANISMS]
        for mechanism in MECHANISMS:
            gain = shapley(mechanism, logs)
            share = float(gain.mean() / total.mean()) if total.mean() else None
            row: Row = {"trace": trace, "jobs": measure[0], "percentile": measure[1], "mechanism": mechanism}
            rows.append(row | columns("factor", ratio(np.exp(gain).tolist(), [1.0] * len(gain))) | {"share": share})
    return rows


def shapley(mechanism: str, logs: dict[tuple[str, ...], NDArray[np.float64]]) -> NDArray[np.float64]:
    """(seeds,) what adding the mechanism takes off the logarithm, over all orders of adding."""
    weights = {0: 1 / 3, 1: 1 / 6, 2: 1 / 3}  # of those before it: none, one of the two, both
    without = [mechanisms for mechanisms in EAGLES if mechanism not in mechanisms]
    with_it = {mechanisms: tuple(m for m in MECHANISMS if m in mechanisms or m == mechanism) for mechanisms in without}
    return np.sum([weights[len(mechanisms)] * (logs[mechanisms] - logs[with_it[mechanisms]]) for mechanisms in without], axis=0)
