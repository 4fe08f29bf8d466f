"""Seed 003, figure 3.2: Eagle over Hawk by the size of the cluster, and what each of Eagle's mechanisms adds.

The workloads have the proportions of the traces (packenv.workloads.named.eagle). Counted are jobs that arrive after the first
WARMUP of the time in which jobs do: three mean durations of long tasks at least, by when the cluster is as full as it gets.
All jobs run to their end. A job is short or long by the cutoff, and its completion time counts from its arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from packenv.results.result import Result
from packenv.runs.measures import interval, ratio
from packenv.runs.outputs import counted
from packenv.runs.processes import Run, outcomes_of
from packenv.studies.eagle.claims import claims_on
from packenv.studies.finding import Finding, Row, Settings
from packenv.workloads.named.eagle import MIXES, SLOT_SECONDS, eagle
from packenv.workloads.workload import Workload

TRACES = ("google", "cloudera", "yahoo")
CLASSES = ("short", "long")
LEVELS = (50, 90, 99)
MEASURES = [(kind, level) for kind in CLASSES for level in LEVELS]
MECHANISMS = ("sharing", "sticky", "srpt")
WARMUP = 0.3
SEEDS, QUICK_SEEDS = 6, 2
QUICK_JOBS = 3  # a third of them

EAGLES = {
    (): "eagle:sharing=false,sticky=false,srpt=false",
    ("sharing",): "eagle:sticky=false,srpt=false",
    ("sticky",): "eagle:sharing=false,srpt=false",
    ("srpt",): "eagle:sharing=false,sticky=false",
    ("sharing", "sticky"): "eagle:srpt=false",
    ("sharing", "srpt"): "eagle:sticky=false",
    ("sticky", "srpt"): "eagle:sharing=false",
    MECHANISMS: "eagle",
}
"""Eagle with each set of its mechanisms."""

HAWK, EAGLE = "hawk", EAGLES[MECHANISMS]
OTHERS = ("sparrow", "hawk:attempts=0", "lwl", "yaq")


class Outcome(NamedTuple):
    """What a run did."""

    seconds: dict[tuple[str, int], float]  # completion time by (short or long, percentile)
    utilisation: float  # from the warm-up's end until the last arrival


Outcomes = dict[tuple[int, str], list[Outcome]]
"""By (servers, policy), one per seed."""


def reproduce(settings: Settings) -> Finding:
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    found = {trace: outcomes(trace, seeds, settings) for trace in TRACES}
    panels = [row for trace in TRACES for row in panel_rows(trace, found[trace], seeds)]
    smallest = MIXES["google"].clusters[0]
    full = {policy: runs for (servers, policy), runs in found["google"].items() if servers == smallest}
    compared, parts = [row for policy in full for row in times_of(policy, full)], shares_of(full)
    told = f"{counted(seeds, 'seed')} of workloads in the traces' proportions, the smallest clusters 0.9 utilised"
    title = f"Eagle over Hawk, {told}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.eagle.plot import draw_eagle

        draw_eagle(panels, compared, parts, title, path)

    tables = {"": panels, "_policies": compared, "_mechanisms": parts}
    return Finding("eagle", title, claims_on(panels, compared, parts), tables, draw)


def outcomes(trace: str, seeds: int, settings: Settings) -> Outcomes:
    """Hawk and Eagle on each size of the cluster, and all others on the smallest for Google's."""
    mix = MIXES[trace]
    jobs = mix.jobs // QUICK_JOBS if settings.quick else mix.jobs
    policies: dict[int, tuple[str, ...]] = dict.fromkeys(mix.clusters, (HAWK, EAGLE))
    if trace == "google":
        policies[mix.clusters[0]] = (HAWK, *OTHERS, *EAGLES.values())
    keys = [(servers, policy) for servers in mix.clusters for policy in policies[servers]]
    made: dict[int, Callable[[], Workload]] = {servers: partial(cluster, trace, jobs, servers) for servers in mix.clusters}
    options = {"schedule": True, "drain": True}
    runs = [
        Run(made[servers], with_cutoff(policy, mix.cutoff), seed, None, options)
        for servers, policy in keys
        for seed in range(seeds)
    ]
    results = outcomes_of(runs, partial(outcome, cutoff=mix.cutoff), settings.processes, f"eagle/{trace}")
    return {key: results[n * seeds : (n + 1) * seeds] for n, key in enumerate(keys)}


def cluster(trace: str, jobs: int, servers: int) -> Workload:
    return eagle(trace, jobs).with_(servers=servers)


def with_cutoff(policy: str, cutoff: float) -> str:
    """Hawk and Eagle are told which jobs are long; the others make no difference."""
    name = policy.partition(":")[0]
    return f"{policy}{',' if ':' in policy else ':'}cutoff={cutoff}" if name in ("hawk", "eagle") else policy


def outcome(workload: Workload, result: Result, cutoff: float) -> Outcome:
    table, times, schedule = workload.at(result.seed).jobs, result.jobs, result.schedule
    assert times is not None and times.makespan is not None and schedule is not None
    assert table is not None and table.estimate is not None
    last = int(table.arrival[-1])
    begin = WARMUP * last
    first = np.unique(times.job, return_index=True)[1]
    is_long = table.estimate[first] * SLOT_SECONDS > cutoff
    completion = (times.end - times.arrival) * SLOT_SECONDS
    counted = times.arrival >= begin
    by_class = {"short": completion[counted & ~is_long], "long": completion[counted & is_long]}
    seconds = {(kind, level): float(np.quantile(by_class[kind], level / 100, method="inverted_cdf")) for kind, level in MEASURES}
    busy = np.clip(np.minimum(schedule.end, last) - np.maximum(schedule.start, begin), 0, None).sum()
    return Outcome(seconds, float(busy / (last - begin) / len(workload.servers)))


def panel_rows(trace: str, found: Outcomes, seeds: int) -> list[Row]:
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


def times_of(policy: str, found: dict[str, list[Outcome]]) -> list[Row]:
    """A policy's completion times, and as multiples of Hawk's and of Sparrow's, seed by seed."""
    rows = []
    for kind, level in MEASURES:
        times = {name: [run.seconds[kind, level] for run in found[name]] for name in (policy, HAWK, "sparrow")}
        each = interval(times[policy])
        row: Row = {"policy": policy, "jobs": kind, "percentile": level, "seconds": each.mean}
        row |= {"seconds_low": each.low, "seconds_high": each.high}
        for other in (HAWK, "sparrow"):
            over = ratio(times[policy], times[other])
            row |= {f"over_{other}": over.mean, f"over_{other}_low": over.low, f"over_{other}_high": over.high}
        rows.append(row | {"utilisation": interval(run.utilisation for run in found[policy]).mean})
    return rows


def shares_of(found: dict[str, list[Outcome]]) -> list[Row]:
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
