"""Eagle, Hawk and their comparators: the runs, and completion times of short and long jobs.

The workloads have the proportions of the traces (packenv.workloads.named.eagle). Counted are jobs that arrive after the first
WARMUP of the time in which jobs do: three mean durations of long tasks at least, by when the cluster is as full as it gets.
All jobs run to their end. A job is short or long by the cutoff, and its completion time counts from its arrival.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.finding import Settings
from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import extract_all
from packenv.workloads.named.eagle import MIXES, SLOT_SECONDS, UTILISATION, eagle
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

HAWK, EAGLE, SPARROW = "hawk", EAGLES[MECHANISMS], "sparrow"
OTHERS = (SPARROW, "hawk:attempts=0", "lwl", "yaq")
SWEPT = "google"
SWEEP = [(0.65, 1), (0.8, 1), (UTILISATION, 1), (0.96, 1), (UTILISATION, 30), (UTILISATION, 300)]
"""Loads of the cluster, and how many jobs arrive together: where Hawk is compared with Sparrow."""


class Case(NamedTuple):
    """What is run, once per seed."""

    trace: str
    servers: int
    policy: str
    burst: int = 1


class Measures(NamedTuple):
    """What a run did."""

    seconds: dict[tuple[str, int], float]  # completion time by (short or long, percentile)
    utilisation: float  # from the warm-up's end until the last arrival


Measured = dict[Case, list[Measures]]
"""One per seed."""


def cases() -> list[Case]:
    """Hawk and Eagle on each size of the cluster; on the smallest, Eagle without some of its mechanisms, and for Google's all
    others; Hawk and Sparrow by load and burst."""
    smallest = {trace: MIXES[trace].clusters[0] for trace in TRACES}
    panels = [Case(trace, servers, policy) for trace in TRACES for servers in MIXES[trace].clusters for policy in (HAWK, EAGLE)]
    parts = [Case(trace, smallest[trace], policy) for trace in TRACES for policy in EAGLES.values()]
    others = [Case(SWEPT, smallest[SWEPT], policy) for policy in OTHERS]
    sweep = [swept(load, burst, policy) for load, burst in SWEEP for policy in (HAWK, SPARROW)]
    return list(dict.fromkeys([*panels, *parts, *others, *sweep]))


def swept(load: float, burst: int, policy: str) -> Case:
    """A case of the sweep: the cluster on which Google's jobs are so much load."""
    return Case(SWEPT, round(MIXES[SWEPT].clusters[0] * UTILISATION / load), policy, burst)


def measure(seeds: int, settings: Settings) -> Measured:
    """Run all cases."""
    measured: Measured = {}
    for trace in TRACES:
        mix, keys = MIXES[trace], [case for case in cases() if case.trace == trace]
        jobs = mix.jobs // QUICK_JOBS if settings.quick else mix.jobs
        clusters = {(case.servers, case.burst): partial(cluster, trace, jobs, case.servers, case.burst) for case in keys}
        options = {"schedule": True, "drain": True}
        runs = [
            Run(clusters[case.servers, case.burst], policy_of(case), seed, None, options)
            for case in keys
            for seed in range(seeds)
        ]
        results = extract_all(runs, partial(measures_of, cutoff=mix.cutoff), settings.runs, f"eagle/{trace}")
        measured |= {case: results[n * seeds : (n + 1) * seeds] for n, case in enumerate(keys)}
    return measured


def cluster(trace: str, jobs: int, servers: int, burst: int) -> Workload:
    """Jobs in the proportions of a trace, on so many servers."""
    return eagle(trace, jobs, burst).with_(servers=servers)


def policy_of(case: Case) -> str:
    """The policy with the trace's cutoff and share of servers for short jobs, for Hawk and Eagle; the others need none."""
    mix, (name, _, knobs) = MIXES[case.trace], case.policy.partition(":")
    if name not in ("hawk", "eagle"):
        return case.policy
    return f"{name}:" + ",".join(filter(None, (knobs, f"cutoff={mix.cutoff}", f"reserved={mix.reserved}")))


def measures_of(workload: Workload, result: Result, cutoff: float) -> Measures:
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
    return Measures(seconds, float(busy / (last - begin) / len(workload.servers)))
