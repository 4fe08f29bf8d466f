"""Twenty lines that train an agent on the first half of a log with an untouched library, and judge it on the second.

python examples/batch_ppo.py lublin_1.swf
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import packenv

ORDERS = "fcfs", "sjf", "saf", "f1", "f3", "wfp3", "unicef"


def main(
    log: str, steps: int = 200_000, backfill: bool = True, seed: int = 0, windows: int = 64, jobs: int = 1024
) -> packenv.Comparison:
    """Train, save the agent, and compare its mean bounded slowdown with that of orders, on windows that it has never met."""
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    table = packenv.workload(log)
    setting: dict[str, Any] = {"workload": table.windows(jobs, between=(0, 0.5)), "jobs": None, "backfill": backfill}
    envs = make_vec_env("packenv/NextJob-v1", n_envs=8, seed=seed, env_kwargs=setting)
    envs = VecNormalize(envs, norm_obs=False, gamma=0.9)
    model = MaskablePPO("MlpPolicy", envs, gamma=0.9, gae_lambda=0.9, n_steps=256, seed=seed, device="cpu")
    model.learn(steps)

    agent = packenv.save_model(model, "batch_ppo", "packenv/NextJob-v1", **setting)
    orders = [f"easy:order={order}" if backfill else f"fifo-ff:order={order}" for order in ORDERS]
    comparison = packenv.evaluate(table.windows(jobs, between=(0.5, 1)), [agent, *orders], seeds=windows, drain=True)
    print(comparison.table())
    return comparison


if __name__ == "__main__":
    main(sys.argv[1], steps=int(sys.argv[2]) if len(sys.argv) > 2 else 500_000)
