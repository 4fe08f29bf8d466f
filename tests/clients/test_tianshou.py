"""Tianshou 2: its collector and its trainer on our environments, with and without masks.

Runs where Tianshou is installed: its 2.0.1 asks for pandas below 3, and constraints.txt has a later one.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import packenv  # noqa: F401  (registers the environments)
from packenv.wrappers import MaskedObservation

pytest.importorskip("tianshou")

from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net


def plain() -> Any:
    return gym.make("packenv/ServerFill-v1", horizon=200)


def masked() -> Any:
    return MaskedObservation(gym.make("packenv/ServerFill-v1", horizon=200), "tianshou")


@pytest.mark.parametrize("make", [plain, masked])
def test_trainer(make: Any) -> None:
    train, test, one = DummyVectorEnv([make] * 2), DummyVectorEnv([make]), make()
    inputs = one.unwrapped.observation_space.shape
    policy = DiscreteQLearningPolicy(
        model=Net(state_shape=inputs, action_shape=one.action_space.n, hidden_sizes=[16]),
        action_space=one.action_space,
        eps_training=0.1,
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=50)
    buffer = VectorReplayBuffer(1000, 2)
    params = OffPolicyTrainerParams(
        training_collector=Collector(algorithm, train, buffer, exploration_noise=True),
        test_collector=Collector(algorithm, test),
        max_epochs=1,
        epoch_num_steps=200,
        collection_step_num_env_steps=20,
        batch_size=16,
        test_step_num_episodes=2,
    )
    result = algorithm.run_training(params)
    assert np.isfinite(result.best_reward)
    kept = buffer.sample_indices(0)
    assert len(kept) >= 200
    if make is masked:
        assert not buffer[kept].info.invalid.any()
