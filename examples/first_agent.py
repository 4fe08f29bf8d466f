"""Train an agent with a library's defaults, and compare it with best fit on new jobs.

python examples/first_agent.py
tensorboard --logdir runs
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import packenv
from packenv.envs import EvaluateRatio, QueueRatio

SETTING: dict[str, Any] = {"workload": "paper/fig4b", "intensity": 0.9}


def main(steps: int = 300_000, slots: int = 200_000, tensorboard: str | None = "runs", n_envs: int = 8) -> float:
    """Train, print and return the ratio of the mean queues, the agent's to BF-J/S's on the same jobs."""
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other
    envs = make_vec_env("packenv/ServerFill-v1", n_envs=n_envs, seed=0, env_kwargs=SETTING | {"yardstick": True})
    model = MaskablePPO("MlpPolicy", envs, gamma=0.9, gae_lambda=0.9, seed=0, device="cpu", tensorboard_log=tensorboard)
    how: dict[str, Any] = {"eval_freq": max(steps // (10 * n_envs), 1), "slots": slots // 4, "verbose": 1}  # a line now and then
    evaluation = EvaluateRatio("packenv/ServerFill-v1", **how, **SETTING)
    model.learn(steps, callback=[QueueRatio(), evaluation])

    score = packenv.evaluate_agent(model, "packenv/ServerFill-v1", slots=slots, **SETTING)
    print(score)
    return score.ratio.mean or 0.0


if __name__ == "__main__":
    main(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 300_000)
