"""Many short jobs and a few long ones that are most of the work, in the proportions of the traces of Hawk and Eagle.

What PAPERS §4 gives of each trace holds exactly for every seed: the share of jobs that are long, the cutoff between the
mean task durations of short and long ones, and the short jobs' share of the work. The rest is chosen here, for lack of the
traces: log-normal numbers of tasks, long jobs' mean durations Pareto above the cutoff, short ones' log-normal below it,
and tasks that vary about their job's mean, which a scheduler knows as the estimate.
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
UTILISATION = 0.9  # of the smallest cluster, by all work over the time in which jobs arrive

MEDIAN_TASKS, TASKS_SIGMA = 8, 1.2  # of a short job: 16 on average, 130 at the 99th percentile
MOST_TASKS = 1000  # of any job, so that the largest do not fill a cluster alone
LEAST_LONG, MOST_LONG = 1.1, 5.0  # a long job's mean duration over the cutoff: Pareto of shape 2 between, 1.8 on average
SHORT_SIGMA, SHORT_CUT = 0.8, 2.0  # of short jobs' mean durations, and how many sigmas from the median they end
WITHIN_SIGMA = 0.3  # of the tasks about their job's mean: as in half of the long jobs of a published sample of Google's


class Mix(NamedTuple):
    """A trace's proportions (PAPERS §4), and what is chosen here for lack of it."""

    long_jobs: float  # share of the jobs
    cutoff: float  # s: a job is long if its tasks take longer on average
    reserved: float  # the short jobs' share of the work, and so of the servers
    clusters: tuple[int, ...]  # servers
    more_tasks: float  # chosen: a long job has so many times the tasks of a short one; short durations follow from the shares
    jobs: int  # chosen: as many as arrive in some ten (Yahoo: 35) mean durations of long tasks


LARGE = (15_000, 17_000, 19_000, 21_000, 23_000)
MIXES = {
    "google": Mix(0.10, 1129.532, 0.17, LARGE, 3, 22_000),
    "cloudera": Mix(0.05, 272.783, 0.09, LARGE, 8, 19_000),
    "facebook": Mix(0.02, 76.5951, 0.02, LARGE, 20, 24_000),  # no sizes are given: those of the first
    "yahoo": Mix(0.094, 90.5811, 0.02, (4_000, 5_000, 6_000, 7_000, 8_000), 10, 8_000),
}


@dataclass(frozen=True)
class ShortAndLong:
    """`ShortAndLong(mix, jobs)(seed)` is a Jobs table, a function of the seed alone.

    Jobs arrive as a Poisson process given their number and the time in which they do. Raises InputError if there are too
    few of them for the mix's shares.
    """

    mix: Mix
    jobs: int

    def __call__(self, seed: int) -> Jobs:
        random = np.random.Generator(np.random.Philox(seed))
        is_long = random.permutation(self.jobs) < round(self.mix.long_jobs * self.jobs)
        tasks = self._tasks(random, is_long)
        mean = self._means(random, is_long, tasks, seed)
        work = float(tasks @ mean)
        arrival = np.sort(random.uniform(0, work / (UTILISATION * self.mix.clusters[0]), self.jobs))

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

    def _tasks(self, random: np.random.Generator, is_long: NDArray[np.bool_]) -> Ints:
        """(jobs,) numbers of tasks."""
        median = np.where(is_long, MEDIAN_TASKS * self.mix.more_tasks, MEDIAN_TASKS)
        tasks = np.rint(median * np.exp(TASKS_SIGMA * random.standard_normal(self.jobs)))
        return np.clip(tasks, 1, MOST_TASKS).astype(np.int64)

    def _means(self, random: np.random.Generator, is_long: NDArray[np.bool_], tasks: Ints, seed: int) -> Floats:
        """(jobs,) s that tasks take on average: the short ones' such that their share of the work is exact."""
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


def eagle(trace: str, jobs: int | None = None) -> Workload:
    """`google`, `cloudera`, `facebook` or `yahoo` on the smallest cluster of PAPERS §4, in slots of half a millisecond.

    `jobs`: how many arrive; the fewer, the shorter. `.with_(servers=…)` has the same jobs arrive at another cluster.
    """
    if trace not in MIXES:
        raise InputError(f"unknown trace {trace!r}{nearest(trace, list(MIXES))}")
    mix = MIXES[trace]
    return Workload(
        jobs=ShortAndLong(mix, mix.jobs if jobs is None else jobs),
        servers=mix.clusters[0],
        resources=("slot",),
        slot_seconds=SLOT_SECONDS,
        name=f"eagle/{trace}",
    )
