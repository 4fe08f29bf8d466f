"""Figure 4 of seed 002: how long the SAT scheduler takes, by the number of jobs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from packenv.api import simulate
from packenv.runs.statistics import interval
from packenv.runs.text import counted, number
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.studies.price.runs import LEFT_OUT, has_sat
from packenv.workloads.named.instances import MACHINES, RESOURCES, PhasedJobs
from packenv.workloads.workload import Workload

SIZES, QUICK_SIZES = (2, 4, 6, 8, 12, 16, 20, 30), (2, 4, 6)
SEEDS, QUICK_SEEDS = 3, 1
CLAIM = "solving time tends to be exponential in the size of the problem"


def reproduce(settings: Settings) -> Finding:
    """Instances like those of figure 3, of fewer jobs."""
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    sizes = QUICK_SIZES if settings.quick else SIZES
    rows = times(sizes, seeds) if has_sat() else [{"jobs": jobs, "seed": None, "seconds": None} for jobs in sizes]
    title = f"Figure 4: time of the SAT scheduler, instances like those of figure 3; {counted(seeds, 'seed')}{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.price.plot import draw_times

        draw_times(rows, title, path)

    return Finding("price-fig4", title, [claim_of(rows)], {"": rows}, draw)


def times(sizes: tuple[int, ...], seeds: int) -> list[Row]:
    """Seconds of whole runs, the solver's share is nearly all; the first one, which compiles, is made twice."""
    rows: list[Row] = []
    simulate(instances(sizes[0]), "sat")
    for jobs in sizes:
        for seed in range(seeds):
            began = time.perf_counter()
            simulate(instances(jobs), "sat", seed=seed)
            rows.append({"jobs": jobs, "seed": seed, "seconds": time.perf_counter() - began})
    return rows


def instances(jobs: int) -> Workload:
    return Workload(jobs=PhasedJobs(jobs, 5, (30, 30), 9), servers=MACHINES, resources=RESOURCES)


def claim_of(rows: list[Row]) -> Claim:
    """Exponential: a straight line through the logarithm of the time fits better than one on logarithms of both."""
    known = [row for row in rows if row["seconds"] is not None]
    if not known:
        return Claim("price-fig4", CLAIM, False, LEFT_OUT)
    size, seconds = np.array([row["jobs"] for row in known], float), np.log([row["seconds"] for row in known])
    left = {name: residual(x, seconds) for name, x in (("exponential", size), ("a power", np.log(size)))}
    each = {jobs: interval([row["seconds"] for row in known if row["jobs"] == jobs]).mean for jobs in sorted(set(size))}
    says = ", ".join(f"{number(mean)} s for {jobs:g} jobs" for jobs, mean in each.items())
    fits = f"residual of the logarithm: {', '.join(f'{name} {number(value)}' for name, value in left.items())}"
    return Claim("price-fig4", CLAIM, left["exponential"] < left["a power"], f"{says}; {fits}")


def residual(x: np.ndarray, y: np.ndarray) -> float:
    """Standard deviation from the best straight line."""
    return float(np.std(y - np.polyval(np.polyfit(x, y, 1), x)))
