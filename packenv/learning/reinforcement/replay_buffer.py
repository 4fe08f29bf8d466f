"""Stable-Baselines3's replay buffer with rewards discounted by elapsed slots, which it reads from the environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples

from packenv.envs.interfaces.sb3 import PackVecEnv


class ElapsedReplayBuffer(DictReplayBuffer):
    """Transitions for DQN, each discounted by its own elapsed slots. Rewards are multiplied by `scale`."""

    def __init__(self, *arguments: Any, env: PackVecEnv, timescale: float, scale: float = 1.0, **more: Any) -> None:
        super().__init__(*arguments, **more | {"handle_timeout_termination": False})
        self.env, self.timescale, self.scale = env, timescale, scale
        self.discounts = np.ones((self.buffer_size, self.n_envs), np.float32)

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        """Add a step of every environment; where an episode ended, `next_obs` is replaced by its last observation."""
        env, t = self.env, self.pos
        rows = env.terminal_rows
        if len(rows):
            next_obs = {name: array.copy() for name, array in next_obs.items()}
            for name, last in env.terminal_observations.items():
                next_obs[name][rows] = last
        self.discounts[t] = np.exp(-env.elapsed / self.timescale)
        self.timeouts[t] = 0.0
        self.timeouts[t, rows] = env.terminal_truncated
        super().add(obs, next_obs, action, reward * self.scale, done, infos)

    def sample(self, batch_size: int, env: Any = None) -> DictReplayBufferSamples:  # type: ignore[override]
        """Transitions drawn with replacement.

        Steps and rows come from one generator: NumPy's and PyTorch's, given the same seed, draw the same numbers.
        """
        chosen = torch.randint(self.size() * self.n_envs, (batch_size,)).numpy()
        steps, rows = np.divmod(chosen, self.n_envs)

        def of(array: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(array[steps, rows])

        return DictReplayBufferSamples(
            observations={name: of(array) for name, array in self.observations.items()},
            actions=of(self.actions),
            next_observations={name: of(array) for name, array in self.next_observations.items()},
            dones=(of(self.dones) * (1 - of(self.timeouts))).reshape(-1, 1),
            rewards=of(self.rewards).reshape(-1, 1),
            discounts=of(self.discounts).reshape(-1, 1),
        )
