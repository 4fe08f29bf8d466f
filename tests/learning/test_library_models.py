"""A library's model as an agent: it does in the compiled loop what it does in its environment, on the same jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import packenv
from packenv.envs import PackVecEnv
from packenv.errors import InputError

pytest.importorskip("sb3_contrib")

import gymnasium as gym
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack, VecMonitor, VecNormalize

OF_TASKS = {"workload": "paper/fig4b", "intensity": 0.9}
CASES = [
    (MaskablePPO, "ServerFill", {}),
    (VecNormalize, "ServerFill", {}),
    pytest.param(PPO, "ServerFill", {"guard": "bf-js", "guard_limit": 30}, marks=pytest.mark.slow),
    pytest.param(PPO, "ServerFill", {"invalid": "nearest"}, marks=pytest.mark.slow),
    pytest.param(MaskablePPO, "Configuration", {}, marks=pytest.mark.slow),
    pytest.param(DQN, "Placement", {}, marks=pytest.mark.slow),
]


def trained(algorithm: Any, environment: str, **options: Any) -> Any:
    few = {"learning_starts": 100} if algorithm is DQN else {"n_steps": 64, "batch_size": 128, "n_epochs": 2}
    envs: Any = PackVecEnv(environment, num_envs=8, seed=0, **options)
    if algorithm is VecNormalize:  # the default algorithm behind it, on observations that are often cut off
        algorithm, envs = MaskablePPO, VecMonitor(VecNormalize(envs, norm_reward=False, clip_obs=1.5))
    return algorithm("MlpPolicy", envs, policy_kwargs={"net_arch": [32, 24]}, seed=3, **few).learn(1024)


@pytest.mark.parametrize(("algorithm", "kind", "options"), CASES)
def test_a_model_does_in_the_loop_what_it_does_in_the_environment(
    algorithm: Any, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    environment, options = f"packenv/{kind}-v1", OF_TASKS | options
    model = trained(algorithm, environment, **options)
    agent = packenv.save_model(model, tmp_path / "mine", environment, **options)
    score = packenv.evaluate_agent(model, environment, slots=5_000, seeds=[5, 6], against=None, **options)
    workload = packenv.workload("paper/fig4b", intensity=0.9)
    for policy in (agent, f"agent:{tmp_path / 'mine'}"):
        runs = [packenv.simulate(workload, policy, 5_000, seed, warmup=0) for seed in (5, 6)]
        assert [run.mean_queue for run in runs] == pytest.approx(score.scores, abs=1e-9)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    environment = "packenv/ServerFill-v1"
    model = trained(MaskablePPO, environment, **OF_TASKS)
    for options, problem in (
        ({"observation": "actions"}, "a library's model is saved with one of normalized, flat"),
        ({"choices": 3}, "trained with choices=4, not choices=3"),
    ):
        with pytest.raises(InputError, match=problem):
            packenv.save_model(model, tmp_path / "mine", environment, **OF_TASKS, **options)
    few_envs = PackVecEnv(environment, num_envs=2, seed=0, **OF_TASKS)
    with pytest.raises(InputError, match="MaskablePPO: not a model with MlpPolicy and two hidden layers"):
        deep = MaskablePPO("MlpPolicy", few_envs, policy_kwargs={"net_arch": [8, 8, 8]})
        packenv.save_model(deep, tmp_path / "mine", environment, **OF_TASKS)
    for other in (WithoutPolicy(), torch.nn.Linear(3, 2)):
        with pytest.raises(InputError, match=f"{type(other).__name__}: not a model with MlpPolicy and two hidden layers"):
            packenv.save_model(other, tmp_path / "mine", environment, **OF_TASKS)
    waits = PackVecEnv(environment, num_envs=2, seed=0, invalid="wait", **OF_TASKS)
    with pytest.raises(InputError, match="saved with invalid='first' or 'nearest', not 'wait': train it with one of these"):
        packenv.save_model(PPO("MlpPolicy", waits, n_steps=8), tmp_path / "mine", environment, invalid="wait", **OF_TASKS)
    assert not [*tmp_path.iterdir()]


class Doubled(FlattenExtractor):
    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(observations)


class Mirrored(gym.ObservationWrapper[Any, Any, Any]):
    def observation(self, observation: Any) -> Any:
        return -observation


def single(**options: Any) -> gym.Env[Any, Any]:
    return gym.make("packenv/ServerFill-v1", **OF_TASKS, **options)


def test_a_model_is_not_taken_for_another_one(tmp_path: Path) -> None:
    """Models that see or do something else than the call says are refused by both, in a line."""
    few: dict[str, Any] = {"n_steps": 8, "batch_size": 8}
    cases = [
        (DummyVecEnv([lambda: Mirrored(Monitor(single()))]), {}, "behind Mirrored, which may change what it sees or does"),
        (VecFrameStack(DummyVecEnv([single]), 2), {}, "behind VecFrameStack, which may"),
        (PackVecEnv("ServerFill", 2, types=8, **OF_TASKS), {}, "trained with types=8, not types=16"),
        (PackVecEnv("ServerFill", 2, order="index", **OF_TASKS), {}, "trained with rules=.1, 0, 4., not rules=.0, 0, 4."),
        (single(invalid="nearest"), {}, "trained with invalid='nearest', not invalid='first'"),
        (SubprocVecEnv([single_of_eight], start_method="fork"), {}, "trained with types=8, not types=16"),
        (single(), {"features_extractor_class": Doubled}, "this one has Doubled"),
    ]
    for envs, policy, problem in cases:
        model = MaskablePPO("MlpPolicy", envs, policy_kwargs=policy, **few)
        with pytest.raises(InputError, match=problem) as refused:
            packenv.save_model(model, tmp_path / "mine", "packenv/ServerFill-v1", **OF_TASKS)
        assert "\n" not in str(refused.value)
        if not policy:  # its own `predict` knows the extractor
            with pytest.raises(InputError, match=problem):
                packenv.evaluate_agent(model, "packenv/ServerFill-v1", slots=100, seeds=1, **OF_TASKS)
        model.get_env().close()
    assert not [*tmp_path.iterdir()]


def single_of_eight() -> gym.Env[Any, Any]:
    return single(types=8)


def test_a_wrapper_of_rewards_changes_nothing(tmp_path: Path) -> None:
    model = MaskablePPO("MlpPolicy", gym.wrappers.NormalizeReward(single()), n_steps=8, batch_size=8)
    assert packenv.save_model(model, tmp_path / "mine", "packenv/ServerFill-v1", **OF_TASKS).kind == "ServerFill"


class WithoutPolicy:
    def predict(self, seen: Any, action_masks: Any = None, deterministic: bool = True) -> Any: ...
