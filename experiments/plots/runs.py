"""Pictures of runs: queues over time, and delays, by policy."""

from __future__ import annotations

import os
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from packenv.files import atomic_path
from packenv.simulation import Result
from packenv.workloads.workload import Workload

QUANTILES = ("delay_p50", "delay_p95", "delay_p99")
POINTS = 256


def draw_runs(by_policy: list[list[Result]], workload: Workload, path: str | os.PathLike[str]) -> None:
    """Left: waiting tasks over time, mean over the seeds (band: their range). Right: quantiles of the delay."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 2), layout="constrained")
    for n, runs in enumerate(by_policy):
        _draw_queue(left, runs, f"C{n}", workload.slot_seconds)
        _draw_delays(right, runs, n, len(by_policy))
    left.set_xlabel("slot" if workload.slot_seconds is None else "hours")
    left.set_ylabel("waiting tasks")
    left.set_yscale("symlog", linthresh=10)
    left.set_ylim(bottom=0)
    left.grid(alpha=0.3)
    left.legend(loc="upper left", fontsize=9)
    right.set_xticks(range(len(QUANTILES)), ["median", "95 %", "99 %"])
    right.set_ylabel("delay (slots)")
    right.set_yscale("symlog", linthresh=1)
    right.grid(axis="y", alpha=0.3)
    figure.suptitle(f"{workload.name}, {len(workload.servers)} servers, intensity {workload.intensity:.2f}")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
    plt.close(figure)


def _draw_queue(axes: Any, runs: list[Result], colour: str, slot_seconds: float | None) -> None:
    bins = min(len(run.trajectory.queue) for run in runs)
    width = runs[0].trajectory.bin_slots
    group = max(1, bins // POINTS)
    whole = bins // group
    paths = np.array([run.trajectory.queue[: whole * group].reshape(whole, group).mean(axis=1) for run in runs])
    when = (np.arange(whole) + 0.5) * width * group * (1 if slot_seconds is None else slot_seconds / 3600)
    kinds = {str(run.verdict) for run in runs}
    verdict = kinds.pop() if len(kinds) == 1 else "mixed"
    axes.plot(when, paths.mean(axis=0), color=colour, label=f"{runs[0].policy} ({verdict})")
    if len(runs) > 1:
        axes.fill_between(when, paths.min(axis=0), paths.max(axis=0), color=colour, alpha=0.15, linewidth=0)


def _draw_delays(axes: Any, runs: list[Result], n: int, policies: int) -> None:
    width = 0.8 / policies
    heights = [np.mean([getattr(run, key) or 0.0 for run in runs]) for key in QUANTILES]
    axes.bar(np.arange(len(QUANTILES)) + (n - (policies - 1) / 2) * width, heights, width, color=f"C{n}")
