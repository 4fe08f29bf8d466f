"""A library's model as an agent: it does in the compiled loop what it does in its environment, on the same jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import packenv
from packenv.envs import PackVecEnv
from packenv.errors import InputError

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN, PPO

OF_TASKS = {"workload": "paper/fig4b", "intensity": 0.9}
CASES = [
    (MaskablePPO, "ServerFill", {}),
    pytest.param(PPO, "ServerFill", {"guard": "bf-js", "guard_limit": 30}, marks=pytest.mark.slow),
    pytest.param(MaskablePPO, "Configuration", {}, marks=pytest.mark.slow),
    pytest.param(DQN, "Placement", {}, marks=pytest.mark.slow),
]


def trained(algorithm: Any, environment: str, **options: Any) -> Any:
    few = {"learning_starts": 100} if algorithm is DQN else {"n_steps": 64, "batch_size": 128, "n_epochs": 2}
    envs = PackVecEnv(environment, num_envs=8, seed=0, **options)
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
        ({"choices": 3}, "made for another cluster, environment or set of features"),
    ):
        with pytest.raises(InputError, match=problem):
            packenv.save_model(model, tmp_path / "mine", environment, **OF_TASKS, **options)
    few_envs = PackVecEnv(environment, num_envs=2, seed=0, **OF_TASKS)
    with pytest.raises(InputError, match="MaskablePPO: not a model with MlpPolicy and two hidden layers"):
        deep = MaskablePPO("MlpPolicy", few_envs, policy_kwargs={"net_arch": [8, 8, 8]})
        packenv.save_model(deep, tmp_path / "mine", environment, **OF_TASKS)
    with pytest.raises(InputError, match="WithoutPolicy: not a model with MlpPolicy and two hidden layers"):
        packenv.save_model(WithoutPolicy(), tmp_path / "mine", environment, **OF_TASKS)
    assert not [*tmp_path.iterdir()]


class WithoutPolicy:
    def predict(self, seen: Any, action_masks: Any = None, deterministic: bool = True) -> Any: ...
