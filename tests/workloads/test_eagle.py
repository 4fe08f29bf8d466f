"""Workloads in the proportions of the traces of Hawk and Eagle (PAPERS §4)."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from packenv import InputError, Jobs, Workload, workload
from packenv.workloads.named.eagle import MIXES, MOST_TASKS, SLOT_SECONDS, UTILISATION, eagle

TABLE = {  # long jobs, cutoff (s), reserved for short ones, smallest and largest cluster
    "google": (0.10, 1129.532, 0.17, 15_000, 23_000),
    "cloudera": (0.05, 272.783, 0.09, 15_000, 23_000),
    "facebook": (0.02, 76.5951, 0.02, None, None),
    "yahoo": (0.094, 90.5811, 0.02, 4_000, 8_000),
}


def table_of(made: Workload, seed: int) -> Jobs:
    table = made.at(seed).jobs
    assert table is not None
    return table


@pytest.mark.parametrize("trace", TABLE)
@pytest.mark.parametrize("seed", [0, 5])
def test_published_proportions(trace: str, seed: int) -> None:
    """Exact but for rounding: to whole jobs, and of tasks to slots, by half a slot in a thousand at the least."""
    share, cutoff, reserved, smallest, largest = TABLE[trace]
    named = workload(f"eagle/{trace}")
    assert (smallest, largest) in ((None, None), (len(named.servers), MIXES[trace].clusters[-1]))
    assert (named.slot_seconds, named.resources, set(named.servers.capacity[:, 0])) == (0.0005, ("slot",), {1.0})
    table = table_of(named, seed)
    assert table.job is not None and table.estimate is not None
    tasks = np.bincount(table.job)
    work = np.bincount(table.job, table.service)
    assert np.bincount(table.job, table.estimate) == pytest.approx(work)  # the mean of the job's own tasks
    is_long = work / tasks * SLOT_SECONDS > cutoff
    assert abs(is_long.sum() - share * len(tasks)) <= 0.5
    assert work[~is_long].sum() / work.sum() == pytest.approx(reserved, rel=1e-3)
    assert (tasks.min(), tasks.max() <= MOST_TASKS) == (1, True)
    assert tasks[is_long].mean() > 2 * tasks[~is_long].mean()


@pytest.mark.parametrize("trace", TABLE)
def test_poisson_arrivals_that_fill_the_smallest_cluster(trace: str) -> None:
    """The work is exact; of n jobs that arrive in a time t at random the last one does at t·n/(n + 1) on average, ± t/n.

    Their numbers in a hundred stretches of the time have the variance of a Poisson law; its index has standard error .14.
    """
    named = workload(f"eagle/{trace}")
    table = table_of(named, 1)
    n = MIXES[trace].jobs
    assert table.service.sum() / table.arrival[-1] / len(named.servers) == pytest.approx(UTILISATION, rel=10 / n)
    arrival = table.arrival[np.unique(table.job, return_index=True)[1]]
    counts = np.histogram(arrival, 100)[0]
    assert counts.var() / counts.mean() == pytest.approx(1, abs=5 * 0.14)
    halves = np.bincount(table.job, table.service)[: n // 2].sum() / table.service.sum()
    assert halves == pytest.approx(0.5, abs=0.1)  # steady: no trend of the work


def test_durations_are_heavy_tailed() -> None:
    table = table_of(workload("eagle/google"), 0)
    assert table.job is not None and table.estimate is not None
    first = np.unique(table.job, return_index=True)[1]
    mean = table.estimate[first] * SLOT_SECONDS
    tasks, cutoff = np.bincount(table.job), MIXES["google"].cutoff
    short, long = mean <= cutoff, mean > cutoff
    assert np.quantile(tasks[short], 0.99) > 10 * np.median(tasks[short])
    assert 1.1 * cutoff - 1 < mean[long].min() and mean.max() < 5 * cutoff + 1
    above = [(mean[long] > times * cutoff).mean() for times in (2, 4)]  # (x⁻² − 5⁻²) / (1.1⁻² − 5⁻²)
    assert above == pytest.approx([0.267, 0.029], abs=5 * np.sqrt(0.25 / long.sum()))
    assert mean[short].max() < cutoff
    within = table.service / table.estimate
    assert np.log(within[tasks[table.job] > 100]).std() == pytest.approx(0.3, abs=0.02)


def test_a_function_of_the_seed_alone() -> None:
    made = eagle("yahoo", jobs=500)
    first, again, other = table_of(made, 3), table_of(eagle("yahoo", jobs=500), 3), table_of(made, 4)
    for name in ("arrival", "service", "job", "estimate"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert len(first) != len(other) or not np.array_equal(first.service, other.service)
    sent = pickle.loads(pickle.dumps(made))  # to another process
    assert sent == made
    assert np.array_equal(table_of(sent, 3).service, first.service)


def test_other_clusters_get_the_same_jobs() -> None:
    made = eagle("yahoo", jobs=500)
    larger = made.with_(servers=8_000)
    assert np.array_equal(table_of(larger, 2).arrival, table_of(made, 2).arrival)
    assert larger.intensity == pytest.approx(made.intensity / 2)


def test_bursts() -> None:
    """Groups of a Poisson number of jobs, 30 on average: its index of dispersion is 31, with a standard error of 6."""
    many = table_of(eagle("google", jobs=20_000, burst=30), 1)
    assert many.job is not None
    arrival = many.arrival[np.unique(many.job, return_index=True)[1]]
    groups, sizes = np.unique(arrival, return_counts=True)
    assert len(groups) == pytest.approx(20_000 / 30, rel=0.01) and sizes.mean() == pytest.approx(30, rel=0.01)
    counts = np.histogram(arrival, 60)[0]
    assert counts.var() / counts.mean() == pytest.approx(31, abs=4 * 6)
    assert many.service.sum() / many.arrival[-1] / 15_000 == pytest.approx(UTILISATION, rel=0.02)


def test_too_few_jobs_say_so() -> None:
    with pytest.raises(InputError, match=r"seed 0: 3 jobs are too few for a share of 0.094 long ones"):
        eagle("yahoo", 3)
    with pytest.raises(InputError, match=r"seed 3: 20 jobs are too few for short ones with a share of 0.17 of the work"):
        eagle("google", 20).at(3)
    with pytest.raises(InputError, match=r"unknown trace 'azure'"):
        eagle("azure")
    with pytest.raises(InputError, match=r"eagle/yahoo: burst must be at least 1, not 0"):
        eagle("yahoo", burst=0)
