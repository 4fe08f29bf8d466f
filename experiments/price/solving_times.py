"""Figure 4 of Zhang and Yao: how long their SAT scheduler takes, by the size of the problem. Measured is CP-SAT alone."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

from experiments.finding import Claim, Finding, Row, Settings
from experiments.price.runs import LEFT_OUT, has_sat
from packenv.content.charts import COLOURS, GREY
from packenv.content.text import counted, number
from packenv.report.plot_style import light_grid
from packenv.runs.progress import progress_bar
from packenv.runs.statistics import Interval, certainly_above, interval
from packenv.theory.makespan.annealing import schedule_list
from packenv.theory.makespan.cp_sat import improve
from packenv.theory.makespan.tasks import tasks_of
from packenv.workloads.named.instances import MACHINES, RESOURCES, PhasedJobs
from packenv.workloads.workload import Workload

COLUMNS = ("servers", "jobs", "phases", "seed", "seconds", "proven", "makespan", "bound")
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FORMS: dict[str, Callable[[Floats], Floats]] = {"exponential": lambda size: size, "a power": np.log}
LEAST_SPREAD = 0.01  # of the logarithm of T: times that lie on a curve exactly have no likelihood
LIKELIER = 20
STEEPEST = 100.0  # change of ln g between the smallest and the largest size, at most
HALF_LOG = 0.5 * math.log(2 * math.pi)
SIZES, QUICK_SIZES = (2, 4, 6, 8, 10, 12, 14, 16, 20, 30), (2, 4, 6)
SEEDS, QUICK_SEEDS = 8, 2
LIMIT = 10.0  # seconds by the clock; a run that is stopped then has proven nothing
SERVERS = {"fixed": "servers fixed in advance, as in the paper", "free": "servers free"}
CLAIM = "solving time tends to be exponential in the size of the problem"


def reproduce(settings: Settings) -> Finding:
    """Instances like those of figure 3, of fewer jobs."""
    seeds = settings.seeds_or(SEEDS, QUICK_SEEDS)
    sizes = QUICK_SIZES if settings.quick else SIZES
    rows = times(sizes, seeds) if has_sat() else []
    what = "Figure 4: CP-SAT alone on one core, instances like those of figure 3"
    title = f"{what}; {counted(seeds, 'seed')}, stopped after {LIMIT:g} s{settings.remark}"

    def draw() -> Figure:
        return draw_times(rows, SERVERS, title)

    return Finding(
        "price-fig4", title, [claim_of(rows, servers) for servers in SERVERS], {"": rows or [dict.fromkeys(COLUMNS)]}, draw
    )


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
    first = schedule_list(tasks, tasks.longest_tail_first())
    began = time.process_time()
    best, bound = improve(tasks, first, limit, workers=1, seed=seed)
    seconds = time.process_time() - began
    ends = (seconds, best.makespan == bound, best.makespan * tasks.tick, bound * tasks.tick)
    return dict(zip(COLUMNS, (servers, jobs, len(tasks), seed, *ends), strict=True))


def claim_of(rows: list[Row], servers: str) -> Claim:
    """Exponential in the number of phases, if that explains the times certainly better than a power of it does."""
    claim, of_servers = f"{CLAIM}, {SERVERS[servers]}", [row for row in rows if row["servers"] == servers]
    if not of_servers:
        return Claim("price-fig4", claim, False, LEFT_OUT)
    size, seconds = (np.array([row[name] for row in of_servers], float) for name in ("phases", "seconds"))
    comparison = compare(size, seconds, np.array([row["proven"] for row in of_servers], np.bool_))
    fits = "; ".join(f"{name} {number(float(fit.likelihood.sum()))}" for name, fit in comparison.fits.items())
    figures = f"{by_size(of_servers)}; log-likelihood: {fits}; exponential over a power, per run: {comparison.better}"
    return Claim("price-fig4", claim, comparison.exponential, f"{figures}{rates(comparison.fits)}")


def by_size(rows: list[Row]) -> str:
    """Of each number of jobs, how many were proven and the median time."""
    parts = []
    for jobs in sorted({row["jobs"] for row in rows}):
        of_size = [row for row in rows if row["jobs"] == jobs]
        middle = float(np.median([row["seconds"] if row["proven"] else np.inf for row in of_size]))
        median = f"median {number(middle, 2)} s" if np.isfinite(middle) else "median not reached"
        parts.append(f"{jobs} jobs {sum(row['proven'] for row in of_size)} of {len(of_size)} proven, {median}")
    return "; ".join(parts)


def rates(fits: dict[str, Growth]) -> str:
    """How fast either form grows."""
    rise, degree = fits["exponential"].b, fits["a power"].b
    return (
        f"; doubles with every {number(float(np.log(2)) / rise, 2)} phases, or is their power {number(degree, 2)}"
        if rise > 0
        else ""
    )


class Growth(NamedTuple):
    """A form of g with the parameters of the largest likelihood."""

    base: float  # t₀, seconds
    a: float
    b: float
    spread: float  # standard deviation of ln T
    likelihood: Floats  # (n,) its logarithm, by run


class Comparison(NamedTuple):
    """Both forms, and by how much the exponential explains a run better: the mean difference of log-likelihoods (Vuong 1989)."""

    fits: dict[str, Growth]
    better: Interval

    @property
    def exponential(self) -> bool:
        """Whether times grow, and the exponential explains them certainly and LIKELIER times better than a power does.

        Where both explain the runs alike, their differences are tiny and the interval alone says little.
        """
        together = [float(fit.likelihood.sum()) for fit in self.fits.values()]
        likelier = together[0] - together[1] >= math.log(LIKELIER)
        return self.fits["exponential"].b > 0 and self.better.low is not None and certainly_above(self.better, 0) and likelier


def compare(size: Floats, seconds: Floats, proven: Bools) -> Comparison:
    """Fit both forms to runs of n problems: their sizes, seconds until they ended, and whether with a proof."""
    fits = {name: fitted(form(size), seconds, proven) for name, form in FORMS.items()}
    return Comparison(fits, interval((fits["exponential"].likelihood - fits["a power"].likelihood).tolist()))


def fitted(x: Floats, seconds: Floats, proven: Bools) -> Growth:
    """The parameters of the largest likelihood for ln g = a + b x, found from several starts."""
    taken, width = np.log(seconds), float(np.ptp(x)) or 1.0
    place = (x - x.max()) / width  # from -1 to 0

    def log_likelihood(parameters: Floats) -> Floats:
        log_base, last, rise, log_spread = parameters  # `last` is ln g at the largest size
        z = (taken - np.logaddexp(log_base, last + rise * place)) / np.exp(log_spread)
        return np.asarray(np.where(proven, -0.5 * z**2 - HALF_LOG - log_spread, log_ndtr(-z)))

    low, high = float(taken.min()), float(taken.max())
    bounds = [(low - 10, high), (low - 10, high + STEEPEST), (-STEEPEST, STEEPEST), (np.log(LEAST_SPREAD), 5.0)]
    starts = [(low - 0.1, high + more, rise, 0.0) for more in (0.0, 5.0, 20.0) for rise in (0.5, high - low + more, 30.0)]
    optima = [minimize(lambda p: -log_likelihood(p).sum(), start, method="L-BFGS-B", bounds=bounds) for start in starts]
    best = min(optima, key=lambda result: float(result.fun)).x
    log_base, last, rise, log_spread = map(float, best)
    b = rise / width
    return Growth(math.exp(log_base), last - b * float(x.max()), b, math.exp(log_spread), log_likelihood(best))


def draw_times(rows: list[Row], names: dict[str, str], title: str) -> Figure:
    """Seconds on a logarithmic scale: exponential growth is a straight line. Runs that were stopped point upwards."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    all_axes = figure.subplots(1, len(names), sharey=True)
    for axes, (servers, name) in zip(all_axes, names.items(), strict=True):
        of_servers = [row for row in rows if row["servers"] == servers]
        for proven, marker, colour, label in ((True, "o", COLOURS[6], "proven optimal"), (False, "^", COLOURS[1], "stopped")):
            runs = [row for row in of_servers if row["proven"] == proven]
            size, seconds = ([row[key] for row in runs] for key in ("phases", "seconds"))
            axes.plot(size, seconds, marker, color=colour, markersize=5, alpha=0.6, label=label, linestyle="none")
        if not of_servers:
            missing = "not measured: policy sat and OR-tools\nare not installed"
            axes.text(0.5, 0.5, missing, ha="center", va="center", color=GREY, transform=axes.transAxes)
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("phases of all jobs")
        axes.set_title(name, fontsize=10, loc="left")
        light_grid(axes)
    all_axes[0].set_ylabel("seconds of one core")
    all_axes[0].legend(fontsize=9, frameon=False)
    figure.suptitle(title.replace("; ", "\n"), fontsize=10, x=0.01, ha="left")
    return figure
