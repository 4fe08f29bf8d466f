"""Stable-Baselines3's rollout buffer with rewards discounted by elapsed slots.

Stable-Baselines3's loops pass on neither the elapsed slots nor the last observations of episodes; this buffer reads both
from the environment (`PackVecEnv(bare=True)`) when a step is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.learning.reinforcement.advantages import AverageReward, advantages


class Samples(NamedTuple):
    """A batch, under the names that the algorithms ask for."""

    observations: dict[str, torch.Tensor]
    actions: torch.Tensor
    old_values: torch.Tensor
    old_log_prob: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    action_masks: None = None


class ElapsedRolloutBuffer(MaskableDictRolloutBuffer):
    """A rollout of PPO, A2C or MaskablePPO: T steps of E environments, with advantages by the slots that passed.

    `policy` gives the values of terminal observations and must be set before the first `add`. Masks are in the
    observation, so none are kept. Rewards are multiplied by `scale`.
    """

    def __init__(
        self,
        *arguments: Any,
        env: PackVecEnv,
        timescale: float,
        scale: float = 1.0,
        average: AverageReward | None = None,
        **more: Any,
    ) -> None:
        self.env, self.timescale, self.scale, self.average = env, timescale, scale, average
        self.policy: Any = None
        self.made = False
        super().__init__(*arguments, **more)

    def reset(self) -> None:
        """Start again with the same arrays."""
        if not self.made:
            super().reset()
            shape = self.buffer_size, self.n_envs
            self.elapsed = np.zeros(shape, np.float32)  # slots
            self.ended = np.zeros(shape, np.bool_)  # the step ended its episode
            self.terminal_values = np.zeros(shape, np.float32)  # of the last state of an episode that was cut short
            self.made = True
        self.pos, self.full = 0, False

    def add(self, *arguments: Any, action_masks: Any = None, **none: Any) -> None:
        """Add a step of every environment."""
        obs, action, reward, episode_start, value, log_prob = arguments
        t, env = self.pos, self.env
        for name, array in self.observations.items():
            array[t] = obs[name]
        self.actions[t, :, 0] = action.reshape(-1)
        self.rewards[t] = reward * self.scale
        self.episode_starts[t] = episode_start
        self.values[t] = value.numpy().reshape(-1)
        self.log_probs[t] = log_prob.numpy()
        self.elapsed[t] = env.elapsed
        self.ended[t] = False
        self.terminal_values[t] = 0.0
        if len(env.terminal_rows):
            self.ended[t, env.terminal_rows] = True
            self._value_cut_episodes(t)
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def _value_cut_episodes(self, t: int) -> None:
        """Set the values of the states in which episodes were cut short; after an episode that is over nothing follows."""
        env = self.env
        rows = env.terminal_rows[env.terminal_truncated]
        if len(rows) == 0:
            return
        last = {name: torch.as_tensor(array[env.terminal_truncated]) for name, array in env.terminal_observations.items()}
        with torch.no_grad():
            self.terminal_values[t, rows] = self.policy.predict_values(last).numpy().reshape(-1)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: NDArray[np.bool_]) -> None:
        """GAE(λ) with the discounts of the elapsed slots; λ is per step."""
        rewards, discounts = self.rewards, np.exp(-self.elapsed / self.timescale)
        if self.average is not None:
            rewards, discounts = rewards - self.average.update(rewards, self.elapsed) * self.elapsed, np.ones_like(discounts)
        self.advantages[:] = advantages(
            rewards, discounts, self.values, last_values.numpy().reshape(-1), self.ended, self.terminal_values, self.gae_lambda
        )
        self.returns[:] = self.advantages + self.values

    def get(self, batch_size: int | None = None) -> Iterator[Samples]:  # type: ignore[override]
        """All steps in random order, in batches."""
        total = self.buffer_size * self.n_envs
        order = torch.randperm(total)
        seen = {name: _flat(array) for name, array in self.observations.items()}
        parts = [_flat(getattr(self, name)) for name in ("actions", "values", "log_probs", "advantages", "returns")]
        for first in range(0, total, batch_size or total):
            chosen = order[first : first + (batch_size or total)]
            batch = {name: array.index_select(0, chosen) for name, array in seen.items()}
            yield Samples._make([batch, *(part.index_select(0, chosen) for part in parts), None])


def _flat(array: NDArray[Any]) -> torch.Tensor:
    """(T, E, …) as (T · E, …), without a copy."""
    return torch.from_numpy(array).flatten(0, 1)
