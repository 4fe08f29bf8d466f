"""Every environment, over the grid of options: the suite of `packenv.testing`, SB3's checker, deep copies, fresh arrays."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import gymnasium as gym
import pytest
import stable_baselines3.common.env_checker as sb3_checker
from gymnasium.utils.env_checker import data_equivalence, data_shares_objects

from packenv.envs.core.state import OF_EPISODE
from packenv.envs.registration import FORMER
from packenv.testing import check_environment
from tests.envs.conftest import Player
from tests.envs.grid import CASES, KINDS, name_of
from tests.envs.playing import plain_env

KEYS = ("elapsed", "slot", "invalid", "action_mask", "seed", "reason", *OF_EPISODE)

every = pytest.mark.parametrize("case", CASES, ids=name_of)
Case = tuple[str, dict[str, Any]]


def make(case: Case, **more: Any) -> Any:
    kind, options = case
    return plain_env(kind, **{"horizon": 400} | options | more)


def run(env: Any, seed: int | None, steps: int = 60, player: int = 0) -> list[Any]:
    """What comes back from an episode of random valid actions."""
    choose = Player(player)
    found: list[Any] = [env.reset(seed=seed)]
    info = found[0][1]
    for _ in range(steps):
        found.append(env.step(choose(info)))
        info = found[-1][4]
        if found[-1][2] or found[-1][3]:
            break
    return found


@every
def test_what_every_environment_must_pass(case: Case) -> None:
    kind, options = case
    check_environment(kind, **FORMER.get(kind, {}) | options)


@every
def test_passive_checker(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(make(case), 3)
    env = make(case)
    for seen in [found[0][0], *(step[0] for step in found[1:])]:
        assert seen in env.observation_space
        if isinstance(seen, dict):
            assert list(seen) == list(env.observation_space.spaces)


@every
def test_stable_baselines_checker(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*unconventional shape")  # tables: MultiInputPolicy flattens them
        sb3_checker.check_env(make(case).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_is_another_episode(kind: str) -> None:
    assert not data_equivalence(run(make((kind, {})), 11), run(make((kind, {})), 12), exact=True)


@every
def test_deep_copies_go_on_alike(case: Case) -> None:
    env = make(case)
    run(env, 5, steps=20)
    env = env.unwrapped
    if env._over:
        return
    other = copy.deepcopy(env)
    info = {"action_mask": env.action_masks()}
    after = follow(env, info)
    assert len(after) > 1 and data_equivalence(after, follow(other, info), exact=True)


def follow(env: Any, info: dict[str, Any]) -> list[Any]:
    """What comes of random actions, and of the next episode."""
    choose, found = Player(3), []
    for _ in range(40):
        found.append(env.step(choose(info)))
        info = found[-1][4]
        if found[-1][2] or found[-1][3]:
            break
    found.append(env.reset())
    return found


@every
def test_what_comes_back_is_fresh(case: Case) -> None:
    found = run(make(case), 7, steps=5)
    for n, one in enumerate(found):
        for other in found[:n]:
            assert not data_shares_objects(one[0], other[0])
            assert not data_shares_objects(one[-1], other[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_differ(kind: str) -> None:
    env = make((kind, {}))
    first = [env.reset(seed=1)[1]["seed"], env.reset()[1]["seed"], env.reset()[1]["seed"]]
    assert len(set(first)) == 3
    assert first[0] == 1
    assert [env.reset(seed=1)[1]["seed"], env.reset()[1]["seed"], env.reset()[1]["seed"]] == first
    assert make((kind, {})).reset()[1]["seed"] != make((kind, {})).reset()[1]["seed"]


def test_no_wall_times() -> None:
    for kind in KINDS:
        assert set(run(make((kind, {})), 0)[1][4]) == {*KEYS}


def test_registered() -> None:
    for kind in KINDS:
        spec = gym.spec(f"packenv/{kind}-v1")
        assert spec.max_episode_steps is None
        assert spec.vector_entry_point is not None
        env = gym.make(f"packenv:packenv/{kind}-v1")
        assert env.unwrapped.core.options.horizon == 10_000
        assert env.unwrapped.core.workload.name == "paper/fig4b"
        assert env.unwrapped.core.workload.intensity == 0.9
        assert env.unwrapped.core.options.window == 16
        for heading in (
            "Description",
            "Action Space",
            "Observation Space",
            "Rewards",
            "Starting State",
            "Episode End",
            "Arguments",
            "Vectorized",
            "Version History",
        ):
            assert f"## {heading}" in str(type(env.unwrapped).__doc__)
