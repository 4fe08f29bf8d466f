"""Figure 4 of Zhang and Yao: how long their SAT scheduler takes, by the size of the problem. Measured is CP-SAT alone."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np

from packenv.runs.progress import progress_bar
from packenv.runs.text import counted, number
from packenv.studies.finding import Claim, Finding, Row, Settings
from packenv.studies.price.growth import Growth, compare
from packenv.studies.price.runs import LEFT_OUT, has_sat
from packenv.theory.makespan.annealing import schedule_list
from packenv.theory.makespan.cp_sat import improve
from packenv.theory.makespan.tasks import tasks_of
from packenv.workloads.named.instances import MACHINES, RESOURCES, PhasedJobs
from packenv.workloads.workload import Workload

SIZES, QUICK_SIZES = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30), (2, 4, 6)
SEEDS, QUICK_SEEDS = 8, 2
LIMIT = 10.0  # seconds by the clock; a run that is stopped then has proven nothing
SERVERS = {"fixed": "servers fixed beforehand, as the paper does", "free": "servers free"}
CLAIM = "solving time tends to be exponential in the size of the problem"


def reproduce(settings: Settings) -> Finding:
    """Instances like those of figure 3, of fewer jobs."""
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    sizes = QUICK_SIZES if settings.quick else SIZES
    rows = times(sizes, seeds) if has_sat() else []
    what = "Figure 4: CP-SAT alone on one core, instances like those of figure 3"
    title = f"{what}; {counted(seeds, 'seed')}, stopped after {LIMIT:g} s{settings.remark}"

    def draw(path: Path) -> None:
        from packenv.studies.price.plot import draw_times

        draw_times(rows, SERVERS, title, path)

    return Finding(
        "price-fig4", title, [claim_of(rows, servers) for servers in SERVERS], {"": rows or [dict.fromkeys(COLUMNS)]}, draw
    )


COLUMNS = ("servers", "jobs", "phases", "seed", "seconds", "proven", "makespan", "bound")


def times(sizes: tuple[int, ...], seeds: int) -> list[Row]:
    """One run for each size and seed. The first is made twice: it compiles the schedule that the solver begins with."""
    rows: list[Row] = []
    solve("fixed", sizes[0], 0)
    with progress_bar(lambda: "price-fig4", len(SERVERS) * len(sizes) * seeds, lambda: len(rows)):
        for jobs, seed, servers in itertools.product(sizes, range(seeds), SERVERS):
            rows.append(solve(servers, jobs, seed))
    return rows


def instances(jobs: int) -> Workload:
    return Workload(jobs=PhasedJobs(jobs, 5, (30, 30), 9), servers=MACHINES, resources=RESOURCES)


def solve(servers: str, jobs: int, seed: int, limit: float = LIMIT) -> Row:
    """Seconds of one core that CP-SAT takes to a proof, or until it is stopped; it begins with one list schedule."""
    tasks = tasks_of(instances(jobs).at(seed), fixed_allocation=servers == "fixed")
    known = schedule_list(tasks, tasks.longest_tail_first())
    began = time.process_time()
    found, bound = improve(tasks, known, limit, workers=1, seed=seed)
    took = time.process_time() - began
    ends = (took, found.makespan == bound, found.makespan * tasks.tick, bound * tasks.tick)
    return dict(zip(COLUMNS, (servers, jobs, len(tasks), seed, *ends), strict=True))


def claim_of(rows: list[Row], servers: str) -> Claim:
    """Exponential in the number of phases, if that explains the times certainly better than a power of it does."""
    claim, own = f"{CLAIM}, {SERVERS[servers]}", [row for row in rows if row["servers"] == servers]
    if not own:
        return Claim("price-fig4", claim, False, LEFT_OUT)
    size, seconds = (np.array([row[name] for row in own], float) for name in ("phases", "seconds"))
    found = compare(size, seconds, np.array([row["proven"] for row in own], np.bool_))
    fits = "; ".join(f"{name} {number(float(fit.likelihood.sum()))}" for name, fit in found.fits.items())
    says = f"{by_size(own)}; log-likelihood: {fits}; exponential over a power, per run: {found.better}"
    return Claim("price-fig4", claim, found.exponential, f"{says}{rates(found.fits)}")


def by_size(rows: list[Row]) -> str:
    """Of each number of jobs, how many were proven and the median time."""
    parts = []
    for jobs in sorted({row["jobs"] for row in rows}):
        own = [row for row in rows if row["jobs"] == jobs]
        middle = float(np.median([row["seconds"] if row["proven"] else np.inf for row in own]))
        median = f"median {number(middle, 2)} s" if np.isfinite(middle) else "median not reached"
        parts.append(f"{jobs} jobs {sum(row['proven'] for row in own)} of {len(own)} proven, {median}")
    return "; ".join(parts)


def rates(fits: dict[str, Growth]) -> str:
    """How fast either form grows."""
    rise, degree = fits["exponential"].b, fits["a power"].b
    return (
        f"; doubles with every {number(float(np.log(2)) / rise, 2)} phases, or is their power {number(degree, 2)}"
        if rise > 0
        else ""
    )
