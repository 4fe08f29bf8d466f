"""Delays of runs, by hand: quantiles of one run and of several together, and what a log keeps of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import packenv
from packenv.results.delays import Delays, rank
from packenv.runs.measured import Measured, measured
from packenv.runs.statistics import delay_quantile, share_within


def waits(*slots: int) -> Delays:
    values, tasks = np.unique(slots, return_counts=True)
    return Delays(values.astype(np.float64), tasks)


def test_quantiles_by_hand() -> None:
    """Five tasks wait 0, 0, 1, 3 and 9 slots: 40 % wait none, 60 % one at most."""
    own = waits(0, 0, 1, 3, 9)
    assert [own.quantile(share) for share in (0, 0.4, 0.41, 0.6, 0.8, 0.81, 1)] == [0, 0, 1, 1, 3, 9, 9]
    assert [own.within(slots) for slots in (-1, 0, 0.5, 3, 100)] == [0, 2, 2, 4, 5] and waits().quantile(0.5) is None
    assert rank(0.55, 100) == 55 and 0.55 * 100 > 55


def test_together_is_not_the_mean() -> None:
    """Medians of 1, 1, 1 and 2 slots have the mean 1.25; of all twelve tasks together half wait for one slot at most."""
    runs = [waits(0, 1, 5), waits(0, 1, 5), waits(1, 1, 5), waits(0, 2, 5)]
    assert np.mean([run.quantile(0.5) for run in runs]) == 1.25 and Delays.together(runs).quantile(0.5) == 1


def test_intervals() -> None:
    """Of ten tasks each, 4, 5, 5 and 6 wait for at most a slot: half of them; s = 0.8165, t = 3.182, so ± 0.1299 of a share."""
    runs = [waits(*[1] * within, *[2] * 2, *[7] * (8 - within)) for within in (4, 5, 5, 6)]
    assert share_within(runs, 1) == pytest.approx((0.5, 0.5 - 0.1299, 0.5 + 0.1299), abs=1e-4)
    assert delay_quantile(runs, 0.5) == (1, 1, 2) and delay_quantile(runs, 0.8) == (7, 2, 7)
    assert delay_quantile(runs, 0.6) == (2, 1, 7)
    assert delay_quantile(runs[:1], 0.5) == (2, None, None) and share_within([], 1).mean is None


def test_of_a_run() -> None:
    result = packenv.simulate("paper/fig4b", "bf-js", slots=20_000, intensity=0.9)
    levels = {0.5: result.delay_p50, 0.9: result.delay_p90, 0.95: result.delay_p95, 0.99: result.delay_p99}
    assert {share: result.delay_quantile(share) for share in levels} == levels and result.delays.total > 100
    assert result.delay_quantile(0.8) == np.quantile(np.repeat(*result.delays), 0.8, method="inverted_cdf")
    with pytest.raises(packenv.InputError, match="a share of the tasks is from 0 to 1, not 80"):
        result.delay_quantile(80)
    kept = Measured.from_plain(json.loads(json.dumps(measured(result).plain())))
    delays = Delays.from_plain(kept.delays)
    assert delays.total == result.delays.total
    for share, level in levels.items():
        found = delays.quantile(share)
        assert found is not None and level is not None and abs(found - level) <= level / 128


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff", "eagle"])
@pytest.mark.parametrize("warmup", [0, 5_000])
def test_delays_of_a_table_are_exact(policy: str, warmup: int) -> None:
    """Those beyond 2,048 slots too, from the schedule: here all tasks of size 1 wait for one server, up to 200,000 slots."""
    rng = np.random.default_rng(3)
    jobs = packenv.Jobs.of(np.sort(rng.integers(0, 10_000, 400)), np.ones(400), rng.integers(1, 1_000, 400), job=np.arange(400))
    workload = packenv.Workload(jobs=jobs, servers=1)
    run = packenv.simulate(workload, policy, drain=True, schedule=True, warmup=warmup)
    assert run.schedule is not None
    waited = np.sort((run.schedule.start - jobs.arrival)[jobs.arrival >= warmup])
    assert np.repeat(run.delays.slots, run.delays.tasks).tolist() == waited.tolist() and waited[-1] > 100_000
    assert run.delay_p50 == waited[rank(0.5, len(waited)) - 1] and run.mean_delay == pytest.approx(waited.mean())
