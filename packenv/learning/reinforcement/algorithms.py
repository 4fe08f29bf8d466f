"""Stable-Baselines3's algorithms with these environments, networks and buffers."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

from packenv.envs.interfaces.sb3 import PackVecEnv
from packenv.learning.networks.network import form_of, mask_of
from packenv.learning.networks.valid_actions import random_valid
from packenv.learning.reinforcement.buffers import AverageReward, ElapsedReplayBuffer, ElapsedRolloutBuffer
from packenv.learning.reinforcement.sb3_policies import EXTRACTOR, POLICIES
from packenv.learning.settings import Settings

CLASSES: dict[str, Any] = {"maskable-ppo": MaskablePPO, "ppo": PPO, "a2c": A2C}
VALUE_WEIGHT, CLIP, MAX_GRADIENT = 0.5, 0.2, 0.5
REPLAY = 1_000_000  # transitions
EXPLORATION: dict[str, Any] = {"exploration_fraction": 0.3, "exploration_initial_eps": 1.0, "exploration_final_eps": 0.02}


class MaskedDQN(DQN):
    """DQN that explores among the valid actions, each environment independently."""

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        last: Any = self._last_obs
        observation = {name: torch.as_tensor(array) for name, array in last.items()}
        share = self.exploration_schedule(self._current_progress_remaining)
        with torch.no_grad():
            greedy = self.q_net(observation).argmax(dim=1)
        actions = torch.where(torch.rand(n_envs) < share, random_valid(mask_of(observation)), greedy).numpy()
        return actions, actions

    def copy_to_target(self) -> None:
        """Give the target network the weights of the network that learns."""
        self.q_net_target.load_state_dict(self.q_net.state_dict())

    def refill_replay_buffer(self) -> None:
        """Let a resumed run learn only once the replay buffer, which is empty again, has filled."""
        self.learning_starts += self.num_timesteps


def make_model(settings: Settings, env: PackVecEnv, average: AverageReward | None) -> BaseAlgorithm:
    """The settings' algorithm on the environment, with fresh weights from the settings' seed."""
    torch.distributions.Distribution.set_default_validate_args(False)
    common: dict[str, Any] = {
        "learning_rate": lambda remaining: settings.learning_rate * (0.1 + 0.9 * remaining),  # falls to a tenth
        "seed": settings.seed,
        "device": "cpu",
        "policy_kwargs": {"net_arch": form_of(settings, env.core.layout)} | EXTRACTOR,
    }
    buffer_options = {"env": env, "timescale": settings.timescale, "scale": settings.reward_scale}
    policy = POLICIES[settings.algorithm]
    if settings.algorithm == "dqn":
        return MaskedDQN(
            policy,
            env,
            replay_buffer_class=ElapsedReplayBuffer,
            replay_buffer_kwargs=buffer_options,
            buffer_size=min(REPLAY, max(settings.samples, settings.envs)),
            learning_starts=min(20 * settings.envs, settings.samples // 10),
            batch_size=settings.batch,
            train_freq=settings.steps,
            gradient_steps=settings.epochs,
            target_update_interval=200 * settings.envs,
            **EXPLORATION,
            **common,
        )
    updates: dict[str, Any] = {"n_epochs": settings.epochs, "batch_size": settings.batch, "clip_range": CLIP}
    model: BaseAlgorithm = CLASSES[settings.algorithm](
        policy,
        env,
        n_steps=settings.steps,
        gae_lambda=settings.gae_lambda,
        ent_coef=settings.entropy,
        vf_coef=VALUE_WEIGHT,
        max_grad_norm=MAX_GRADIENT,
        rollout_buffer_class=ElapsedRolloutBuffer,
        rollout_buffer_kwargs=buffer_options | {"average": average},
        **({} if settings.algorithm == "a2c" else updates),
        **common,
    )
    model.rollout_buffer.policy = model.policy  # type: ignore[attr-defined]
    return model
