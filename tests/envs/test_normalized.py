"""The normalized observation, the environments for other libraries, and what becomes of actions that are not valid."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from packenv import InputError
from packenv.envs import PackVecEnv
from packenv.envs.core.features import ACTION_FEATURES, CONTEXT_FEATURES, FLAG, VALID, Feature
from tests.envs.conftest import Player
from tests.envs.grid import KINDS, PAIR, UNEQUAL
from tests.envs.playing import plain_env


@pytest.mark.parametrize("options", [{}, UNEQUAL, {"workload": PAIR}], ids=["fig4b", "unequal", "pair"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_flat_and_within_bounds(kind: str, options: dict[str, Any]) -> None:
    options = {"horizon": 3000} | options
    plain: Any = plain_env(kind, observation="actions", **options)
    flat: Any = plain_env(kind, observation="normalized", **options)
    names = flat.unwrapped.feature_names
    assert flat.observation_space.shape == (len(names),) and len(set(names)) == len(names)
    choose, ((wanted, info), (seen, _)) = Player(0), (plain.reset(seed=1), flat.reset(seed=1))
    for _ in range(300):
        assert seen in flat.observation_space and seen.dtype == np.float32
        named = dict(zip(names, seen, strict=True))
        for n in range(len(wanted["actions"])):
            for feature, value in zip(ACTION_FEATURES, wanted["actions"][n], strict=True):
                assert named[f"action_{n}.{feature.name}"] == (scaled(value, feature) if wanted["actions"][n][VALID] else 0)
        for feature, value in zip(CONTEXT_FEATURES, wanted["context"], strict=True):
            assert named[f"context.{feature.name}"] == scaled(value, feature)
        action = choose(info)
        (wanted, *_, over, info), (seen, *_) = plain.step(action), flat.step(action)
        if over:
            break


def scaled(value: np.float32, feature: Feature) -> np.float32:
    if feature.scale == FLAG:
        return value
    return np.clip(value * np.float32(2) - np.float32(not feature.negative), np.float32(-1), np.float32(1))


def test_the_size_does_not_depend_on_the_load_nor_on_the_servers() -> None:
    shapes = [
        gym.make("packenv/ServerFill-v1", **options).observation_space.shape
        for options in ({}, {"intensity": 0.3}, {"load": 0.9}, {"servers": 100})
    ]
    assert len(set(shapes)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_batches_are_single_environments(kind: str) -> None:
    name = f"packenv/{kind}-v1"
    envs: Any = gym.make_vec(name, num_envs=2, vectorization_mode="vector_entry_point", autoreset_mode="SameStep", horizon=200)
    sb3 = PackVecEnv(name, 2, seed=4, horizon=200)
    singles = [gym.make(name, horizon=200) for _ in range(2)]
    seen, info = envs.reset(seed=4)
    own = [env.reset(seed=4 + row)[0] for row, env in enumerate(singles)]
    assert data_equivalence(seen, sb3.reset(), exact=True)
    choose, ends = Player(0), 0
    for _ in range(150):
        assert data_equivalence(seen, np.stack(own), exact=True)
        actions = choose.all(info)
        seen, _, _, truncated, info = envs.step(actions)
        assert data_equivalence(seen, sb3.step(actions)[0], exact=True)
        for row, env in enumerate(singles):
            own[row], *_, over, _ = env.step(actions[row])
            assert over == truncated[row]
            if over:
                assert data_equivalence(info["final_obs"][row], own[row], exact=True)
                assert data_equivalence(sb3.terminal_observations[list(sb3.terminal_rows).index(row)], own[row], exact=True)
                own[row], ends = env.reset()[0], ends + 1
    assert ends > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_defaults_are_what_plain_algorithms_learn_from(kind: str) -> None:
    options = gym.make(f"packenv/{kind}-v1").unwrapped.core.options  # type: ignore[attr-defined]
    assert (options.horizon, options.yardstick) == (10_000, False)
    of_choices = kind != "Configuration"
    assert options.invalid == ("first" if of_choices else "nearest")
    assert options.observation == ("flat" if of_choices else "normalized")
    assert (options.reward, options.types) == (("work", 16) if of_choices else ("size", None))
    assert PackVecEnv(kind, 2).core.options == options
    assert PackVecEnv(f"{kind}-v1", 2, reward="delay").core.options.reward == "delay"


def test_levels_take_the_place_of_types() -> None:
    assert gym.make("packenv/ServerFill-v1", J=4).unwrapped.core.sizes.levels == 4  # type: ignore[attr-defined]


def test_the_first_valid_action_is_carried_out() -> None:
    clumsy, careful = (gym.make("packenv/ServerFill-v1", horizon=2000) for _ in range(2))
    (_, info), (_, same), invalid, over = clumsy.reset(seed=3), careful.reset(seed=3), 0, False
    while not over:
        valid = info["action_mask"][2]
        _, reward, _, over, info = clumsy.step(2)
        _, other, _, _, same = careful.step(2 if valid else 0)
        assert reward == other and info["slot"] == same["slot"] and info["invalid"] == (not valid)
        invalid += info["invalid"]
    assert invalid > 10


@pytest.mark.parametrize("options", [{}, {"workload": PAIR}], ids=["one", "two"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_valid_action_is_carried_out(kind: str, options: dict[str, Any]) -> None:
    """Any action, and the valid one nearest to it, do the same; `info` and the penalty tell them apart."""
    common: dict[str, Any] = {"invalid": "nearest", "invalid_penalty": 2.0, "horizon": 1000} | options
    if kind == "Placement":
        common["rule"] = "head"
    clumsy, careful = (plain_env(kind, **common) for _ in range(2))
    rng, invalid = np.random.default_rng(0), 0
    (seen, info), (wanted, _) = clumsy.reset(seed=3), careful.reset(seed=3)
    while True:
        assert data_equivalence(seen, wanted, exact=True)
        valid = np.flatnonzero(info["action_mask"])
        action = int(rng.integers(len(info["action_mask"])))
        nearest = int(valid[np.argmin(np.abs(valid - action))])  # of two the lower one, which comes first
        seen, reward, _, over, info = clumsy.step(action)
        wanted, other, _, _, _ = careful.step(nearest)
        assert info["invalid"] == (action != nearest)
        assert reward == other - 2 * info["invalid"]
        invalid += info["invalid"]
        if over:
            break
    assert invalid > 20 or kind == "Configuration"  # where all actions are valid, as servers are alike


def test_every_action_starts_a_task_where_no_server_is_passed() -> None:
    env = gym.make("packenv/ServerFill-v1", horizon=2000)
    env.action_space.seed(0)
    env.reset(seed=0)
    over = False
    while not over:
        _, _, _, over, _ = env.step(env.action_space.sample())
        assert over or env.unwrapped.core.batch.passage["started"][0] >= 1  # type: ignore[attr-defined]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="did you mean nearest"):
        plain_env("Placement", invalid="neares")
    with pytest.raises(InputError, match="has the mask already"):
        plain_env("Placement", observation="normalized", mask_in_observation=True)
    env: Any = plain_env("Placement").unwrapped
    with pytest.raises(InputError, match="only the observation 'normalized'"):
        _ = env.feature_names
    with pytest.raises(InputError, match="unknown environment"):
        PackVecEnv("packenv/PlacementNormalised-v0", 2)


@pytest.mark.parametrize(("kind", "servers"), [("ServerFill", 1), ("Placement", 2)])
def test_the_flat_observation_of_a_few_servers(kind: str, servers: int) -> None:
    """Worked by hand from the features of actions, and one name for each number."""
    options: dict[str, Any] = {"horizon": 2000, "choices": 3 if kind == "ServerFill" else (servers, 3)}
    plain, flat = (gym.make(f"packenv/{kind}-v1", observation=each, **options) for each in ("actions", "flat"))
    names: Any = flat.unwrapped.feature_names  # type: ignore[attr-defined]
    (wanted, info), (seen, _), choose, over = plain.reset(seed=1), flat.reset(seed=1), Player(0), False
    while not over:
        assert seen in flat.observation_space
        named = dict(zip(names, seen.tolist(), strict=True))
        first = dict(zip([each.name for each in ACTION_FEATURES], wanted["actions"][0], strict=True))
        for n in range(3 * servers):
            own = dict(zip([each.name for each in ACTION_FEATURES], wanted["actions"][n], strict=True))
            expected = {
                "size": 2 * own["size"] - 1,
                "room_filled": 4 * own["room_filled"] - 1,
                "root_of_room_left": 2 * own["room_left"] ** 0.5 - 1,
                "excess": 2 * own["excess"],
                "size_less_first": 4 * (own["size"] - first["size"]),
                "first_room_filled_less": 4 * (first["room_filled"] - own["room_filled"]),
            }
            for name, value in expected.items():
                assert named[f"action_{n}.{name}"] == pytest.approx(min(max(value, -1), 1) * own["valid"], abs=1e-5)
        for k in range(servers):
            of_server = dict(zip([each.name for each in ACTION_FEATURES], wanted["actions"][3 * k], strict=True))
            name = "server" if servers == 1 else f"server_{k}"
            assert named[f"{name}.room"] == pytest.approx(2 * of_server["room"] - 1, abs=1e-6)
        action = choose(info)
        (wanted, *_, over, info), (seen, *_) = plain.step(action), flat.step(action)
    with pytest.raises(InputError, match="Placement with choices"):
        gym.make("packenv/Placement-v1", observation="flat", choices=None)
