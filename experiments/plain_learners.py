"""What libraries learn that are told nothing: algorithms and environments with their own defaults.

    python experiments/plain_learners.py maskable-ppo --steps 500000 --seeds 1 2 3
    python experiments/plain_learners.py ppo --env Placement --steps 300000
    python experiments/plain_learners.py maskable-ppo --env JobFill --workload analytics

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

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from packenv.envs import PackVecEnv
from packenv.envs.registration import id_of
from packenv.files import write_json

ALGORITHMS: dict[str, Any] = {"maskable-ppo": MaskablePPO, "ppo": PPO, "a2c": A2C, "dqn": DQN}
WORKLOADS = {"JobFill": ("analytics", None)}  # others: ("paper/fig4b", 0.9)
AGAINST = {"Configuration": "vqs-bf", "JobFill": "tetris:f=0,m=2"}  # others: bf-js
SLOTS, QUICK_SLOTS = 200_000, 20_000
SEEDS, QUICK_SEEDS = 8, 2
QUICK_STEPS = 2_500
ENVS = 8

Setting = dict[str, Any]
"""Options of an environment."""


def train(algorithm: str, steps: int, seed: int, name: str, setting: Setting, batch: bool = False) -> Any:
    """The model that the library's defaults come to."""
    torch.manual_seed(seed)
    envs: Any
    if batch:  # the same rows, in one compiled call
        envs = PackVecEnv(name, ENVS, seed=10_000 * seed, **setting)
    else:
        envs = make_vec_env(id_of(name), n_envs=ENVS, seed=10_000 * seed, env_kwargs=setting)
    return ALGORITHMS[algorithm]("MlpPolicy", envs, seed=seed, device="cpu").learn(steps)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("--env", default="ServerFill", choices=("ServerFill", "Placement", "Configuration", "JobFill"))
    parser.add_argument("--workload", help="paper/fig4b; analytics in JobFill")
    parser.add_argument("--intensity", type=float, help="0.9, but in JobFill that of the workload")
    parser.add_argument("--against", help="a policy: bf-js; vqs-bf in Configuration, tetris:f=0,m=2 in JobFill")
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of training")
    parser.add_argument("--batch", action="store_true", help="PackVecEnv in place of make_vec_env: faster")
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
    print(f"{options.algorithm}, {steps:,} steps of {id_of(name)}, beside {policy}")
    print(f"| seed | minutes | mean {'completion' if name == 'JobFill' else 'queue'} | ratio |\n|--:|--:|--:|--:|", flush=True)
    record: dict[str, Any] = {}
    for seed in options.seeds:
        began = time.perf_counter()
        model = train(options.algorithm, steps, seed, name, setting, options.batch)
        minutes = (time.perf_counter() - began) / 60
        score = packenv.evaluate_agent(model, id_of(name), slots=slots, seeds=jobs, against=policy, **setting)
        record |= {policy: score.against, f"seed {seed}": score.scores}
        print(f"| {seed} | {minutes:.1f} | {score.mean} | {score.ratio} |", flush=True)
    if options.json is not None:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
