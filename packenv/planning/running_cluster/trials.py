"""Runs that begin in a cluster as it is, and what they say of the goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packenv.planning.running_cluster.goals import NEVER, QueueGoal, Times
from packenv.planning.search import AskRuns, Trial, is_met, mean_of
from packenv.results.result import Result
from packenv.runs.run import Run
from packenv.workloads.kubernetes.cluster import Cluster
from packenv.workloads.kubernetes.durations import Durations
from packenv.workloads.kubernetes.started import ENDLESS, Started
from packenv.workloads.laws import Law
from packenv.workloads.workload import Workload


@dataclass(frozen=True)
class QueueRuns:
    """What is run, whatever the cluster: `policy`, the goals, and what is assumed of the times in service."""

    policy: str
    goals: Sequence[QueueGoal]
    service: tuple[Law, ...] | Durations
    slot_seconds: float
    ask: AskRuns
    preemption: bool = True

    def workload(self, cluster: Cluster) -> Workload:
        return cluster.workload(self.service or None, self.slot_seconds, self.preemption)

    def times(self, cluster: Cluster, seeds: Sequence[int]) -> list[Times]:
        """Of the pods that wait and of those that start again, in this order, seed by seed."""
        if not cluster.waiting and not cluster.again:
            nothing = np.zeros(0, np.int64)
            return [Times(nothing, nothing, nothing > 0) for _ in seeds]
        workload = self.workload(cluster)
        runs = [Run(workload, self.policy, seed, long_enough(workload, seed), {"schedule": True}) for seed in seeds]
        return self.ask(runs, queue_times)

    def trial(self, cluster: Cluster, times: Sequence[Times]) -> Trial:
        """The goals' measures; none is met while pods have no node that they fit."""
        values = self.values(times)
        met = [not cluster.stranded and goal.met(mean_of(own)) for goal, own in zip(self.goals, values, strict=True)]
        decided: tuple[bool | None, ...] = tuple(met)
        if len(times) > 1 and not cluster.stranded:
            decided = tuple(is_met(goal, own) for goal, own in zip(self.goals, values, strict=True))
        return Trial(len(cluster.nodes), values, stable=True, queued=False, met=met, decided=decided)

    def values(self, times: Sequence[Times]) -> list[list[float | None]]:
        """Of each goal, one for each seed."""
        return [[goal.of(one) for one in times] for goal in self.goals]


def long_enough(workload: Workload, seed: int) -> int:
    """Slots in which all that ends would end one after the other: then nothing changes, unless the policy lets nodes idle."""
    started = workload.draw
    assert isinstance(started, Started)
    service, left = started(seed).service, np.array([row[2] for row in started.in_service(seed)], np.int64)
    slots = int(service[service < ENDLESS].sum()) + int(left[left < ENDLESS].max(initial=0)) + 1
    return min(slots, ENDLESS - 1)


def queue_times(workload: Workload, result: Result) -> Times:
    """The `Extract` of these runs."""
    schedule, started = result.schedule, workload.draw
    assert schedule is not None and isinstance(started, Started)
    start, end = started.times(result.seed, schedule.start, schedule.end)
    never = start < 0
    endless = np.concatenate([started.endless, started.running_endless[[*started.again]]])
    wait, end = np.where(never, NEVER, start), np.where(never, NEVER, end)
    return Times(wait, end, ~endless if started.services else np.zeros_like(never))
