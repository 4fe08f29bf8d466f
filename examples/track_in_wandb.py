"""A run of Stable-Baselines3 in Weights & Biases: its curves, and the mean queue next to best fit's on the same jobs.

    pip install wandb
    python examples/track_in_wandb.py

Nothing leaves the machine: `wandb sync wandb/offline-run-…` sends the run when you want it to.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
import wandb
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from packenv.envs import QueueRatio

SETTING: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50_000)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    run = wandb.init(project="packenv", mode="offline", sync_tensorboard=True, config=SETTING | {"steps": steps})
    envs = make_vec_env("packenv/ServerFill-v1", n_envs=8, env_kwargs=SETTING | {"yardstick": True})
    model = MaskablePPO("MlpPolicy", envs, gamma=0.9, gae_lambda=0.9, tensorboard_log=run.dir, seed=0)
    model.learn(steps, callback=QueueRatio())
    score = packenv.evaluate_agent(model, "packenv/ServerFill-v1", slots=20_000, seeds=4, **SETTING)
    run.summary["ratio to best fit"] = score.ratio.mean
    run.finish()


if __name__ == "__main__":
    main()
