"""A new environment is one file and one line of the registry: it has all interfaces, with no change elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import stable_baselines3.common.env_checker as sb3_checker
from gymnasium.utils.env_checker import data_equivalence

from packenv import InputError, simulate, workload
from packenv.envs import PackVecEnv, PolicyAgent
from packenv.envs.registration import ENVIRONMENTS, register
from packenv.testing import check_environment
from tests.envs.conftest import Player

OPTIONS: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.8, "window": 4, "horizon": 300}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register("Admission", "examples.admission")
    yield
    del ENVIRONMENTS["Admission"], gym.registry["packenv/Admission-v0"]


def make(**more: Any) -> Any:
    return gym.make("packenv/Admission-v0", **OPTIONS | more)


def test_checkers() -> None:
    check_environment("Admission", **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*unconventional shape")
        sb3_checker.check_env(make().unwrapped, skip_render_check=True)


def test_admitting_at_once_is_first_in_first_out() -> None:
    env = make(record_schedule=True).unwrapped
    _, info = env.reset(seed=7)
    over = False
    while not over:
        *_, over, info = env.step(int(np.argmax(info["action_mask"])))
    start, server = env.schedule()
    wanted = simulate(workload("paper/fig4b", intensity=0.8), "fifo-ff", slots=300, seed=7, schedule=True).schedule
    assert wanted is not None
    started = int((start >= 0).sum())
    assert started == int((wanted.start >= 0).sum()) > 0
    assert np.array_equal(start[:started], wanted.start[:started]) and np.array_equal(server[:started], wanted.server[:started])


def test_an_action_that_is_not_valid_waits_and_says_so() -> None:
    env = make(patient=False)
    _, info = env.reset(seed=1)
    assert info["action_mask"].tolist() == [1, 0]
    *_, info = env.step(1)
    assert info["invalid"]


def test_rows_are_single_environments() -> None:
    options = OPTIONS | {"horizon": 5000}
    envs = gym.make_vec("packenv/Admission-v0", num_envs=2, vectorization_mode="vector_entry_point", **options)
    seen, info = envs.reset(seed=3)
    singles = [make(horizon=5000), make(horizon=5000)]
    own = [env.reset(seed=3 + row) for row, env in enumerate(singles)]
    choose = Player(0)
    for _ in range(60):
        for row in range(2):
            assert data_equivalence({name: array[row] for name, array in seen.items()}, own[row][0], exact=True)
        actions = choose.all(info)
        seen, *_, info = envs.step(actions)
        own = [(env.step(action)[0], None) for env, action in zip(singles, actions, strict=True)]


def test_stable_baselines() -> None:
    env = PackVecEnv("Admission", 3, seed=0, **OPTIONS)
    assert env.reset()["queue"].shape == (3, 4, 3)
    for _ in range(50):
        observations, rewards, done, _ = env.step(env.action_masks().argmax(axis=1))
    assert (rewards <= 0).all() and observations["servers"].shape == (3, 5, 1) and done.shape == (3,)


def test_without_a_policy_action_no_policy_plays_it() -> None:
    with pytest.raises(InputError, match="no policy can play Admission"):
        PolicyAgent("bf-s", make())


def test_a_module_without_a_definition_is_named() -> None:
    register("Admission", "tests.envs.playing")
    with pytest.raises(InputError, match=r"tests\.envs\.playing: the module of an environment has a DEFINITION"):
        PackVecEnv("Admission", 1)
