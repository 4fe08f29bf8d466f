"""Train an agent on the first half of a log in twenty lines, and judge it on the second half.

python examples/batch_ppo.py lublin_1.swf
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

import packenv
from packenv.envs import PackVecEnv

ORDERS = "saf", "sjf", "smallest", "f1", "f2", "f3", "f4", "wfp3", "unicef", "expansion"


def slowdowns(workload: packenv.Workload, policies: list[Any], windows: int) -> list[float]:
    """The mean bounded slowdown of each policy."""
    rows = packenv.evaluate(workload, policies, seeds=windows, drain=True).to_dict()["policies"]
    return [row["mean_slowdown"] for row in rows]


def main(
    log: str, steps: int = 80_000, backfill: bool = True, seed: int = 0, windows: int = 60, jobs: int = 1024
) -> packenv.Comparison:
    """Train on the first half, and compare the best of four agents with orders on the second, by mean bounded slowdowns."""
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    table = packenv.workload(log)
    first, second = table.windows(jobs, between=(0, 0.5)), table.windows(jobs, between=(0.5, 1))
    policies = [f"easy:order={order}" if backfill else f"fifo-ff:order={order}" for order in ORDERS]
    offered: tuple[str, ...] = ORDERS  # an action is an order
    if not backfill:  # one bad choice blocks the machine: only the three best ones
        means = dict(zip(ORDERS, slowdowns(first, policies, windows), strict=True))
        offered = tuple(sorted(ORDERS, key=means.__getitem__)[:3])

    setting: dict[str, Any] = {"workload": first, "jobs": None, "backfill": backfill, "order": offered}
    envs = VecNormalize(PackVecEnv("NextJob", 16, seed=seed, **setting), norm_obs=False, gamma=0.9)
    model = MaskablePPO("MlpPolicy", envs, gamma=0.9, gae_lambda=0.9, n_steps=128, seed=seed, device="cpu")
    agents = []
    for part in range(4):
        model.learn(steps // 4, reset_num_timesteps=False)
        agents.append(packenv.save_model(model, f"batch_ppo_{part}", "packenv/NextJob-v1", **setting))

    trial = slowdowns(first, agents, windows)
    best = agents[trial.index(min(trial))]
    comparison = packenv.evaluate(second, [best, *policies], seeds=windows, drain=True)
    print(comparison.table())
    return comparison


if __name__ == "__main__":
    main(sys.argv[1], steps=int(sys.argv[2]) if len(sys.argv) > 2 else 80_000)
