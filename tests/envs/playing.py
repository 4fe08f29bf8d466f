"""Environments by the short names of their kinds, and whole episodes played."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from tests.envs.conftest import Player


def make(kind: str = "Placement", **options: Any) -> Any:
    return gym.make(f"packenv/{kind}-v0", **options)


def play(env: Any, seed: int = 0, choose: Any = None) -> tuple[list[float], list[dict[str, Any]]]:
    choose = choose or Player(1)
    _, info = env.reset(seed=seed)
    rewards, infos = [], [info]
    while True:
        _, reward, terminated, truncated, info = env.step(choose(info))
        rewards.append(reward)
        infos.append(info)
        if terminated or truncated:
            return rewards, infos
