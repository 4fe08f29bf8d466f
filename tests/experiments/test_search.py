"""The search that knows all jobs beforehand: every schedule of five jobs, and never worse than the best order."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from experiments.rlscheduler.search import problem_of, search
from packenv import Jobs


def machine(seed: int, jobs: int) -> packenv.Workload:
    """Sixteen processors that are short of room: most jobs come while the first ones run."""
    draw = np.random.default_rng(seed)
    submitted = np.sort(draw.integers(0, 10 * jobs, jobs))
    run = draw.integers(1, 200, jobs)
    table = Jobs.of(submitted - submitted[0], draw.integers(1, 17, jobs) / 16, run, estimate=run)
    return packenv.Workload(jobs=table, servers=1, slot_seconds=1.0, processors=16)


def least(env: Any, before: tuple[int, ...] = ()) -> float:
    """The least mean bounded slowdown of all ways to go on after these actions."""
    over, (_, info) = False, env.reset(seed=0)
    for action in before:
        _, _, over, _, info = env.step(action)
    if over:
        return info["mean_slowdown"]
    return min(least(env, (*before, action)) for action in np.flatnonzero(info["action_mask"]).tolist())


@pytest.mark.parametrize("backfill", [False, True])
def test_a_wide_search_of_five_jobs_is_as_good_as_all_schedules(backfill: bool) -> None:
    better = 0
    for seed in (0, 1, 11, 34, 70, 71):
        workload = machine(seed, 5)
        env = gym.make("packenv/NextJob-v1", workload=workload, jobs=None, backfill=backfill, window=8)
        found = search(problem_of(workload, backfill), width=120)
        assert found.best == pytest.approx(least(env))
        better += found.best < min(found.orders.values()) - 1e-9
    assert better > 0  # no order finds all of them


@pytest.mark.parametrize(("backfill", "policy"), [(False, "fifo-ff:order={}"), (True, "easy:order={}")])
def test_orders_are_packenvs_own_and_the_search_is_not_worse(backfill: bool, policy: str) -> None:
    for seed in range(3):
        workload = machine(seed, 60)
        narrow, wide = (search(problem_of(workload, backfill), width) for width in (1, 4))
        assert narrow.orders == wide.orders
        for order in ("saf", "smallest", "f1", "wfp3"):
            response = packenv.simulate(workload, policy.format(order), drain=True).response
            assert response is not None and narrow.orders[order] == pytest.approx(response.mean_slowdown)
        assert max(narrow.best, wide.best) < min(narrow.orders.values())
