"""RLlib's PPO with masks, on a cluster or this machine. It saves an agent of packenv.

    python examples/rllib_ppo.py --iterations 20 --out rllib
    packenv leaderboard -w paper/fig4b@0.9 -p agent:rllib -p vqs-bf

The actor scores each valid action by a weighted sum of its features. The saved agent runs compiled, on any number of servers, and
under a guard. `--address auto` joins a running Ray cluster: env runners then work on all nodes.

Needs the extras `agents` and `ray`, and ray[rllib] with its version of Gymnasium.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import ray
import torch
from gymnasium.wrappers import TransformReward
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import Tensor, nn

import packenv
from packenv.envs.core.features import VALID, WAITS
from packenv.envs.registration import id_of
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import save_agent
from packenv.learning.agents.weights import Weights
from packenv.learning.settings import Settings

SETTINGS = Settings(packenv.workload("paper/fig4b"), arrivals={"intensity": (0.85, 0.95)}, horizon=20_000, network="sum")


def make_env(_: Any = None) -> gym.Env[Any, Any]:
    """The environment that the settings describe; an env runner makes its own."""
    env = gym.make(id_of(SETTINGS.environment), **SETTINGS.env_options())
    return TransformReward(env, float)  # RLlib wants plain numbers


class MaskedSum(TorchRLModule, ValueFunctionAPI):
    """A weighted sum as RLlib has its modules: the scores of invalid actions are so low that they are never drawn."""

    def setup(self) -> None:
        features, context = (self.observation_space[name].shape[-1] for name in ("actions", "context"))
        self.of_action, self.of_context = nn.Linear(features, 1, bias=False), nn.Linear(context, 1, bias=False)
        self.critic = nn.Sequential(nn.Linear(context, 64), nn.Tanh(), nn.Linear(64, 1))

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        actions, context = batch[Columns.OBS]["actions"], batch[Columns.OBS]["context"]
        scores = self.of_action(actions).squeeze(-1) + actions[:, :, WAITS] * self.of_context(context)
        return {Columns.ACTION_DIST_INPUTS: scores.masked_fill(actions[:, :, VALID] <= 0, -1e9)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        values: Tensor = self.critic(batch[Columns.OBS]["context"])
        return values.squeeze(-1)

    def exported(self) -> Weights:
        """Return the weights of the actor as an agent has them."""
        layers = {"of_action": self.of_action, "of_context": self.of_context}
        return {f"actor.{name}": layer.weight.detach().numpy()[0].copy() for name, layer in layers.items()}


def config(env_runners: int, envs: int, seed: int) -> PPOConfig:
    """RLlib's settings: so many env runners with so many environments each.

    What an action does shows within about one service, so γ = λ = 0.9 (docs/reference/environments.md, Which discount).
    """
    steps = 64 * envs * max(env_runners, 1)
    return (
        PPOConfig()
        .environment("packenv", clip_actions=False)
        .env_runners(num_env_runners=env_runners, num_envs_per_env_runner=envs, rollout_fragment_length=64)
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedSum))
        .training(lr=1e-3, gamma=0.9, lambda_=0.9, train_batch_size=steps, minibatch_size=min(512, steps), num_epochs=4)
        .training(entropy_coeff=0.003, vf_clip_param=float("inf"))
        .learners(num_learners=0)
        .debugging(seed=seed, log_level="ERROR")
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--env-runners", type=int, default=2)
    parser.add_argument("--envs", type=int, default=16, help="of each env runner")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--address", default="local", help="auto: the cluster that runs; or its address; local: a new one")
    parser.add_argument("--out", default="rllib", help="the agent: OUT.json and OUT.safetensors")
    given = parser.parse_args(arguments)

    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    ray.init(address=given.address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    register_env("packenv", make_env)
    algorithm = config(given.env_runners, given.envs, given.seed).build_algo()
    samples = 0
    for iteration in range(given.iterations):
        found = algorithm.train()
        samples = int(found["num_env_steps_sampled_lifetime"])
        reward = found["env_runners"].get("episode_return_mean", float("nan"))
        print(f"iteration {iteration + 1}: {samples:,} steps, mean return of an episode {reward:.1f}", flush=True)
    weights = algorithm.get_module().exported()
    save_agent(given.out, agent_metadata(SETTINGS, "examples/rllib_ppo.py", samples, "last", {}), weights)
    print(f"{given.out}.json: packenv evaluate paper/fig4b --intensity 0.9 -p bf-js -p agent:{given.out}")
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
