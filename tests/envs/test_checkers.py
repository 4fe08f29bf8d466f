"""Every environment, over the grid of options: Gymnasium's and SB3's checkers, determinism, copies, fresh arrays."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import pytest
import stable_baselines3.common.env_checker as sb3_checker
from gymnasium.utils.env_checker import check_env, data_equivalence, data_shares_objects

from packenv.envs.core.state import OF_EPISODE
from tests.envs.conftest import Player
from tests.envs.grid import GRID, KINDS, name_of

KEYS = ("elapsed", "slot", "invalid", "action_mask", "seed", "reason", *OF_EPISODE)

every = pytest.mark.parametrize("case", GRID, ids=name_of)
Case = tuple[str, dict[str, Any]]


def make(case: Case, **more: Any) -> Any:
    kind, options = case
    return gym.make(f"packenv/{kind}-v0", **{"horizon": 400} | options | more)


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
def test_gymnasium_checker(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(case, disable_env_checker=True).unwrapped, skip_render_check=True)


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


@every
def test_one_seed_one_episode(case: Case) -> None:
    first, second = make(case), make(case)
    assert data_equivalence(run(first, 11), run(second, 11), exact=True)
    assert data_equivalence(run(first, None), run(second, None), exact=True)  # and so on
    assert "workload" in case[1] or not data_equivalence(run(first, 11), run(first, 12), exact=True)


@every
def test_copies_go_on_alike(case: Case) -> None:
    env = make(case)
    run(env, 5, steps=20)
    env = env.unwrapped
    others = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    state = env.get_state()
    info = {"action_mask": env.action_masks()}
    if env._over:
        return
    after = [follow(each, info) for each in (env, *others)]
    assert len(after[0]) > 1
    for other in after[1:]:
        assert data_equivalence(after[0], other, exact=True)
    env.set_state(state)
    assert data_equivalence(after[0], follow(env, info), exact=True)
    fresh = make(case)
    fresh.reset(seed=999)
    fresh.unwrapped.set_state(state)
    assert data_equivalence(after[0], follow(fresh.unwrapped, info), exact=True)


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
        spec = gym.spec(f"packenv/{kind}-v0")
        assert spec.max_episode_steps is None
        assert spec.vector_entry_point is not None
        env = gym.make(f"packenv:packenv/{kind}-v0")
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
