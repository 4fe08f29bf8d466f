"""Reads the `Result` and the `Schedule` of a run from the counters and arrays of its cluster."""

from __future__ import annotations

import numpy as np

from packenv.cluster.outcome.measures import delay_values
from packenv.cluster.state import Cluster
from packenv.results.delays import Delays
from packenv.results.result import Result, Trajectory
from packenv.results.schedule import Schedule
from packenv.results.stability import judge_run
from packenv.units import UNIT
from packenv.workloads.workload import Workload


def schedule_of(cluster: Cluster) -> Schedule:
    """Starts, servers and ends of the rows that have arrived; empty if the cluster records no schedule."""
    measures, rows = cluster.measures, int(cluster.head["arrived"][0])
    source = measures.source[0, :rows] if measures.source.shape[1] > 0 else None
    return Schedule(measures.start[0, :rows], measures.server[0, :rows], measures.end[0, :rows], source)


def result_of(cluster: Cluster, policy: str, workload: Workload, seed: int, seconds: float, stopped: str | None) -> Result:
    """The result of the run that `cluster` has just finished, without its schedule and the measures that need one.

    `seconds` is the time of the loop; `stopped` says why the run ended early, or is None.
    """
    head = cluster.head[0]
    measured = int(head["measured"])
    capacity = cluster.capacity.sum(axis=0).astype(np.float64)
    used = cluster.measures.used[0] / max(measured, 1)
    trajectory = _trajectory(cluster)
    delays = _delays(cluster)
    return Result(
        policy=policy,
        workload=workload.name,
        servers=len(cluster.capacity),
        seed=seed,
        slots=int(head["now"]),
        warmup=int(head["warmup"]),
        arrived=int(head["arrived"]),
        started=int(head["started"]),
        completed=int(head["completed"]),
        waiting=int(head["waiting"] + head["held_back"] + head["released"] - head["next_released"]),
        mean_queue=int(head["queue_sum"]) / measured if measured else None,
        max_queue=int(head["queue_max"]) if measured else None,
        mean_waiting_size=float(head["size_sum"]) / measured / UNIT if measured else None,
        mean_delay=int(head["delay_sum"]) / int(head["delay_count"]) if head["delay_count"] else None,
        delay_p50=delays.quantile(0.5),
        delay_p90=delays.quantile(0.9),
        delay_p95=delays.quantile(0.95),
        delay_p99=delays.quantile(0.99),
        delay_p999=delays.quantile(0.999),
        max_delay=int(head["delay_max"]) if head["delay_count"] else None,
        utilisation=tuple(used[r] / capacity[r] if measured and capacity[r] else None for r in range(len(used))),
        verdict=judge_run(trajectory.waiting_size, trajectory.bin_slots, workload.mean_service, workload.intensity),
        load=workload.load,
        rho=workload.rho,
        stopped=stopped,
        seconds=seconds,
        tasks_per_second=int(head["started"]) / max(seconds, 1e-9),
        trajectory=trajectory,
        delays=delays,
    )


def _trajectory(cluster: Cluster) -> Trajectory:
    """The queue in every bin that the run has completed."""
    width = int(cluster.head["bin_slots"][0])
    whole = int(cluster.head["now"][0]) // width
    bins = cluster.measures.bins[0, :whole] / width
    return Trajectory(width, bins[:, 0].copy(), bins[:, 1] / UNIT)


def _delays(cluster: Cluster) -> Delays:
    counts = cluster.measures.delays[0]
    occurred = np.flatnonzero(counts)
    return Delays(delay_values()[occurred], counts[occurred])
