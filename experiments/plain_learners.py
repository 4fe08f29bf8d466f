"""What libraries learn that are told the discount and nothing else: algorithms and environments with their own defaults.

    python experiments/plain_learners.py maskable-ppo --steps 150000 --seeds 21 22 23
    python experiments/plain_learners.py ppo --env Placement --gamma 0.95
    python experiments/plain_learners.py maskable-ppo --env JobFill --workload analytics
    python experiments/plain_learners.py maskable-ppo --library-defaults    # not even the discount
    python experiments/plain_learners.py rllib-ppo    # needs ray[rllib] and the Gymnasium that it asks for

Trains on eight environments, then lets the likeliest actions play eight seeds that no training run meets: 200,000 slots each, or
whole tables of jobs. Prints the mean queue, or the mean completion time of the jobs, and its ratio to a policy's on the same
jobs, for each seed of training. With --quick: a few thousand steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import TransformReward
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from packenv.envs import PackVecEnv
from packenv.envs.registration import id_of
from packenv.files import write_json
from packenv.runs.agent_score import Choose

OF_SB3: dict[str, Any] = {"maskable-ppo": MaskablePPO, "ppo": PPO, "a2c": A2C, "dqn": DQN}
RLLIB = "rllib-ppo"
WORKLOADS = {"JobFill": ("analytics", None)}  # others: ("paper/fig4b", 0.9)
DISCOUNT = {"gamma": 0.9, "gae_lambda": 0.9}  # by the decisions in a mean service
OF_JOBS = {"gamma": 0.99, "gae_lambda": 0.95}  # of which JobFill has more
AGAINST = {"Configuration": "vqs-bf", "JobFill": "tetris:f=0,m=2"}  # others: bf-js
SLOTS, QUICK_SLOTS = 200_000, 20_000
SEEDS, QUICK_SEEDS = 8, 2
QUICK_STEPS = 2_500
ENVS = 8

Setting = dict[str, Any]
"""Options of an environment."""


def discount_of(name: str) -> Setting:
    """The discount with which libraries learn in an environment: docs/reference/environments.md says how to choose it."""
    return OF_JOBS if name == "JobFill" else DISCOUNT


def train(algorithm: str, steps: int, seed: int, name: str, setting: Setting, discount: Setting, batch: bool = False) -> Any:
    """What the algorithm comes to with these arguments: a model, or a function from observations and masks to actions."""
    torch.manual_seed(seed)
    if algorithm == RLLIB:
        return train_in_rllib(steps, seed, name, setting, discount, batch)
    if algorithm == "dqn":
        discount = {key: value for key, value in discount.items() if key == "gamma"}
    envs: Any
    if batch:  # the same rows, in one compiled call
        envs = PackVecEnv(name, ENVS, seed=10_000 * seed, **setting)
    else:
        envs = make_vec_env(id_of(name), n_envs=ENVS, seed=10_000 * seed, env_kwargs=setting)
    return OF_SB3[algorithm]("MlpPolicy", envs, seed=seed, device="cpu", **discount).learn(steps)


def train_in_rllib(steps: int, seed: int, name: str, setting: Setting, discount: Setting, batch: bool = False) -> Choose:
    """RLlib's PPO in this process, without masks: the likeliest actions of what it learns."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.tune.registry import register_env

    ray.init(address="local", include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)

    def make(context: Any) -> Any:
        if batch:
            return gymnasium.make_vec(id_of(name), num_envs=context["num_envs"], **setting)
        return TransformReward(gymnasium.make(id_of(name), **setting), float)  # it wants plain numbers

    register_env("packenv", make)
    how = "vector_entry_point" if batch else "sync"
    config = PPOConfig().environment("packenv")
    config = config.training(**{"lambda_" if key == "gae_lambda" else key: value for key, value in discount.items()})
    config = config.env_runners(num_env_runners=0, num_envs_per_env_runner=ENVS, gym_env_vectorize_mode=how)
    algorithm = config.learners(num_learners=0).debugging(seed=10_000 * seed, log_level="ERROR").build_algo()
    while algorithm.train()["num_env_steps_sampled_lifetime"] < steps:
        pass
    module = algorithm.get_module()

    def likeliest(seen: Any, masks: Any) -> NDArray[np.int64]:
        with torch.no_grad():
            scores: torch.Tensor = module.forward_inference({"obs": torch.as_tensor(seen)})["action_dist_inputs"]
        return scores.argmax(-1).numpy()

    return likeliest


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=[*OF_SB3, RLLIB])
    parser.add_argument("--env", default="ServerFill", choices=("ServerFill", "Placement", "Configuration", "JobFill"))
    parser.add_argument("--workload", help="paper/fig4b; analytics in JobFill")
    parser.add_argument("--intensity", type=float, help="0.9, but in JobFill that of the workload")
    parser.add_argument("--against", help="a policy: bf-js; vqs-bf in Configuration, tetris:f=0,m=2 in JobFill")
    parser.add_argument("--gamma", type=float, help="the discount per decision: 0.9; 0.99 in JobFill")
    parser.add_argument("--gae-lambda", type=float, help="of the advantages: 0.9; 0.95 in JobFill")
    parser.add_argument("--library-defaults", action="store_true", help="the library's own γ and λ")
    parser.add_argument("--horizon", type=int, help="slots of an episode of training, in place of the default")
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23], help="of training")
    parser.add_argument("--batch", action="store_true", help="eight environments in one compiled call: faster")
    parser.add_argument("--json", type=Path, help="a file for the scores of every seed")
    parser.add_argument("--quick", action="store_true", help="a few thousand steps, short runs")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the networks are small: more threads would wait for each other
    slots, jobs = (QUICK_SLOTS, QUICK_SEEDS) if options.quick else (SLOTS, SEEDS)
    steps = QUICK_STEPS if options.quick else options.steps
    name = options.env
    usual, load = WORKLOADS.get(name, ("paper/fig4b", 0.9))
    setting: Setting = {"workload": options.workload or usual}
    if intensity := options.intensity or load:
        setting["intensity"] = intensity
    policy = options.against or AGAINST.get(name, "bf-js")
    given = {key: getattr(options, key) for key in DISCOUNT if getattr(options, key) is not None}
    discount = {} if options.library_defaults else discount_of(name) | given
    told = ", ".join(f"{key} {value}" for key, value in discount.items()) or "the library's discount"
    print(f"{options.algorithm}, {told}, {steps:,} steps of {id_of(name)}, beside {policy}")
    measure = "completion" if name == "JobFill" else "queue"
    print(f"| seed | minutes | steps/s | mean {measure} | ratio |\n|--:|--:|--:|--:|--:|", flush=True)
    record: dict[str, Any] = {}
    for seed in options.seeds:
        began = time.perf_counter()
        episodes = {} if options.horizon is None else {"horizon": options.horizon}
        model = train(options.algorithm, steps, seed, name, setting | episodes, discount, options.batch)
        minutes = (time.perf_counter() - began) / 60
        score = packenv.evaluate_agent(model, id_of(name), slots=slots, seeds=jobs, against=policy, **setting)
        record |= {policy: score.against, f"seed {seed}": score.scores}
        print(f"| {seed} | {minutes:.1f} | {steps / minutes / 60:,.0f} | {score.mean} | {score.ratio} |", flush=True)
    if options.json is not None:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
