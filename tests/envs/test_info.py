"""What `info` says: the same keys at every step, numbers only, and measures of the episode that agree with `simulate`."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers.vector import NumpyToTorch
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

import packenv
from packenv.envs import PolicyAgent, Warm
from packenv.envs.registration import FORMER
from packenv.testing import check_environment
from tests.envs.conftest import Player
from tests.envs.grid import KINDS, PAIR
from tests.envs.playing import plain_env, plain_sb3, plain_vec


@pytest.mark.parametrize("kind", KINDS)
def test_only_guarded_episodes_say_so(kind: str) -> None:
    """The rest of what `info` promises: packenv.testing, on every environment (test_checkers.py)."""
    check_environment(kind, **FORMER[kind] | {"horizon": 200, "guard": "bf-js"})
    for options in ({}, {"guard": "bf-js"}):
        env = plain_env(kind, horizon=200, **options)
        choose, (_, info), over = Player(0), env.reset(seed=0), False
        while not over:
            assert ("guarded" in info) == ("guard" in options)
            _, _, terminated, truncated, info = env.step(choose(info))
            over = terminated or truncated
            assert (info["reason"] != 0) == over


def test_measures_of_the_episode_are_those_of_a_run() -> None:
    """The same policy on the same jobs, through the environment and through `simulate`; two resources: the busier one."""
    for workload in (packenv.workload("paper/fig4b"), PAIR):
        env = plain_env("Placement", workload=workload, rule="window", window=1000, horizon=3000)
        agent = PolicyAgent("fifo-ff", env)
        observation, info = env.reset(seed=5)
        over = False
        while not over:
            observation, _, _, over, info = env.step(agent.predict(observation)[0])
        run = packenv.simulate(workload, "fifo-ff", slots=3000, seed=5, warmup=0)
        assert info["mean_queue"] == pytest.approx(run.mean_queue)
        assert info["mean_delay"] == pytest.approx(run.mean_delay)
        assert info["mean_waiting_size"] == pytest.approx(run.mean_waiting_size)
        assert info["utilisation"] == pytest.approx(max(share for share in run.utilisation if share is not None))


def test_measures_of_a_warm_start_begin_with_the_episode() -> None:
    env = plain_env("ServerFill", start=Warm("bf-js", 5000), horizon=20)
    _, info = env.reset(seed=0)
    assert info["slot"] >= 5000
    over = False
    while not over:
        _, _, _, over, info = env.step(int(info["action_mask"].argmax()))
    assert info["slot"] == 5020
    assert 0.5 < info["utilisation"] <= 1  # of these 20 slots, in which five servers of a busy cluster run


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_seeds_survive_autoreset(mode: str) -> None:
    """Every episode of a batch can be replayed from the seed that `info` has."""
    envs: Any = plain_vec("ServerFill", num_envs=3, vectorization_mode="vector_entry_point", autoreset_mode=mode, horizon=150)
    _, info = envs.reset(seed=7)
    seeds = [[int(seed)] for seed in info["seed"]]
    queues: list[list[float]] = [[], [], []]
    while min(len(own) for own in queues) < 3:
        _, _, _, truncated, info = envs.step(info["action_mask"].argmax(axis=1))
        last = info["final_info"] if mode == "SameStep" and truncated.any() else info
        for row in range(3):
            assert not info["_reason"][row] or (info["reason"][row] != 0) == truncated[row]
            if truncated[row]:
                assert last["seed"][row] == seeds[row][-1]
                queues[row].append(float(last["mean_queue"][row]))
            if info["seed"][row] != seeds[row][-1]:
                seeds[row].append(int(info["seed"][row]))
    single = plain_env("ServerFill", horizon=150)
    for row in range(3):
        for seed, wanted in zip(seeds[row], queues[row], strict=False):
            _, info = single.reset(seed=seed)
            over = False
            while not over:
                _, _, _, over, info = single.step(int(info["action_mask"].argmax()))
            assert info["mean_queue"] == wanted


def test_infos_can_become_tensors() -> None:
    envs: Any = NumpyToTorch(plain_vec("Placement", num_envs=2, vectorization_mode="vector_entry_point", horizon=40))
    _, info = envs.reset(seed=0)
    for _ in range(60):
        _, _, _, _, info = envs.step(info["action_mask"].argmax(dim=1))
    assert info["reason"].dtype.is_floating_point is False


def test_sb3_is_told_what_a_monitor_would_say() -> None:
    options = {"horizon": 200, "order": "index"}
    env = plain_sb3("ServerFill", 2, seed=1, **options)
    single = Monitor(plain_env("ServerFill", **options), info_keywords=("mean_queue", "utilisation"))
    _, info = single.reset(seed=1)
    over = False
    while not over:
        _, _, _, over, info = single.step(int(info["action_mask"].argmax()))
    env.reset()
    done = np.zeros(2, np.bool_)
    while not done[0]:
        _, _, done, infos = env.step(env.action_masks().argmax(axis=1))
    told = infos[0]
    assert told["episode"]["l"] == info["episode"]["l"]
    assert told["episode"]["r"] == pytest.approx(info["episode"]["r"], abs=1e-5)
    assert told["mean_queue"] == pytest.approx(info["episode"]["mean_queue"], abs=1e-6)
    assert told["seed"] == 1 and env.reset_infos[0]["seed"] not in (1, 2)
    assert env.env_is_wrapped(Monitor) == [True, True] and env.env_is_wrapped(gym.Wrapper) == [False, False]
    fresh = plain_sb3("ServerFill", 2, seed=1, **options)
    plain = evaluate_policy(PolicyAgent("bf-s", fresh), fresh, n_eval_episodes=4, return_episode_rewards=True)
    again = plain_sb3("ServerFill", 2, seed=1, **options)
    assert evaluate_policy(PolicyAgent("bf-s", again), VecMonitor(again), 4, return_episode_rewards=True)[1] == plain[1]


def test_a_specification_survives_json() -> None:
    env = plain_env("ServerFill", start=Warm("vqs", 50), intensity=(0.5, 0.6), horizon=30)
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    first, second = env.reset(seed=3)[0], again.reset(seed=3)[0]
    assert json.loads(env.spec.to_json())["kwargs"]["start"] == ["vqs", 50]
    assert all((first[key] == second[key]).all() for key in first)


def test_libraries_that_try_an_argument_find_out_how_others_say_it() -> None:
    """TorchRL passes `frameskip` and tries again without, after a TypeError with these words."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
        plain_env("ServerFill", frameskip=1)


def test_no_reward_is_minus_zero() -> None:
    for reward in ("queue", "delay"):
        env = plain_env("ServerFill", reward=reward, intensity=0.1, horizon=200)
        choose, (_, info) = Player(0), env.reset(seed=0)
        over, zeros = False, 0
        while not over:
            _, got, _, over, info = env.step(choose(info))
            zeros += got == 0
            assert not np.signbit(got) or got < 0
        assert zeros > 0
