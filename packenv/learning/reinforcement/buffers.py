"""Buffers of samples for Stable-Baselines3, with rewards discounted by the slots that pass: rollouts, and transitions to replay.

A decision that starts a task takes no time and another takes a hundred slots, so γ_t = exp(−elapsed_t / timescale): with a
constant discount per step the value of a state would depend on how many tasks start at a time. Stable-Baselines3's loops pass on
neither the elapsed slots nor the last observations of episodes; the buffers read both from the environment
(`PackVecEnv(bare=True)`) when a step is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableDictRolloutBuffer, MaskableDictRolloutBufferSamples
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples

from packenv.envs.interfaces.sb3 import PackVecEnv

Floats = NDArray[np.float32]
KEPT = 0.9  # of the weight of older rollouts in the average reward, per rollout


class AverageReward:
    """The running average r̄ = Σ reward / Σ elapsed slots over all environments; older rollouts weigh KEPT less each time.

    With it the agent maximises the long-run reward per slot: a step is worth reward − r̄·elapsed and nothing is
    discounted, so the critic estimates the bias (relative value) of a state. There is one r̄ for all environments; where
    each episode draws its own load, it is the average over the loads.
    """

    def __init__(self) -> None:
        self.reward = self.elapsed = 0.0

    def update(self, rewards: Floats, elapsed: Floats) -> float:
        """Add a rollout and return r̄ with it."""
        self.reward = KEPT * self.reward + float(rewards.sum(dtype=np.float64))
        self.elapsed = KEPT * self.elapsed + float(elapsed.sum(dtype=np.float64))
        return self.rate

    @property
    def rate(self) -> float:
        """r̄, reward per slot."""
        return self.reward / max(self.elapsed, 1.0)


def advantages(
    rewards: Floats,
    discounts: Floats,
    values: Floats,
    last: Floats,
    ended: NDArray[np.bool_],
    terminal: Floats,
    gae_lambda: float,
) -> Floats:
    """(T, E) advantages A_t = δ_t + γ_t λ A_{t+1} with δ_t = r_t + γ_t V_{t+1} − V_t (GAE, arXiv 1506.02438).

    Where an episode ends with step t, V_{t+1} is `terminal` (0 if the episode is over, the value of its last state if it
    was cut short) and no later advantage counts. `last` (E,): the values after the last step.
    """
    result = np.zeros_like(values)
    after = np.zeros_like(last)
    following = last
    for t in reversed(range(len(rewards))):
        following = np.where(ended[t], terminal[t], following)
        delta = rewards[t] + discounts[t] * following - values[t]
        after = delta + discounts[t] * gae_lambda * np.where(ended[t], 0.0, after)
        result[t] = after
        following = values[t]
    return result


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
        self.has_arrays = False
        super().__init__(*arguments, **more)

    def reset(self) -> None:
        """Start again with the same arrays."""
        if not self.has_arrays:
            super().reset()
            shape = self.buffer_size, self.n_envs
            self.elapsed = np.zeros(shape, np.float32)  # slots
            self.ended = np.zeros(shape, np.bool_)  # the step ended its episode
            self.terminal_values = np.zeros(shape, np.float32)  # of the last state of an episode that was cut short
            self.has_arrays = True
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

    def get(self, batch_size: int | None = None) -> Iterator[MaskableDictRolloutBufferSamples]:  # type: ignore[override]
        """All steps in random order, in batches."""
        total = self.buffer_size * self.n_envs
        order = torch.randperm(total)
        observations = {name: _flat(array) for name, array in self.observations.items()}
        parts = [_flat(getattr(self, name)) for name in ("actions", "values", "log_probs", "advantages", "returns")]
        for first in range(0, total, batch_size or total):
            chosen = order[first : first + (batch_size or total)]
            batch = {name: array.index_select(0, chosen) for name, array in observations.items()}
            yield MaskableDictRolloutBufferSamples._make([batch, *(part.index_select(0, chosen) for part in parts), None])


def _flat(array: NDArray[Any]) -> torch.Tensor:
    """(T, E, …) as (T · E, …), without a copy."""
    return torch.from_numpy(array).flatten(0, 1)


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
