"""Eagle, Hawk and their comparators: the runs, and completion times of short and long jobs.

The workloads have the proportions of the traces (packenv.workloads.named.eagle). Counted are jobs that arrive after the first
WARMUP of the time in which jobs do: three mean durations of long tasks at least, by when the cluster is as full as it gets.
All jobs run to their end. A job is short or long by the cutoff, and its completion time counts from its arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.runs.runner import extract_all
from packenv.studies.finding import Settings
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


class Measures(NamedTuple):
    """What a run did."""

    seconds: dict[tuple[str, int], float]  # completion time by (short or long, percentile)
    utilisation: float  # from the warm-up's end until the last arrival


ByCluster = dict[tuple[int, str], list[Measures]]
"""By (servers, policy), one per seed."""


def measures_by_cluster(trace: str, seeds: int, settings: Settings) -> ByCluster:
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
    results = extract_all(runs, partial(measures_of, cutoff=mix.cutoff), settings.processes, f"eagle/{trace}")
    return {key: results[n * seeds : (n + 1) * seeds] for n, key in enumerate(keys)}


def cluster(trace: str, jobs: int, servers: int) -> Workload:
    """Jobs in the proportions of a trace, on so many servers."""
    return eagle(trace, jobs).with_(servers=servers)


def with_cutoff(policy: str, cutoff: float) -> str:
    """The policy's name with the cutoff between short and long jobs, for Hawk and Eagle; the others need none."""
    name = policy.partition(":")[0]
    return f"{policy}{',' if ':' in policy else ':'}cutoff={cutoff}" if name in ("hawk", "eagle") else policy


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
