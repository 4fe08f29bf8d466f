"""The rows of `packenv bench` for theory: the time for brackets on ρ* and for schedules close to their lower bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple


class Measured(NamedTuple):
    """Seconds until a gap is reached, and the target."""

    what: str
    seconds: float
    target: float


def bracket_times(traces: Path | None, repeats: int, say: Callable[[str], None]) -> Iterator[Measured]:
    """Brackets on ρ* for the paper's laws, two laws whose area bound is out of reach, and the Google trace's sizes."""
    import packenv
    from packenv.workloads.laws import Fixed, Uniform

    def setting(low: float, high: float) -> Any:
        return packenv.Workload(sizes=Uniform(low, high), service=Fixed(1), servers=5, rate=1.0)

    packenv.max_workload(setting(0.3, 0.5), 0.05)  # compiled and loaded
    for low, high in ((0.1, 0.9), (0.01, 0.19)):
        for gap, target in ((0.01, 1.0), (0.001, 10.0)):
            say(f"ρ* of sizes uniform on [{low}, {high}]")
            yield _measured(f"U[{low}, {high}]", setting(low, high), gap, target, repeats)
    for low, high in ((0.2, 0.5), (0.2, 0.35)):
        say(f"ρ* of sizes uniform on [{low}, {high}]")
        yield _measured(f"U[{low}, {high}]", setting(low, high), 0.001, 20.0, 1)
    tasks = traces / "google2011_tasks.parquet" if traces is not None else None
    if tasks is not None and tasks.exists():
        from packenv.workloads.traces import read_trace

        say("ρ* of the Google trace")
        jobs = read_trace(tasks).jobs().jobs
        yield _measured("Google trace's sizes", packenv.Workload(jobs=jobs, servers=160), 0.005, 10.0, repeats)
        jobs = read_trace(tasks).jobs(sizes="all").jobs
        yield _measured("Google trace, cpu and memory", packenv.Workload(jobs=jobs, servers="160x1:1"), 0.02, 20.0, 1)


def _measured(name: str, workload: Any, gap: float, target: float, repeats: int) -> Measured:
    """The best time of several, the check of the proof included; infinite if the gap is not reached."""
    import packenv

    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        bracket: Any = packenv.max_workload(workload, gap)
        bracket.verify(workload)
        times.append(time.perf_counter() - began if bracket.reached else float("inf"))
    return Measured(f"{name} to {gap:.1%}, proof checked", min(times), target)


def schedule_times(instances: int, say: Callable[[str], None]) -> Iterator[Measured]:
    """The slowest offline optimum of several instances of price/fig3, on all cores; nothing without OR-tools."""
    if find_spec("ortools") is None:
        return
    import packenv

    setting, limit, gap = packenv.workload("price/fig3"), 60.0, 0.05
    slowest = 0.0
    for seed in range(instances):
        say(f"the shortest schedule of price/fig3, instance {seed}")
        best = packenv.optimal_schedule(setting.at(seed), limit, gap=gap, warm_start=())
        slowest = max(slowest, best.seconds if best.gap < gap + 1e-9 else float("inf"))
    yield Measured(f"price/fig3, {instances} instances to {gap:.0%}, the slowest, all cores", slowest, limit)
