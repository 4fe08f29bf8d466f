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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from packenv.envs import PackVecEnv
from packenv.envs.registration import id_of
from packenv.files import write_json
from packenv.runs.statistics import interval, ratio_of_means

ALGORITHMS: dict[str, Any] = {"maskable-ppo": MaskablePPO, "ppo": PPO, "a2c": A2C, "dqn": DQN}
WORKLOADS = {"JobFill": ("analytics", None)}  # others: ("paper/fig4b", 0.9)
AGAINST = {"Configuration": "vqs-bf", "JobFill": "tetris"}  # others: bf-js
SLOTS, QUICK_SLOTS = 200_000, 20_000
SEEDS, QUICK_SEEDS = range(1_000_000, 1_000_008), range(1_000_000, 1_000_002)  # no training run meets them
QUICK_STEPS = 2_500
ENVS = 8

Choose = Callable[[Any, NDArray[np.int8]], NDArray[np.int64]]
"""The action of each row, from what is observed and the masks."""
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


def likeliest(model: Any) -> Choose:
    """Its likeliest actions: valid ones, where it knows masks."""
    if isinstance(model, MaskablePPO):
        return lambda seen, masks: model.predict(seen, action_masks=masks.astype(bool), deterministic=True)[0]
    return lambda seen, masks: model.predict(seen, deterministic=True)[0]


def scores(name: str, choose: Choose, setting: Setting, slots: int, seeds: Sequence[int]) -> list[float]:
    """For each seed the mean queue of an episode of so many slots; in JobFill the mean completion time of a table's jobs."""
    of_jobs = name == "JobFill"
    whole: Setting = {"horizon": None if of_jobs else slots, "segment": None, "yardstick": False, "waiting_limit": 1_000_000}
    whole |= {"reward": "completion"} if of_jobs else {}
    envs: Any = gym.make_vec(id_of(name), num_envs=len(seeds), vectorization_mode="vector_entry_point", **setting | whole)
    found, completion = np.full(len(seeds), np.nan), np.zeros(len(seeds))
    seen, info = envs.reset(seed=list(seeds))
    while np.isnan(found).any():
        seen, reward, terminated, truncated, info = envs.step(choose(seen, info["action_mask"]))
        completion -= reward
        found = np.where((terminated | truncated) & np.isnan(found), completion if of_jobs else info["mean_queue"], found)
    if of_jobs:
        tables = [packenv.workload(setting["workload"]).at(seed).jobs for seed in seeds]
        found = found / [np.unique(table.job).size if table is not None and table.job is not None else 1 for table in tables]
    return [float(score) for score in found]


def scores_of(policy: str, name: str, setting: Setting, slots: int, seeds: Sequence[int]) -> list[float]:
    """The same of a policy."""
    workload = packenv.workload(setting["workload"], intensity=setting.get("intensity"))
    if name == "JobFill":
        runs = packenv.simulate_many(workload, [policy], seeds)[policy]
        return [float(run.jobs.mean or 0.0) for run in runs if run.jobs is not None]
    runs = packenv.simulate_many(workload, [policy], seeds, slots, warmup=0)[policy]
    return [float(run.mean_queue or 0.0) for run in runs]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=ALGORITHMS)
    parser.add_argument("--env", default="ServerFill", choices=("ServerFill", "Placement", "Configuration", "JobFill"))
    parser.add_argument("--workload", help="paper/fig4b; analytics in JobFill")
    parser.add_argument("--intensity", type=float, help="0.9, but in JobFill that of the workload")
    parser.add_argument("--against", help="a policy: bf-js; vqs-bf in Configuration, tetris in JobFill")
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
    against = scores_of(policy, name, setting, slots, jobs)
    print(f"{options.algorithm}, {steps:,} steps of {id_of(name)}, beside {policy}: {interval(against)}")
    print(f"| seed | minutes | mean {'completion' if name == 'JobFill' else 'queue'} | ratio |\n|--:|--:|--:|--:|", flush=True)
    record: dict[str, Any] = {policy: against}
    for seed in options.seeds:
        began = time.perf_counter()
        model = train(options.algorithm, steps, seed, name, setting, options.batch)
        minutes = (time.perf_counter() - began) / 60
        learned = scores(name, likeliest(model), setting, slots, jobs)
        record[f"seed {seed}"] = learned
        print(f"| {seed} | {minutes:.1f} | {interval(learned)} | {ratio_of_means(learned, against)} |", flush=True)
    if options.json is not None:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
