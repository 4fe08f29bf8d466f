"""The wrappers for other libraries: masks in their words, and rewards discounted by slots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from packenv import InputError
from packenv.wrappers import NAMES, DiscountElapsed, MaskedObservation
from tests.envs.conftest import Player
from tests.envs.playing import plain_env


def played(env: Any, seed: int = 0) -> tuple[list[float], list[dict[str, Any]]]:
    """Rewards of an episode of random valid actions, and the infos of its reset and its steps."""
    choose, (_, info) = Player(0), env.reset(seed=seed)
    rewards, infos, over = [], [info], False
    while not over:
        _, reward, terminated, truncated, info = env.step(choose(info))
        over = terminated or truncated
        rewards.append(float(reward))
        infos.append(info)
    return rewards, infos


@pytest.mark.parametrize("gamma", [0.9, 0.99, 1.0])
def test_returns_are_discounted_by_slots(gamma: float) -> None:
    timescale = 100.0
    options: dict[str, Any] = {"horizon": 600, "reward": "size"}
    plain, infos = played(plain_env("Placement", **options))
    env = DiscountElapsed(plain_env("Placement", **options), gamma=gamma, timescale=timescale)
    for _ in range(2):  # the second episode begins with the weight 1 again
        weighted, own = played(env)
        assert own[0]["weight"] == 1
        began = np.cumsum([0, *(info["elapsed"] for info in infos[1:-1])])  # slots before each step
        assert len(weighted) == len(plain) > 50
        for k in (0, 1, 7, len(plain) // 2, len(plain) - 1):
            of_library = sum(gamma ** (i - k) * weighted[i] for i in range(k, len(plain)))
            meant = sum(math.exp(-(began[i] - began[k]) / timescale) * plain[i] for i in range(k, len(plain)))
            assert of_library == pytest.approx(own[k]["weight"] * meant)


def test_bad_discounts() -> None:
    env = plain_env("ServerFill")
    for bad in ({"gamma": 0.0}, {"gamma": 1.1}, {"gamma": math.nan}, {"timescale": 0.0}, {"timescale": math.inf}):
        with pytest.raises(InputError, match=next(iter(bad))):
            DiscountElapsed(env, **bad)


@pytest.mark.parametrize("kind", ["Placement", "ServerFill", "Configuration"])
@pytest.mark.parametrize("library", NAMES)
def test_masks_are_in_the_observation(kind: str, library: str) -> None:
    env = MaskedObservation(plain_env(kind, observation="normalized", horizon=300), library)
    observation, mask = NAMES[library]
    choose, (seen, info) = Player(0), env.reset(seed=0)
    for _ in range(60):
        assert seen in env.observation_space
        assert list(seen) == [observation, mask] and seen[observation].shape == env.unwrapped.observation_space.shape  # type: ignore[attr-defined]
        assert seen[mask].tolist() == info["action_mask"].tolist()
        seen, _, _, over, info = env.step(choose(info))
        if over:
            break


def test_other_environments_and_checkers() -> None:
    env = MaskedObservation(plain_env("ServerFill", horizon=50), "rllib")
    check_env(env, skip_render_check=True)
    with pytest.raises(InputError, match="did you mean tianshou"):
        MaskedObservation(plain_env("ServerFill"), "tianshu")
