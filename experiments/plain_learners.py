"""What libraries learn that are told nothing: algorithms and environments with their own defaults.

    python experiments/plain_learners.py maskable-ppo --steps 500000 --seeds 1 2 3
    python experiments/plain_learners.py ppo --env Placement --steps 300000

Trains on eight environments, then lets the likeliest actions play eight seeds of 200,000 slots that no training run meets, and
prints the mean queue and its ratio to BF-J/S on the same jobs, for each seed of training. With --quick: a few thousand steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from experiments.reference_scores import QUICK_SEEDS, QUICK_SLOTS, SEEDS, SLOTS, Choose
from packenv.envs import PackVecEnv
from packenv.envs.registration import id_of
from packenv.files import write_json
from packenv.runs.statistics import interval, ratio_of_means

ALGORITHMS: dict[str, Any] = {"maskable-ppo": MaskablePPO, "ppo": PPO, "a2c": A2C, "dqn": DQN}
AGAINST = {"Configuration": "vqs-bf"}
QUICK_STEPS = 2_500
ENVS = 8


def train(algorithm: str, steps: int, seed: int, name: str, setting: dict[str, Any], batch: bool) -> Any:
    """The model that the library's defaults come to."""
    torch.manual_seed(seed)
    envs: Any
    if batch:  # the same rows, in one compiled call
        envs = PackVecEnv(name, ENVS, seed=10_000 * seed, **setting)
    else:
        envs = make_vec_env(id_of(name), n_envs=ENVS, seed=10_000 * seed, env_kwargs=setting)
    return ALGORITHMS[algorithm]("MlpPolicy", envs, seed=seed, device="cpu").learn(steps)


def likeliest(model: Any) -> Choose:
    """Its likeliest actions: valid ones, where it knows masks."""
    if isinstance(model, MaskablePPO):
        return lambda seen, masks: model.predict(seen, action_masks=masks.astype(bool), deterministic=True)[0]
    return lambda seen, masks: model.predict(seen, deterministic=True)[0]


def mean_queues(name: str, choose: Choose, setting: dict[str, Any], slots: int, seeds: Sequence[int]) -> list[float]:
    """The mean queue of a whole episode of so many slots for each seed."""
    whole = {"horizon": slots, "segment": None, "yardstick": False, "waiting_limit": 1_000_000}
    envs: Any = gym.make_vec(id_of(name), num_envs=len(seeds), vectorization_mode="vector_entry_point", **setting | whole)
    queues = np.full(len(seeds), np.nan)
    seen, info = envs.reset(seed=list(seeds))
    while np.isnan(queues).any():
        seen, _, _, truncated, info = envs.step(choose(seen, info["action_mask"]))
        queues = np.where(truncated & np.isnan(queues), info["mean_queue"], queues)
    return [float(queue) for queue in queues]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("--env", default="ServerFill", choices=("ServerFill", "Placement", "Configuration"))
    parser.add_argument("--workload", default="paper/fig4b")
    parser.add_argument("--intensity", type=float, default=0.9)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of training")
    parser.add_argument("--batch", action="store_true", help="PackVecEnv in place of make_vec_env: faster")
    parser.add_argument("--json", type=Path, help="a file for the mean queues of every seed")
    parser.add_argument("--quick", action="store_true", help="a few thousand steps, short runs")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # the networks are small: more threads would wait for each other
    slots, jobs = (QUICK_SLOTS, QUICK_SEEDS) if options.quick else (SLOTS, SEEDS)
    steps = QUICK_STEPS if options.quick else options.steps
    setting = {"workload": options.workload, "intensity": options.intensity}
    policy = AGAINST.get(options.env, "bf-js")
    workload = packenv.workload(options.workload, intensity=options.intensity)
    runs = packenv.simulate_many(workload, [policy], jobs, slots, warmup=0)[policy]
    against = [float(run.mean_queue or 0.0) for run in runs]
    print(f"{options.algorithm}, {steps:,} steps of {id_of(options.env)}, beside {policy}: {interval(against)}")
    print("| seed | minutes | mean queue | ratio |\n|--:|--:|--:|--:|", flush=True)
    record: dict[str, Any] = {policy: against}
    for seed in options.seeds:
        began = time.perf_counter()
        model = train(options.algorithm, steps, seed, options.env, setting, options.batch)
        minutes = (time.perf_counter() - began) / 60
        queues = mean_queues(options.env, likeliest(model), setting, slots, jobs)
        record[f"seed {seed}"] = queues
        print(f"| {seed} | {minutes:.1f} | {interval(queues)} | {ratio_of_means(queues, against)} |", flush=True)
    if options.json is not None:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
