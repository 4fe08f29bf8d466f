"""NextJob: that it is what it says, against the policies of packenv and sums by hand; windows of a log."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs
from packenv.envs.next_job import BESIDE, GROWTH, LEFT, LOG_DELAY, OF_JOBS, OFFERED, RESERVED, SIZE, VALID, WAITS
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.objective import SLOWDOWN, Objective, measure
from packenv.learning.settings import Settings
from packenv.results.job_times import bounded_slowdown

MODEL = packenv.workload("hpc/lublin-90")


def random_jobs(seed: int, jobs: int = 60) -> Jobs:
    """A machine that is full most of the time, with runs of a second among them and estimates that are wrong."""
    draw = np.random.default_rng(seed)
    run = np.maximum(np.exp(draw.uniform(0, 7, jobs)).astype(int), 1)
    size = 2.0 ** -draw.integers(0, 7, jobs)
    gaps = draw.exponential(0.9 * (run * size).mean(), jobs)
    return Jobs.of(np.cumsum(gaps).astype(int), size, run, estimate=run * draw.uniform(0.5, 4, jobs))


BUSY = packenv.Workload(jobs=random_jobs, servers=1, slot_seconds=1.0, processors=64, name="busy")


def make(workload: Any = BUSY, **options: Any) -> Any:
    return gym.make("packenv/NextJob-v1", workload=workload, **{"jobs": None} | options)


def play(env: Any, seed: int, choose: Any) -> tuple[list[float], dict[str, Any]]:
    """The rewards of an episode, and its last info."""
    _, info = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(choose(np.flatnonzero(info["action_mask"])))
        assert env.observation_space.contains(observation)
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info


@pytest.mark.parametrize(("backfill", "policy"), [(False, "fifo-ff:order={}"), (True, "easy:order={}")])
@pytest.mark.parametrize("options", [{}, {"window": 8}])
def test_always_the_same_action_is_the_policy_of_that_order(backfill: bool, policy: str, options: dict[str, Any]) -> None:
    env = make(backfill=backfill, record_schedule=True, **options)
    for seed, (n, order) in enumerate(enumerate(("saf",) if options else OFFERED)):
        _, info = play(env, seed, lambda valid, n=n: valid[n])
        run = packenv.simulate(BUSY, policy.format(order), None, info["seed"], drain=True, schedule=True)
        assert run.schedule is not None
        np.testing.assert_array_equal(env.unwrapped.schedule()[0], run.schedule.start)


def test_orders_that_all_put_the_same_job_first_are_not_asked() -> None:
    """The first of three is the shortest and smallest, and has room; of the others the shorter one is the larger.

    Only shares are known: f1 sees 1 to 3 processors.
    """
    table = Jobs.of([0, 1, 1, 1], [0.75, 0.25, 0.5, 0.75], [100, 10, 30, 20])
    workload = packenv.Workload(jobs=table, servers=1, slot_seconds=1.0)
    seen, info = make(workload, order=("sjf", "smallest", "f1"), observation="actions").reset(seed=0)
    assert info["slot"] == 1 and info["action_mask"].all()
    np.testing.assert_allclose(seen["actions"][:, SIZE], [0.75, 0.5, 0.5])
    assert seen["context"][GROWTH] == pytest.approx(np.log1p(10 / 30 + 10 / 20) / 5)


@pytest.mark.parametrize("backfill", [False, True])
def test_rewards_add_up_to_the_mean_bounded_slowdown_and_wait(backfill: bool) -> None:
    for seed in range(4):
        sums = {}
        for reward in ("slowdown", "wait"):
            draw = np.random.default_rng(seed)
            env = make(backfill=backfill, reward=reward, record_schedule=True, yardstick=True, baseline="easy:order=wfp3")
            rewards, info = play(env, seed, draw.choice)
            sums[reward] = -sum(rewards)
        table = random_jobs(info["seed"])
        wait = env.unwrapped.schedule()[0] - table.arrival
        slowdown = bounded_slowdown(wait, table.service, 10.0).mean()
        assert sums["slowdown"] == pytest.approx(slowdown) == info["mean_slowdown"]
        assert sums["wait"] == pytest.approx(wait.mean() / table.service.mean())
        assert info["baseline_slowdown"] == pytest.approx(
            measure(BUSY, "easy:order=wfp3", None, info["seed"], Objective(SLOWDOWN))[0]
        )


def test_a_reservation_by_hand() -> None:
    """Four processors, of which three run until slot 100; long (1 of 4), wide (all), short (1 of 4) and wide wait."""
    table = Jobs.of([0, 1, 1, 1], [0.75, 1.0, 0.25, 0.25], [100, 50, 120, 90])
    env = make(
        packenv.Workload(jobs=table, servers=1, slot_seconds=1.0, processors=4), backfill=True, window=8, observation="actions"
    )
    seen, info = env.reset(seed=0)
    assert info["slot"] == 1
    rows = seen["actions"]  # by area: 22.5, 30, 50
    assert rows[:, VALID].tolist() == [1, 1, 1] + [0] * 5
    np.testing.assert_allclose(rows[:3, SIZE], [0.25, 0.25, 1])
    assert rows[:3, WAITS].tolist() == [0, 0, 1]
    np.testing.assert_allclose(rows[:3, LOG_DELAY], [0, 0, np.log1p(99 / 10) / 10], rtol=1e-6)
    np.testing.assert_allclose(rows[:3, LEFT], [0, 0, 0])
    # The wide one is to start in slot 100. The short one is over by then and starts unasked; the long one would not be.
    _, _, _, _, info = env.step(2)
    assert info["slot"] == 91 and info["action_mask"].sum() == 2
    _, _, _, _, info = env.step(1)  # the wide one again,
    assert info["slot"] == 100 and info["action_mask"].sum() == 2
    _, _, over, _, info = env.step(1)  # and when it fits
    assert over and info["slot"] == 150 + 120
    assert info["mean_slowdown"] == pytest.approx((1 + 1 + 149 / 50 + (149 + 120) / 120) / 4)


def test_beside_a_reservation_by_hand() -> None:
    """As above, with a wide one that leaves a quarter: the long one may start beside it."""
    table = Jobs.of([0, 1, 1, 1], [0.75, 0.75, 0.25, 0.25], [100, 50, 120, 90])
    env = make(
        packenv.Workload(jobs=table, servers=1, slot_seconds=1.0, processors=4), backfill=True, window=8, observation="actions"
    )
    env.reset(seed=0)
    seen, _, _, _, info = env.step(2)
    assert info["slot"] == 1 and info["action_mask"].sum() == 2
    assert seen["context"][RESERVED] == 1 and seen["context"][BESIDE] == pytest.approx(0.25)


def test_an_agent_plays_the_same_in_the_compiled_loop() -> None:
    settings = Settings(
        BUSY, environment="NextJob", network="sum", reward="slowdown", guard=None, types=16, options={"backfill": True}
    )
    draw = np.random.default_rng(0)
    weights = {
        "actor.of_action": draw.normal(size=len(OF_JOBS.of_action)),
        "actor.of_context": draw.normal(size=len(OF_JOBS.of_context)),
    }
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    agent = SavedAgent("drawn", agent_metadata(settings, "", 0, "last", {}), weights)
    env = make(backfill=True, window=16, observation="actions")
    seen, info = env.reset(seed=7)
    over = False
    while not over:
        score = seen["actions"] @ weights["actor.of_action"] + seen["actions"][:, WAITS] * (
            seen["context"] @ weights["actor.of_context"]
        )
        seen, _, over, _, info = env.step(int(np.argmax(np.where(info["action_mask"], score, -np.inf))))
    assert measure(BUSY, agent, None, info["seed"], Objective(SLOWDOWN))[0] == pytest.approx(info["mean_slowdown"])


def test_windows_are_jobs_in_a_row_by_the_clock_of_the_log() -> None:
    table = MODEL.at(3).jobs
    assert table is not None
    log = MODEL.with_(jobs=table, began=1000.0)
    later = log.windows(50, between=(0.5, 1))
    firsts = set()
    for seed in range(20):
        part = later.at(seed)
        assert part.jobs is not None and len(part.jobs) == 50 and part.jobs.arrival[0] == 0
        first = int(np.flatnonzero(table.arrival == part.began - 1000)[0])
        firsts.add(first)
        assert 5000 <= first <= 9950
        np.testing.assert_array_equal(part.jobs.service, table.service[first : first + 50])
        np.testing.assert_array_equal(part.jobs.arrival, table.arrival[first : first + 50] - table.arrival[first])
    assert len(firsts) > 10
    assert packenv.simulate(later, "easy:order=f1", None, 0, drain=True).started == 50


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"workload": "paper/fig4b"}, "paper/fig4b is a stream of tasks"),
        ({"workload": "analytics"}, "belong to jobs"),
        ({"jobs": 61}, "jobs=61: busy has 60 jobs; give `jobs` from 1 to 60"),
        ({"workload": BUSY.with_(servers=2)}, "one machine and one resource, not 2 and 1"),
        ({"order": "wfp3"}, "an order that does not change as they wait, not 'wfp3'"),
        ({"order": "safe"}, "did you mean saf"),
        ({"order": ["saf", "f5"]}, "unknown order 'f5'"),
        ({"order": []}, "order needs at least one order"),
        ({"backfill": "easy"}, "unknown backfill 'easy'"),
        ({"observation": "full"}, "'actions' and 'normalized', not 'full'"),
        ({"guard": "bf-js"}, "guard: NextJob has no such argument"),
    ],
)
def test_what_cannot_be(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        make(**{"jobs": 50} | options)


def test_only_it_measures_slowdowns() -> None:
    with pytest.raises(InputError, match="JobFill does not measure it; NextJob does"):
        gym.make("packenv/JobFill-v1", reward="slowdown")
