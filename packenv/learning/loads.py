"""The workload of a training run at several loads, for evaluations and for evolution."""

from __future__ import annotations

from packenv.learning.settings import Settings
from packenv.workloads.workload import Workload


def workloads_at_loads(settings: Settings, count: int) -> dict[str, Workload]:
    """By label, the workload at `count` loads spread evenly over the interval that training episodes draw from.

    Only the workload itself where episodes draw no load.
    """
    workload = settings.workload
    if not settings.arrivals:
        return {workload.name: workload}
    (key, (low, high)), *_ = settings.arrivals.items()
    chosen = dict.fromkeys(low + (high - low) * n / (count - 1) for n in range(count))
    return {f"{key} {load:.3g}": _with_known_rate(workload.with_(**{key: load})) for load in chosen}


def _with_known_rate(workload: Workload) -> Workload:
    """The workload with its arrival rate in tasks per slot, where it was given as a share of ρ*."""
    if workload.load is None:
        return workload
    from packenv.theory.capacity.max_workload import resolved  # imports the solver

    return resolved(workload)
