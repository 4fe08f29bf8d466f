"""Gymnasium's wrappers over every environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers import FlattenObservation, NormalizeObservation, RecordEpisodeStatistics, TimeLimit

from tests.envs.conftest import Player
from tests.envs.grid import KINDS, PAIR
from tests.envs.playing import plain_env


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"workload": PAIR, "mask_in_observation": True}], ids=["one", "two"])
def test_the_usual_stack(kind: str, options: dict[str, Any]) -> None:
    env = plain_env(kind, horizon=300, **options)
    inner = env.observation_space
    flat = FlattenObservation(env)
    stack = RecordEpisodeStatistics(NormalizeObservation(TimeLimit(flat, max_episode_steps=25)))
    assert flat.observation_space.shape == (sum(int(np.prod(box.shape)) for box in inner.spaces.values()),)  # type: ignore[attr-defined]
    choose = Player(0)
    for seed in (1, None):
        seen, info = stack.reset(seed=seed)
        steps, over, total = 0, False, 0.0
        while not over:
            assert seen.shape == flat.observation_space.shape
            assert seen.dtype == np.float32
            assert np.isfinite(seen).all()
            seen, reward, terminated, truncated, info = stack.step(choose(info))
            steps, over, total = steps + 1, terminated or truncated, total + float(reward)
        assert info["episode"]["l"] == steps <= 25
        assert info["episode"]["r"] == pytest.approx(total)


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_with_the_mask(kind: str) -> None:
    env = plain_env(kind)
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(200):
        _, _, _, over, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        assert not info["invalid"]
        if over:
            break
