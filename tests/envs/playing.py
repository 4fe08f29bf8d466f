"""Environments by the short names of their kinds, and whole episodes played."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from packenv.envs import PackVecEnv
from packenv.envs.registration import FORMER
from tests.envs.conftest import Player


def plain_env(kind: str = "Placement", **options: Any) -> Any:
    """Every number of the cluster in a dictionary, whole episodes, actions that wait: what version 0 did by default."""
    return gym.make(f"packenv/{kind}-v1", **FORMER.get(kind, {}) | options)


def plain_vec(kind: str, **options: Any) -> Any:
    return gym.make_vec(f"packenv/{kind}-v1", **FORMER.get(kind, {}) | options)


def plain_sb3(kind: str, num_envs: int, **options: Any) -> PackVecEnv:
    return PackVecEnv(kind, num_envs, **FORMER.get(kind, {}) | options)


make = plain_env


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
