"""Cells, records and lines of plans that begin in a cluster as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.tables import text_console
from packenv.planning.running_cluster.goals import QueueGoal
from packenv.planning.search import Trial
from packenv.runs.statistics import Interval, interval, mean_and_half
from packenv.runs.text import NONE, counted, estimate
from packenv.workloads.kubernetes.cluster import Cluster
from packenv.workloads.kubernetes.durations import Durations
from packenv.workloads.laws import Law

NEVER = "never"
"""In place of a time: in some run not all pods start."""


def seconds(values: Sequence[float | None], slot_seconds: float) -> str:
    """The mean of times in slots over the seeds, with a 95 % interval."""
    if None in values:
        return NEVER
    return estimate(*mean_and_half([value * slot_seconds for value in values if value is not None]))


def cell(trial: Trial | None, n: int, slot_seconds: float) -> str:
    return NONE if trial is None else seconds(trial.values[n], slot_seconds)


def mean_or_none(values: Sequence[float | None]) -> list[float | None]:
    """Mean and 95 % interval in slots; None where in some run not all pods start."""
    return [*(Interval(None, None, None) if None in values else interval(values))]


def print_cluster(cluster: Cluster, service: tuple[Law, ...] | Durations, nodes: int) -> None:
    """Print what the cluster is, what is assumed, and what is left out. `nodes`: those of today."""
    console = text_console()
    waiting = counted(len(cluster.waiting), "pod")
    unfit = f", {counted(len(cluster.unfit), 'pod')} waiting that fit on no node" if cluster.unfit else ""
    console.print(f"[bold]{cluster.name}[/bold]: {counted(nodes, 'node')}, {waiting} in the queue{unfit}", highlight=False)
    for line in cluster.notes(service):
        console.print(line, highlight=False, markup=False)
    if cluster.left_out:
        left_out = ", ".join(f"{count} {reason}" for reason, count in cluster.left_out.items())
        console.print(f"left out: {left_out}", highlight=False, markup=False)


def goals_record(goals: Sequence[QueueGoal], columns: dict[str, Trial | None]) -> list[dict[str, Any]]:
    """The JSON of the goals' measures in each of these trials; times are in slots."""
    return [
        {"goal": goal.text, "limit": goal.limit}
        | {name: None if trial is None else mean_or_none(trial.values[n]) for name, trial in columns.items()}
        for n, goal in enumerate(goals)
    ]
