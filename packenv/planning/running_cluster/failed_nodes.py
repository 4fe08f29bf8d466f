"""What if nodes of a cluster as it is fail or are drained: the same pods with and without these nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from packenv.planning.running_cluster.goals import NEVER, Times
from packenv.planning.running_cluster.trials import QueueRuns
from packenv.planning.search import Trial, mean_of
from packenv.workloads.kubernetes.changed import without_nodes
from packenv.workloads.kubernetes.cluster import Cluster
from packenv.workloads.kubernetes.started import Started


class FailedNodes(NamedTuple):
    """One policy, on the same seeds. The goals' measures are of the same pods in both: those that wait, and that start again."""

    policy: str
    whole: Trial  # with all nodes: pods that run wait for nothing
    left: Trial  # without those that fail
    later: tuple[list[float | None], list[float | None]]
    """Mean slots by which pods that wait now, and those that start again, start later, seed by seed; None: some never start."""

    def change(self, n: int) -> list[float | None]:
        """By how much the measure of goal n grows, seed by seed; None where a run has none."""
        pairs = zip(self.whole.values[n], self.left.values[n], strict=True)
        return [None if whole is None or left is None else left - whole for whole, left in pairs]


def compare_nodes(runs: QueueRuns, cluster: Cluster, names: Sequence[str], seeds: Sequence[int]) -> FailedNodes:
    """Run a policy on the cluster as it is, and without these nodes. Pods for which no node is left are `stranded` in both."""
    left = without_nodes(cluster, names)
    before, after = _as_it_is(runs, cluster, left, seeds), runs.times(left, seeds)
    values = runs.values(before)
    met = [goal.met(mean_of(own)) for goal, own in zip(runs.goals, values, strict=True)]
    whole = Trial(len(cluster.nodes), values, stable=True, queued=False, met=met)
    waits = len(left.waiting)
    later = [[_later(a, b, rows) for a, b in zip(before, after, strict=True)] for rows in (slice(waits), slice(waits, None))]
    return FailedNodes(runs.policy, whole, runs.trial(left, after), (later[0], later[1]))


def _as_it_is(runs: QueueRuns, cluster: Cluster, left: Cluster, seeds: Sequence[int]) -> list[Times]:
    """Of the same pods as without the nodes, in the same order: those of the nodes run on, and wait for nothing."""
    whole = [Times(own.wait[left.row], own.end[left.row], own.ends[left.row]) for own in runs.times(cluster, seeds)]
    if not left.again:
        return whole
    started, again = runs.workload(left).draw, [*left.again]
    assert isinstance(started, Started)
    now, ends = np.zeros(len(again), np.int64), ~started.running_endless[again] & bool(started.services)
    begun = [Times(now, started.remaining(seed)[again], ends) for seed in seeds]
    return [a.joined(b) for a, b in zip(whole, begun, strict=True)]


def _later(before: Times, after: Times, rows: slice) -> float | None:
    first, second = before.wait[rows], after.wait[rows]
    if len(first) == 0 or NEVER in first or NEVER in second:
        return None
    return float((second - first).mean())
