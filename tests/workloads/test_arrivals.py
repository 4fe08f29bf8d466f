"""Arrival processes have the rate, the burstiness and the shape that they should."""

import numpy as np
import pytest

from packenv.errors import InputError
from packenv.workloads.laws import Discrete, Exponential, Fixed, Geometric, Pareto, Uniform
from packenv.workloads.laws.arrivals import Batch, Bernoulli, Modulated, Periodic, Poisson
from packenv.workloads.workload import Workload

TASKS = 200_000


def table(arrivals, rate, seed=2, tasks=TASKS):
    workload = Workload(sizes=Uniform(0.1, 0.9), service=Geometric(10), servers=1, arrivals=arrivals, rate=rate)
    return workload.jobs_table(seed, tasks)


def counts(arrivals, rate, window=1, **options):
    """Arrivals in each of the windows before the last arrival."""
    slot = table(arrivals, rate, **options).arrival
    return np.bincount(slot // window)[: slot[-1] // window]


def dispersion(count):
    return count.var() / count.mean()


@pytest.mark.parametrize("rate", [0.02, 0.7, 30.0])
def test_poisson(rate):
    count = counts(Poisson(), rate)
    assert count.mean() == pytest.approx(rate, rel=0.01)
    assert dispersion(count) == pytest.approx(1, abs=5 * np.sqrt(2 / len(count)))
    assert np.mean(count == 0) == pytest.approx(np.exp(-rate), abs=0.005)
    assert abs(np.corrcoef(count[:-1], count[1:])[0, 1]) < 5 / np.sqrt(len(count))


def test_bernoulli():
    count = counts(Bernoulli(), 0.3)
    assert set(count) == {0, 1}
    assert count.mean() == pytest.approx(0.3, rel=0.01)
    assert abs(np.corrcoef(count[:-1], count[1:])[0, 1]) < 5 / np.sqrt(len(count))


def test_bernoulli_may_use_slot_0():
    first = np.array([table(Bernoulli(), 0.3, seed, 1).arrival[0] for seed in range(2000)])
    assert np.mean(first == 0) == pytest.approx(0.3, abs=0.05)
    assert first.mean() == pytest.approx(0.7 / 0.3, abs=0.3)


@pytest.mark.parametrize("alike", [True, False])
def test_batches_arrive_together(alike):
    jobs = table(Batch(Geometric(4), alike=alike), 0.8)
    starts = np.flatnonzero(np.diff(jobs.job, prepend=-1))
    assert np.array_equal(jobs.job[starts], np.arange(len(starts)))
    assert np.array_equal(jobs.arrival, jobs.arrival[starts][jobs.job])
    like_first = (jobs.demand == jobs.demand[starts][jobs.job]).all(axis=1)
    assert like_first.all() if alike else like_first.mean() < 0.3
    sizes = np.bincount(jobs.job)[:-1]
    assert sizes.mean() == pytest.approx(4, rel=0.03) and np.mean(sizes == 1) == pytest.approx(0.25, abs=0.01)
    assert TASKS / jobs.arrival[-1] == pytest.approx(0.8, rel=0.03)
    assert len(np.unique(jobs.service[:50])) > 5


def test_batch_sizes_are_rounded_up():
    jobs = table(Batch(Uniform(0, 2)), 0.5)
    assert set(np.bincount(jobs.job)[:-1]) == {1, 2}
    assert TASKS / jobs.arrival[-1] == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("following", ["cycle", "uniform"])
def test_modulated(following):
    bursty = Modulated([1, 20, 5], [2000, 100, 400], next=following)
    count = counts(bursty, 0.5, window=50)
    assert count.mean() / 50 == pytest.approx(0.5, rel=0.1)
    assert dispersion(count) > 10
    assert dispersion(counts(Modulated([3, 3], [50, 70]), 0.5, window=50)) == pytest.approx(1, abs=0.1)


def test_modulated_starts_in_its_stationary_state():
    """So the mean number of arrivals in the first slots is rate · slots over many seeds."""
    process = Modulated([1, 9], [900, 100])
    early = [np.searchsorted(table(process, 0.5, seed, 400).arrival, 100) for seed in range(2000)]
    assert np.mean(early) == pytest.approx(50, rel=0.1)


def test_modulated_phases_do_not_depend_on_the_load():
    """On and off: at any rate, no task arrives in the same silences."""
    process = Modulated([0, 1], [500, 500])
    slow, fast = (table(process, rate, tasks=tasks).arrival for rate, tasks in ((0.5, 10_000), (5, 100_000)))
    busy = np.zeros(30_000, bool)
    busy[fast[fast < 30_000]] = True
    assert busy[slow[slow < 30_000]].mean() > 0.97 and busy.mean() < 0.75


def test_periodic():
    profile = [1, 0, 3, 4]
    slot = table(Periodic(profile, 80), 0.6).arrival
    parts = np.bincount(slot % 80 // 20, minlength=4)
    assert parts / parts.sum() == pytest.approx(np.array(profile) / 8, abs=0.005)
    assert len(slot) / slot[-1] == pytest.approx(0.6, rel=0.01)
    within = slot[slot % 80 // 20 == 2] % 20
    assert np.bincount(within).min() > 0.9 * np.bincount(within).mean()


def test_far_future_is_clipped_not_overflowed():
    late = table(Poisson(), 1e-300, tasks=3).arrival
    assert (late == 2**60).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Periodic([0, 0], 10), "all 0"),
        (lambda: Periodic([1], 0), "positive"),
        (lambda: Modulated([1, 2], [1]), "2 rates for 1"),
        (lambda: Modulated([0], [1]), "all 0"),
        (lambda: Modulated([1], [0]), "positive"),
        (lambda: Modulated([1], [1], next="random"), '"cycle" or "uniform"'),
        (lambda: Batch(3), "must be a law"),
        (lambda: Batch(Fixed(2), Batch(Fixed(2))), "another arrival process"),
        (lambda: Batch(Pareto(0.9, 1, float("inf"))), "not finite"),
        (lambda: counts(Bernoulli(), 1.0), "below 1 job per slot"),
        (lambda: counts(Batch(Discrete([2]), Bernoulli()), 2.0), "below 1 job per slot"),
        (lambda: counts("poisson", 1.0), "arrival process"),
        (lambda: counts(Batch(Exponential(4, -1)), 1.0), "above 0"),
    ],
)
def test_bad_arrivals_get_one_line(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value) and "\n" not in str(caught.value)
