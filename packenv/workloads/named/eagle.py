"""Many short and a few long jobs, as in Hawk and Eagle.

The proportions of PAPERS §4 hold exactly for every seed: the share of the jobs that are long, the cutoff between the mean task
durations of short and long jobs, and the share of the work of short jobs. The rest is chosen here, because the traces are not
available. The number of tasks is log-normal. The mean duration of a long job is Pareto above the cutoff, of a short one
log-normal below it. Durations vary around the mean of their job, which schedulers know as the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.errors import InputError, nearest
from packenv.jobs import Jobs
from packenv.workloads.workload import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLOT_SECONDS = 0.0005  # the network's delay, one way
UTILISATION = 0.9  # of the smallest cluster: all work / its capacity while jobs arrive

MEDIAN_TASKS, TASKS_SIGMA = 8, 1.2  # of a short job: 16 on average, 130 at the 99th percentile
MOST_TASKS = 1000  # of any job, so that no job fills a cluster alone
LEAST_LONG, MOST_LONG = 1.1, 5.0  # range of a long job's mean duration / cutoff: Pareto of shape 2, 1.8 on average
SHORT_SIGMA, SHORT_CUT = 0.8, 2.0  # of short jobs' mean durations, which are cut off this many sigmas from the median
WITHIN_SIGMA = 0.3  # of durations within a job: as in half of the long jobs of a published sample of Google's trace


class Mix(NamedTuple):
    """Proportions of a trace (PAPERS §4), the last two chosen here."""

    long_jobs: float  # share of the jobs
    cutoff: float  # s: a job is long if its tasks take longer on average
    reserved: float  # the short jobs' share of the work, and so of the servers
    clusters: tuple[int, ...]  # servers
    more_tasks: float  # chosen: how many times the tasks of a short job a long one has; short durations follow
    jobs: int  # chosen: the number that arrives in about ten (Yahoo: 35) mean durations of long tasks


LARGE = (15_000, 17_000, 19_000, 21_000, 23_000)
MIXES = {
    "google": Mix(0.10, 1129.532, 0.17, LARGE, 3, 22_000),
    "cloudera": Mix(0.05, 272.783, 0.09, LARGE, 8, 19_000),
    "facebook": Mix(0.02, 76.5951, 0.02, LARGE, 20, 24_000),  # no sizes are given: those of Google
    "yahoo": Mix(0.094, 90.5811, 0.02, (4_000, 5_000, 6_000, 7_000, 8_000), 10, 8_000),
}


@dataclass(frozen=True)
class ShortAndLong:
    """Function from a seed to a Jobs table.

    Groups of `burst` jobs on average arrive together, by a Poisson process conditioned on their number and on the time until the
    last arrival. Raises InputError if there are too few jobs for the shares of the mix.
    """

    mix: Mix
    jobs: int
    burst: int = 1

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        is_long = random.permutation(self.jobs) < round(self.mix.long_jobs * self.jobs)
        tasks = self._tasks(random, is_long)
        mean = self._means(random, is_long, tasks, seed)
        work = float(tasks @ mean)
        arrival = self._arrivals(random, work / (UTILISATION * self.mix.clusters[0]))

        # Durations vary around the mean of their job, with the same sum.
        job = np.repeat(np.arange(self.jobs), tasks)
        first = np.cumsum(tasks) - tasks
        about = np.exp(WITHIN_SIGMA * random.standard_normal(len(job)))
        seconds = about * (mean * tasks / np.add.reduceat(about, first))[job]
        service = np.maximum(np.rint(seconds / SLOT_SECONDS), 1).astype(np.int64)
        return Jobs.of(
            np.floor(arrival / SLOT_SECONDS)[job],
            np.ones(len(job)),
            service,
            job=job,
            estimate=(np.add.reduceat(service, first) / tasks)[job],
        )

    def _arrivals(self, random: np.random.Generator, end: float) -> Floats:
        """Draw ascending seconds (jobs,) below `end`."""
        together = random.uniform(0, end, -(-self.jobs // self.burst))
        return np.sort(together if self.burst == 1 else random.choice(together, self.jobs))

    def _tasks(self, random: np.random.Generator, is_long: NDArray[np.bool_]) -> Ints:
        median = np.where(is_long, MEDIAN_TASKS * self.mix.more_tasks, MEDIAN_TASKS)
        tasks = np.rint(median * np.exp(TASKS_SIGMA * random.standard_normal(self.jobs)))
        return np.clip(tasks, 1, MOST_TASKS).astype(np.int64)

    def _means(self, random: np.random.Generator, is_long: NDArray[np.bool_], tasks: Ints, seed: int) -> Floats:
        """Draw each job's mean seconds per task (jobs,), short ones scaled."""
        cutoff, reserved = self.mix.cutoff, self.mix.reserved
        u = random.uniform(size=self.jobs)
        long = cutoff / np.sqrt(LEAST_LONG**-2 - u * (LEAST_LONG**-2 - MOST_LONG**-2))
        short = np.exp(SHORT_SIGMA * np.clip(random.standard_normal(self.jobs), -SHORT_CUT, SHORT_CUT))
        long_work, short_work = float(tasks @ (long * is_long)), float(tasks @ (short * ~is_long))
        if not (long_work and short_work):
            raise InputError(f"seed {seed}: {self.jobs} jobs are too few for a share of {self.mix.long_jobs:g} long ones")
        short *= long_work * reserved / (1 - reserved) / short_work
        if short[~is_long].max() >= cutoff:
            raise InputError(f"seed {seed}: {self.jobs} jobs are too few for short ones with a share of {reserved:g} of the work")
        return np.where(is_long, long, short)


def eagle(trace: str, jobs: int | None = None, burst: int = 1) -> Workload:
    """Return `google`, `cloudera`, `facebook` or `yahoo` on its smallest cluster.

    Slots are half a millisecond. `jobs` arrive in a proportional time, `burst` of them together on average. `.with_(servers=…)`
    lets the same jobs arrive at another cluster. Raises InputError for an unknown trace or burst < 1. Source: PAPERS §4.
    """
    if trace not in MIXES:
        raise InputError(f"unknown trace {trace!r}{nearest(trace, list(MIXES))}")
    if burst < 1:
        raise InputError(f"eagle/{trace}: burst must be at least 1, not {burst}")
    mix = MIXES[trace]
    return Workload(
        jobs=ShortAndLong(mix, mix.jobs if jobs is None else jobs, burst),
        servers=mix.clusters[0],
        resources=("slot",),
        slot_seconds=SLOT_SECONDS,
        name=f"eagle/{trace}",
    )
