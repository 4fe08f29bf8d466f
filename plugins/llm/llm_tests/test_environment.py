"""The environment: Gymnasium's checker, masks, and an agent that does what a rule does."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
from gymnasium.utils.env_checker import check_env

from packenv_llm.environment import ReplicaEnv
from packenv_llm.replica import Replica
from packenv_llm.rules import find_rule
from packenv_llm.simulation import simulate


def small(reward: str = "waiting") -> ReplicaEnv:
    return ReplicaEnv("200+60~0.9", load=0.9, count=200, replica=Replica(blocks=150), reward=reward)


def test_gymnasium_checker_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(small(), skip_render_check=True)


def test_gymnasium_makes_it_with_the_name_of_its_module_alone() -> None:
    code = "import gymnasium; print(gymnasium.make('packenv_llm:packenv/Replica-v1', count=10).unwrapped.spec.id)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert made.stdout.strip() == "packenv/Replica-v1", made.stderr


def test_random_valid_actions_end_with_all_requests_done() -> None:
    for seed in range(4):
        env = small("response" if seed % 2 else "waiting")
        env.reset(seed=seed)
        chance = np.random.default_rng(seed)
        total, done, kinds = 0.0, False, set()
        while not done:
            mask = env.action_masks()
            assert mask.any()
            action = chance.choice(np.flatnonzero(mask))
            kinds.add(0 if action == 0 else 1 if action <= 8 else 2)
            observation, reward, done, _, info = env.step(action)
            assert env.observation_space.contains(observation) and reward <= 0
            total += reward
        assert info["done"] == 200 and kinds == {0, 1, 2}
        request = env.core.request
        assert (env.core.count[0]["free"], env.core.count[0]["running"]) == (149, 0)
        whole = (request["last"] - request["arrival"]).sum()
        np.testing.assert_allclose(-total if seed % 2 else whole, whole)
        assert seed % 2 or 0 < -total < whole


def test_first_come_first_served_is_the_rule() -> None:
    """Admit the first whenever it fits, and never preempt: the times of `sarathi`, but for admissions within a step."""
    env = ReplicaEnv("200+60~0.9", load=0.5, count=200, replica=Replica(blocks=1500))
    env.reset(seed=1)
    done = False
    while not done:
        done = env.step(np.int64(1 if env.action_masks()[1] else 0))[2]
    seed = int(np.random.Generator(np.random.PCG64(1)).integers(2**31))
    run = simulate(env.source.draw(seed, 200, env.rate), env.replica, find_rule("sarathi"))
    np.testing.assert_allclose(env.core.request["last"], run.last)


def test_a_wait_ends_at_an_arrival_a_completion_or_a_lack_of_blocks() -> None:
    """An agent that never admits of its own accord serves one request at a time, and decides a few times a request."""
    env = small()
    env.reset(seed=0)
    decisions, done = 0, False
    while not done:
        before = env.core.count[0].copy()
        mask = env.action_masks()
        done = env.step(np.int64(0))[2]
        decisions += 1
        if mask[0] and not done:
            now = env.core.count[0]
            assert any(now[key] > before[key] for key in ("arrived", "done", "preempted")) or env.short
    assert decisions <= 4 * 200
